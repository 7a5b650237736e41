"""Printing: results on standard output, talk on standard error."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from typing import Any

from vmask._core.terminal import make_console, tell
from vmask.cli.main import is_main_process

PIPED_WIDTH = 160


def say(args: argparse.Namespace, message: str) -> None:
    """A line of talk, unless --quiet."""
    if not args.quiet and is_main_process():
        tell(message)


def say_result(message: str) -> None:
    """A line of the result."""
    print(message)  # noqa: T201


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(json.dumps(value, ensure_ascii=False), flush=True)  # noqa: T201


def line_width() -> int:
    """Characters in a line: of the terminal, or of the variable COLUMNS; enough for most tables in a pipe or file."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return PIPED_WIDTH if piped else shutil.get_terminal_size().columns


def print_rich(thing: Any) -> None:
    """A table or a coloured text; plain where the output is no terminal. Brackets and colons in texts mean nothing."""
    from rich.table import Table

    console = make_console(markup=False, emoji=False, highlight=False, width=line_width())
    console.print(thing, soft_wrap=not isinstance(thing, Table))  # a text or a path in a pipe stays on its line
