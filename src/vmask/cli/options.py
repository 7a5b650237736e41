"""Options of the command line, read from the dataclasses that declare them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from vmask.config import choices_of, help_of, scalar_type


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
            group.add_argument(flag, choices=choices, **common)
        else:
            group.add_argument(flag, type=kind, metavar=kind.__name__.upper(), **common)


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


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers such as 3,4,5") from None
