"""Parse the command line, run a command, turn errors into one or two lines and exit codes."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vmask import __version__
from vmask.errors import VmaskError, VmaskWarning

COMMANDS = ("train", "evaluate", "predict", "explain", "words", "data", "ls", "demo")
USER_ERROR, OUR_ERROR, INTERRUPTED = 2, 1, 130


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for this command line; only its command gets arguments, so help for one does not import others."""
    command = next((word for word in words if word in COMMANDS), None)
    parser = argparse.ArgumentParser(
        prog="vmask",
        description="Text classifiers that show which words they use.",
        epilog="`vmask COMMAND --help` explains a command. Start with `vmask demo`, or `vmask train my.csv`.",
    )
    parser.add_argument("--version", action="version", version=f"vmask {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        summary = _summary(name)
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == command:
            importlib.import_module(f"vmask.cli.{name}").add_arguments(sub, words)
            sub.add_argument("--quiet", action="store_true", help="print results and errors alone")
            sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 2 for an error that is the user's to fix, 1 for one of ours."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = build_parser(words).parse_args(words)
    except VmaskError as error:  # an unknown mask, found while its options were looked up
        return _report(error, "--debug" in words)
    with warnings.catch_warnings():
        _show_warnings(args)
        try:
            return int(importlib.import_module(f"vmask.cli.{args.command}").run(args) or 0)
        except VmaskError as error:
            return _report(error, args.debug)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)  # noqa: T201
            return INTERRUPTED
        except BrokenPipeError:  # the reader had enough, e.g. `vmask predict … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as error:  # a full disk, a folder without permission
            return _report(error, args.debug)
        except Exception as error:
            if args.debug:
                raise
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
            print("This looks like a fault in vmask. Run again with --debug for the traceback.", file=sys.stderr)  # noqa: T201
            return OUR_ERROR


def _report(error: Exception, debug: bool) -> int:
    if debug:
        raise error
    print(f"error: {error}", file=sys.stderr)  # noqa: T201
    return USER_ERROR


def _show_warnings(args: argparse.Namespace) -> None:
    """Our warnings as one line each on standard error; those of libraries only with --debug."""
    if not args.debug:
        warnings.simplefilter("ignore")
    warnings.simplefilter("ignore" if args.quiet or not is_main_process() else "always", VmaskWarning)

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        print(f"warning: {message}", file=sys.stderr)  # noqa: T201

    warnings.showwarning = show


def is_main_process() -> bool:
    """Whether this is the one process of several under `accelerate launch` that speaks and writes."""
    return os.environ.get("RANK", "0") == "0"


def _summary(name: str) -> str:
    """First line of a command's docstring, read without importing it."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
