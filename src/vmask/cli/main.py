"""Parse the command line, run a command, turn errors into one or two lines and exit codes."""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from vmask import __version__
from vmask._core.terminal import drop_output, safe_streams, tell
from vmask.cli.options import add_talk
from vmask.errors import ConfigError, UnknownName, VmaskError, VmaskWarning, did_you_mean, short

COMMANDS = (
    "train",
    "evaluate",
    "compare",
    "predict",
    "explain",
    "drift",
    "words",
    "verify",
    "edit",
    "show",
    "export",
    "serve",
    "grid",
    "report",
    "data",
    "ls",
    "demo",
)
WRITE_FILES = {"train", "evaluate", "compare", "edit", "show", "export", "grid", "report", "demo", "--out"}
"""Commands that are run for the files they write, and the option that makes another command one of them."""
ERROR, INTERRUPTED = 2, 130
LONGEST_LINE = 2_000
"""Maximum length of a line of an error message; the middle of a longer one is left out."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, without the page of usage."""

    def error(self, message: str) -> NoReturn:
        """Print the error and how to get help, and exit with code 2."""
        self.exit(ERROR, f"error: {_one_line(message)}\nSee `{self.prog} --help`.\n")

    def options(self) -> set[str]:
        """Every `--option` of this parser and of the commands under it."""
        names = {name for action in self._actions for name in action.option_strings}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    names |= parser.options()
        return names


def build_parser(words: Sequence[str]) -> Parser:
    """The parser for this command line; only its command gets arguments, so help for one does not import others."""
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        raise UnknownName("command", command, COMMANDS)
    parser = Parser(
        prog="vmask",
        description="Text classifiers that show which words they use.",
        epilog="`vmask COMMAND --help` explains a command. Start with `vmask demo`, or `vmask train my.csv`.",
    )
    parser.add_argument("--version", action="version", version=f"vmask {__version__}")
    parser.set_defaults(quiet=False, debug=False)
    add_talk(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        summary = _summary(name)
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == command:
            importlib.import_module(f"vmask.cli.{name}").add_arguments(sub, words)
            add_talk(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 2 for an error, 130 if it was interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # half a character is no reason to stop
    with safe_streams(keep_working=bool(WRITE_FILES.intersection(words))):
        args: argparse.Namespace | None = None
        try:
            if sys.flags.optimize > 1:
                raise ConfigError("vmask reads its docstrings, which Python leaves out with -OO. Run it without -OO.")
            args = _parse(words)
            with _messages(args):
                code = int(importlib.import_module(f"vmask.cli.{args.command}").run(args) or 0)
                sys.stdout.flush()  # a closed pipe is noticed here, not when Python ends
                return code
        except SystemExit:  # argparse has printed its message
            raise
        except KeyboardInterrupt:
            if is_main_process():
                tell(f"interrupted{_how_to_resume(args) if args else ''}")
            return INTERRUPTED
        except BrokenPipeError:  # the reader has stopped, e.g. `vmask predict … | head`
            drop_output(sys.stdout)
            return 0
        except BaseException as error:  # panics of compiled libraries are no Exceptions
            if "--debug" in words:
                tell("".join(traceback.format_exception(error)).rstrip("\n"))
            who = "" if is_main_process() else f"process {os.environ['RANK']}: "
            for line in _error_lines(error):
                tell(f"{who}{line}")
            return ERROR


def _error_lines(error: BaseException) -> list[str]:
    """The message for an error, in one or two lines."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {' '.join(lines)}"
    if isinstance(error, (VmaskError, OSError)) and lines:  # OSError: a full disk, a folder without permission
        rest = [" ".join(lines[1:])] if len(lines) > 1 else []
        return [_one_line(line) for line in (f"error: {lines[0]}", *rest)]
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "memory" in str(error)):
        return [
            f"error: There is not enough memory ({_one_line(text, 300)}).",
            "Choose smaller sizes, such as --batch-size, or give less data at a time.",
        ]
    if isinstance(error, RecursionError):
        return ["error: Something in the input is nested too deep. Make it flatter."]
    return [
        f"error: {_one_line(text)}",
        "This looks like a fault in vmask. Run again with --debug for the traceback.",
    ]


def _one_line(text: str, most: int = LONGEST_LINE) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"


def _parse(words: Sequence[str]) -> argparse.Namespace:
    for word in words:
        if "\0" in word:
            raise ConfigError(f"The argument {short(word)} has a NUL character in it. Leave it out.")
        if any("\ud800" <= char <= "\udfff" for char in word):  # how Python represents bytes that are not UTF-8
            raise ConfigError(f"The argument {short(word)} is not UTF-8. Write it in UTF-8; rename a file.")
    parser = build_parser(words)
    args, unknown = parser.parse_known_args(words)
    if unknown:
        name = unknown[0].partition("=")[0]
        part, nested, _ = name.lstrip("-").partition(".")
        if nested and isinstance(getattr(args, part, None), str):  # --mask.pi: of the chosen mask
            of = getattr(args, part)
            near = _near_option(name, parser.options())
            raise ConfigError(
                f"{part} '{of}' has no option '{name}'.{near} See `vmask {args.command} --{part} {of} --help`."
            )
        near = _near_option(name, parser.options())
        if args.command in ("evaluate", "compare") and Path(unknown[0]).exists():
            near = " Several models are one argument: put a pattern in quotes, or commas between."
        raise ConfigError(f"Unknown argument '{unknown[0]}'.{near} See `vmask {args.command} --help`.")
    if args.command != "train" and several_processes():
        raise ConfigError(
            f"Only `vmask train` runs as several processes. Start `vmask {args.command}` without `torchrun`, or unset "
            "WORLD_SIZE."
        )
    return args


def _near_option(name: str, options: Iterable[str]) -> str:
    """A hint at the nearest option with the same prefix; the prefix itself, such as `--mask.`, is not compared."""
    head, dot, tail = name.rpartition(".")
    start = head + dot or "--"
    same_prefix = (option for option in options if option.startswith(start) and ("." in option) == bool(dot))
    tails = [option.removeprefix(start) for option in same_prefix]
    near = did_you_mean(tail.lstrip("-"), tails)
    return near.replace("Did you mean '", f"Did you mean '{start}")


def _how_to_resume(args: argparse.Namespace) -> str:
    """How to continue an interrupted command, if it can be continued."""
    if args.command == "train":
        return "; the same command with --resume goes on"
    if args.command == "grid":
        return "; the same command goes on"
    if args.command == "explain" and args.out and Path(f"{args.out}.part").exists():
        return f"; the same command{' without --overwrite' if args.overwrite else ''} goes on"
    if args.command == "predict" and args.out and Path(f"{args.out}.part").exists():
        return "; the same command goes on"
    if args.command in ("evaluate", "compare") and args.out and not getattr(args, "planted", False):
        return "; the same command goes on with the explanations that are there"
    return ""


@contextmanager
def _messages(args: argparse.Namespace) -> Iterator[None]:
    """Print our warnings and log records, one line each, on standard error; warnings of libraries only with --debug."""
    silent = args.quiet or not is_main_process()
    log, handler = logging.getLogger("vmask"), logging.StreamHandler(sys.stderr)
    before = log.level
    log.setLevel(logging.WARNING if silent else logging.INFO)
    log.addHandler(handler)

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        tell(f"warning: {message}")

    try:
        with warnings.catch_warnings():
            if not args.debug:
                warnings.simplefilter("ignore")
            warnings.simplefilter("ignore" if silent else "always", VmaskWarning)
            warnings.showwarning = show
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def several_processes() -> bool:
    """Whether `torchrun` or the like has started several processes."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


def is_main_process() -> bool:
    """Whether this is the process that prints and writes files, of several under `torchrun`."""
    return os.environ.get("RANK", "0") == "0"


@cache  # a process that runs many commands, such as a test, reads each file once
def _summary(name: str) -> str:
    """First line of a command's docstring, read without importing it."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
