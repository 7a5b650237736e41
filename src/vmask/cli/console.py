"""Printing: results on standard output, messages on standard error."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from vmask._core.terminal import make_console, tell
from vmask.cli.main import is_main_process

PIPED_WIDTH = 160


def say(args: argparse.Namespace, message: str) -> None:
    """Print a message, unless --quiet."""
    if not args.quiet and is_main_process():
        tell(message)


def note_once(args: argparse.Namespace) -> Callable[[str], None]:
    """A function that says each message once, for files that are read more than once."""
    said: set[str] = set()

    def note(message: str) -> None:
        if message not in said:
            say(args, message)
        said.add(message)

    return note


def say_result(message: str) -> None:
    """Print a line of the result."""
    print(message)  # noqa: T201


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False), flush=True)  # noqa: T201


def shows_progress(args: argparse.Namespace) -> bool:
    """Whether to show progress bars: in a terminal, unless --quiet."""
    return not args.quiet and sys.stderr.isatty()


def line_width() -> int:
    """Characters in a line: those of the terminal or of the variable COLUMNS; wide enough for most tables in a pipe."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return PIPED_WIDTH if piped else shutil.get_terminal_size().columns


def print_rich(renderable: Any) -> None:
    """Print a table or a coloured text; plain if the output is no terminal. Brackets and colons are no markup."""
    from rich.table import Table

    console = make_console(markup=False, emoji=False, highlight=False, width=line_width())
    console.print(
        renderable, soft_wrap=not isinstance(renderable, Table)
    )  # a text or a path in a pipe stays on its line
