"""The command line: `vmask train`, `evaluate`, `predict`, `explain`, `words`, `data`, `ls`, `demo`."""

from vmask.cli.main import main

__all__ = ["main"]
