"""The command line. One file a command."""

from vmask.cli.main import main

__all__ = ["main"]
