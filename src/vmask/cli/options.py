"""Options of the command line, made from the dataclasses that declare them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vmask.config import choices_of, help_of, item_type, make, scalar_type
from vmask.data.config import ReadConfig
from vmask.errors import ConfigError, DataError, OutputExists, UnknownName, did_you_mean, short
from vmask.registry import Registry


def add_fields(parser: argparse.ArgumentParser, title: str, cls: type, prefix: str = "", dest: str = "") -> None:
    """Add an option for every field of a dataclass. Those not given are absent: the dataclass has the defaults.

    Args:
        parser: the parser to extend.
        title: heading in the help.
        cls: the dataclass.
        prefix: prefix of every name, e.g. `mask.`.
        dest: prefix of every attribute, e.g. `mask__`.
    """
    group = parser.add_argument_group(title)
    for f in dataclasses.fields(cls):
        flag = f"--{prefix}{f.metadata.get('flag') or f.name.replace('_', '-')}"
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
        elif kind is tuple and item_type(cls, f.name) is str:
            group.add_argument(flag, type=_words, metavar="WORDS", **common)
        elif kind is tuple:
            group.add_argument(flag, type=_numbers, metavar="N,N,…", **common)
        elif values := choices_of(cls, f.name):
            group.add_argument(flag, **choices(values), **common)
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
    """Add `--PART.…` of the chosen plug-in, if the command line has such an option or --help.

    Args:
        parser: the parser to extend.
        words: the command line, the command first.
        part: `mask`, `model` or `method`, the option that names the plug-in.
        registry: the plug-ins.
        default: the plug-in if none is named.
        called: gives the plug-in of a name, if not all names are in the registry.
        example: plug-in whose options the help offers to list if none is named; the default one if empty.
    """
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument(f"--{part}", nargs="?")  # the main parser refuses it without a value
    chosen, rest = first.parse_known_args(words)
    named = getattr(chosen, part)
    name = called(named or default)
    has_options = any(word.startswith(f"--{part}.") for word in rest)
    if has_options or (named and ("--help" in words or "-h" in words)):
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
    """Add `--NAME.…` of every plug-in with an option on the command line, such as `--lime.samples` of `lime`.

    Raises:
        UnknownName: for an option whose name is similar to that of a plug-in.
    """
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    owners = {flag[2:].partition(".")[0] for flag in flags if "." in flag}
    example = "--lime.samples 500"
    parser.add_argument_group("options of metrics and explainers", f"--NAME.OPTION VALUE, as in {example}")
    names = [name for registry in registries for name in registry.names()]
    for name in sorted(owners - set(names)):
        if did_you_mean(name, names):
            raise UnknownName(" or ".join(registry.kind for registry in registries), name, names)
    for registry in registries:
        for name in sorted(owners & set(registry.names())):
            add_fields(parser, f"{registry.kind} {name}", registry.get(name).Options, f"{name}.", f"{name}__")


def given(args: argparse.Namespace, *classes: type, nested: Sequence[str] = ()) -> dict[str, Any]:
    """The given options of these dataclasses, and those with a nested prefix."""
    names = {f.name for cls in classes for f in dataclasses.fields(cls)}
    return {k: v for k, v in vars(args).items() if k in names or k.startswith(tuple(nested))}


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model folder as an argument without a flag."""
    parser.add_argument("model", metavar="DIR", help="a model folder")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add `--device`."""
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="auto, cpu, cuda or mps [auto]")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_columns(parser: argparse.ArgumentParser, fallback: str) -> None:
    """Add `--text`, `--label` and `--label-separator`."""
    parser.add_argument("--text", metavar="COLUMN", help=f"column with the texts [{fallback}]")
    parser.add_argument(
        "--label", metavar="COLUMN", help=f"column with the labels; several of 0 and 1: a,b,c [{fallback}]"
    )
    parser.add_argument(
        "--label-separator",
        metavar="TEXT",
        help=f"what stands between the labels of a text that may have several; none: one label a text [{fallback}]",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add `--encoding` and `--sheet`."""
    add_fields(parser, "how files are read", ReadConfig)


def reading_of(args: argparse.Namespace) -> ReadConfig:
    """The checked options of `add_reading`."""
    return make(ReadConfig, given(args, ReadConfig))


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add `--data-dir`."""
    parser.add_argument("--data-dir", metavar="DIR", help="folder with local datasets [the VMASK_DATA variable]")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet` and `--debug`, which are absent if they are not given."""
    absent = argparse.SUPPRESS
    parser.add_argument("--quiet", action="store_true", default=absent, help="print results and errors alone")
    parser.add_argument("--debug", action="store_true", default=absent, help="show the traceback of an error")


def check_page(path: str | None, overwrite: bool) -> None:
    """Check that the page of `--html` can be written, before any work is done.

    Raises:
        OutputExists: if not.
    """
    page = Path(path) if path else None
    if page and page.is_dir():
        raise OutputExists(f"{page} is a folder. Name a file for --html.")
    if page and page.exists() and not overwrite:
        raise OutputExists(f"{page} exists. Choose another file, or add --overwrite to replace it.")


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """The type of an argument with a few values; for any other value the error names the nearest."""

    def check(text: str) -> str:
        if text not in choices:
            near = did_you_mean(text, choices)
            raise argparse.ArgumentTypeError(f"{short(text)} is not known.{near} Choose one of: {', '.join(choices)}.")
        return text

    return check


def choices(values: Sequence[str]) -> dict[str, Any]:
    """The arguments of `add_argument` for an option with a few values."""
    return {"type": one_of(values), "metavar": f"{{{','.join(values)}}}"}


def whole_number(least: int, most: int = 10**9) -> Callable[[str], int]:
    """The type of an argument that is a whole number within limits."""

    def check(text: str) -> int:
        number = int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{short(text)} is not a whole number from {least} to {most:,}.")
        return number

    return check


at_least_0 = whole_number(0)


def words_of(text: str) -> tuple[str, ...]:
    """Words with commas between; `@FILE` is a file with a word a line.

    Raises:
        ConfigError: for a file that cannot be read.
    """
    from vmask._core.parsing import read_words

    words: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if part.startswith("@") and len(part) > 1:
            try:
                words += read_words(Path(part[1:]))
            except (DataError, OSError) as error:
                raise ConfigError(f"{error} Give a text file with a word a line after the @.") from None
        elif part:
            words.append(part)
    return tuple(dict.fromkeys(words))


def _words(text: str) -> tuple[str, ...]:
    try:
        return words_of(text)
    except ConfigError as error:  # argparse would put its own words in the place of the message
        raise argparse.ArgumentTypeError(str(error)) from None


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:  # also of a number with thousands of digits
        raise argparse.ArgumentTypeError(f"{short(text)} is not a list of whole numbers such as 3,4,5") from None


def _typed(kind: Callable[[str], Any], description: str) -> Callable[[str], Any]:
    """The type of an argument, with an error message that describes it."""

    def check(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{short(text)} is not {description}.") from None

    return check


_TYPES = {int: _typed(int, "a whole number"), float: _typed(float, "a number")}
