"""Options of the command line, read from the dataclasses that declare them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vmask.config import choices_of, help_of, scalar_type
from vmask.errors import OutputExists, UnknownName, did_you_mean, short
from vmask.registry import Registry


def add_fields(parser: argparse.ArgumentParser, title: str, cls: type, prefix: str = "", dest: str = "") -> None:
    """Add an option for every field of a dataclass. One that is not given is absent, so that defaults stay one place's.

    Args:
        parser: where to add them.
        title: heading in the help.
        cls: the dataclass.
        prefix: in front of every name, e.g. `mask.`.
        dest: the same in Python, e.g. `mask__`.
    """
    group = parser.add_argument_group(title)
    for f in dataclasses.fields(cls):
        flag = f"--{prefix}{f.name.replace('_', '-')}"
        kind = scalar_type(cls, f.name)
        if kind is Any:  # a value of the user's own, such as a label
            kind = str
        common: dict[str, Any] = {
            "dest": dest + f.name,
            "default": argparse.SUPPRESS,
            "help": help_of(f).replace("%", "%%"),
        }
        if kind is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **common)
        elif kind is tuple:
            group.add_argument(flag, type=_numbers, metavar="N,N,…", **common)
        elif choices := choices_of(cls, f.name):
            group.add_argument(flag, type=one_of(choices), metavar=f"{{{','.join(choices)}}}", **common)
        else:
            group.add_argument(flag, type=_TYPES.get(kind, kind), metavar=kind.__name__.upper(), **common)


def add_nested(
    parser: argparse.ArgumentParser,
    words: Sequence[str],
    part: str,
    registry: Registry[Any],
    default: str,
    called: Callable[[str], str] = str,
    example: str = "",
) -> None:
    """Add `--PART.…` of the chosen plug-in, where the command line has one or asks for help.

    Args:
        parser: where to add them.
        words: the command line, the command first.
        part: `mask`, `model` or `method`, the option that names the plug-in.
        registry: the plug-ins.
        default: the plug-in where none is named.
        called: the plug-in behind a name, where names are not all in the registry.
        example: whose options the help offers to list where none is named; the default's else.
    """
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument(f"--{part}", nargs="?")  # without a value it is the other parser's to refuse
    chosen, rest = first.parse_known_args(words)
    named = getattr(chosen, part)
    name = called(named or default)
    asked = any(word.startswith(f"--{part}.") for word in rest)
    if asked or (named and ("--help" in words or "-h" in words)):
        options = registry.get(name).Options
        if dataclasses.fields(options):
            add_fields(parser, f"{part} {name}", options, f"{part}.", f"{part}__")
        else:
            parser.add_argument_group(f"{part} {name}", "it has no options of its own")
    else:
        name = name if named else example or name
        parser.add_argument_group(
            f"{part} options",
            f"--{part}.NAME VALUE; `{parser.prog} --{part} {name} --help` lists those of {name}",
        )


def add_options_of(parser: argparse.ArgumentParser, words: Sequence[str], *registries: Registry[Any]) -> None:
    """Add `--NAME.…` of every plug-in that the command line has an option of, as `--lime.samples` of `lime`.

    Raises:
        UnknownName: for an option of a name that is near a plug-in's.
    """
    asked = {word[2:].partition(".")[0] for word in words if word.startswith("--") and "." in word.partition("=")[0]}
    example = "--lime.samples 500"
    parser.add_argument_group("options of metrics and explainers", f"--NAME.OPTION VALUE, as in {example}")
    names = [name for registry in registries for name in registry.names()]
    for name in sorted(asked - set(names)):
        if did_you_mean(name, names):
            raise UnknownName(" or ".join(registry.kind for registry in registries), name, names)
    for registry in registries:
        for name in sorted(asked & set(registry.names())):
            add_fields(parser, f"{registry.kind} {name}", registry.get(name).Options, f"{name}.", f"{name}__")


def given(args: argparse.Namespace, *classes: type, nested: Sequence[str] = ()) -> dict[str, Any]:
    """The options that were given for these dataclasses, and those with a nested prefix."""
    names = {f.name for cls in classes for f in dataclasses.fields(cls)}
    return {k: v for k, v in vars(args).items() if k in names or k.startswith(tuple(nested))}


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add `--device`."""
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="auto, cpu, cuda or mps [auto]")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_columns(parser: argparse.ArgumentParser, fallback: str) -> None:
    """Add `--text` and `--label`."""
    parser.add_argument("--text", metavar="COLUMN", help=f"column with the texts [{fallback}]")
    parser.add_argument("--label", metavar="COLUMN", help=f"column with the labels [{fallback}]")


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add `--data-dir`."""
    parser.add_argument("--data-dir", metavar="DIR", help="folder with local datasets [the VMASK_DATA variable]")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet` and `--debug`, which are absent where they are not given."""
    absent = argparse.SUPPRESS
    parser.add_argument("--quiet", action="store_true", default=absent, help="print results and errors alone")
    parser.add_argument("--debug", action="store_true", default=absent, help="show the traceback of an error")


def check_page(named: str | None, overwrite: bool) -> None:
    """Refuse a page for `--html` that cannot be written, before any work is done.

    Raises:
        OutputExists: with the ways out.
    """
    page = Path(named) if named else None
    if page and page.is_dir():
        raise OutputExists(f"{page} is a folder. Name a file for --html.")
    if page and page.exists() and not overwrite:
        raise OutputExists(f"{page} exists. Choose another file, or add --overwrite to replace it.")


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A type for an argument with a few values; another is refused with the nearest of them."""

    def check(text: str) -> str:
        if text not in choices:
            near = did_you_mean(text, choices)
            raise argparse.ArgumentTypeError(f"{short(text)} is not known.{near} Choose one of: {', '.join(choices)}.")
        return text

    return check


def whole_number(least: int, most: int = 10**9) -> Callable[[str], int]:
    """A type for an argument that is a whole number within limits."""

    def check(text: str) -> int:
        number = int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{short(text)} is not a whole number from {least} to {most:,}.")
        return number

    return check


at_least_0 = whole_number(0)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:  # also of a number with thousands of digits
        raise argparse.ArgumentTypeError(f"{short(text)} is not a list of whole numbers such as 3,4,5") from None


def _typed(kind: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    """The type of an argument, with a message that says what is wanted."""

    def check(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{short(text)} is not {what}.") from None

    return check


_TYPES = {int: _typed(int, "a whole number"), float: _typed(float, "a number")}
