"""Fields of options dataclasses: how they are declared, checked and read from mappings."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, field
from functools import cache
from typing import Any, Literal, TypeVar

from vmask._core.parsing import has_lone_surrogate
from vmask.errors import ConfigError, did_you_mean, short

MOST, MOST_TIMES_DEFAULT = 1_000_000, 1_000
"""Limit of a number without a declared one: the first, or the second times its default if that is more."""
LONGEST_LIST = 1_000
LARGEST_SEED = 2**63 - 1

O = TypeVar("O")  # noqa: E741 - an options dataclass


def option(default: Any, help: str, most: float | None = None, *, flag: str = "", entries: int = LONGEST_LIST) -> Any:
    """A dataclass field with a default and its line of help.

    Args:
        default: its default.
        help: its line of help.
        most: largest value of a number, or of the numbers of a list; far above anything sensible, it keeps a typo from
            filling the memory. By default see `most_of`.
        flag: its name on the command line, without dashes, where that is another one.
        entries: largest number of entries of a list.
    """
    return field(default=default, metadata={"help": help, "most": most, "flag": flag, "entries": entries})


def check_positive(options: Any, *names: str, minimum: float | None = None) -> None:
    """Raise ConfigError if a number is too small: below `minimum`, or not above 0 if that is None."""
    for name in names:
        value = getattr(options, name)
        enough = value is None or (value > 0 if minimum is None else value >= minimum)  # False for NaN
        if not enough or value == math.inf:
            wanted = "above 0" if minimum is None else f"at least {minimum:g}"
            raise ConfigError(f"{name} is {short(value)}; it must be {wanted}.")


def check_choices(options: Any) -> None:
    """Raise ConfigError if the value of a `Literal` field is not one of its choices."""
    for f in dataclasses.fields(options):
        choices = choices_of(type(options), f.name)
        value = getattr(options, f.name)
        if choices and value is not None and value not in choices:
            near = did_you_mean(str(value), [str(c) for c in choices])
            raise ConfigError(f"{f.name} is {value!r}.{near} Choose one of: {', '.join(str(c) for c in choices)}.")


def choices_of(cls: type, name: str) -> tuple[Any, ...]:
    """The values of a `Literal` field, or () for other fields."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is Literal:
            return typing.get_args(part)
    return ()


def scalar_type(cls: type, name: str) -> type:
    """The plain type behind a field (`float | None` is float, a Literal is str, a tuple stays a tuple)."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is Literal:
            return str
        if typing.get_origin(part) is tuple:
            return tuple
        if isinstance(part, type) and part is not type(None):
            return part
    return str


def item_type(cls: type, name: str) -> type:
    """The type of the entries of a tuple field."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is tuple:
            return typing.cast("type", typing.get_args(part)[0])
    return object


@cache  # resolving the hints of a class takes about as long as all the rest of making its options
def _parts(cls: type, name: str) -> tuple[Any, ...]:
    hint = typing.get_type_hints(cls)[name]
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def help_of(f: dataclasses.Field[Any]) -> str:
    """The line of help of a field, with its default."""
    default = "" if f.default in (None, MISSING, ()) else f" [{f.default}]"
    return f"{f.metadata.get('help', '')}{default}"


def make(cls: type[O], values: Mapping[str, Any], prefix: str = "") -> O:
    """Build an options dataclass from a mapping, strictly.

    Args:
        cls: the dataclass.
        values: its fields; lists become tuples if the field is a tuple.
        prefix: the prefix that the user wrote before them (`mask__`), for error messages.

    Raises:
        ConfigError: for an unknown key, with the nearest field, or a value that cannot work.
    """
    known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"Unknown option '{prefix}{key}'.{did_you_mean(key, known)} "
                f"Available: {', '.join(sorted(known)) or 'none'}."
            )
    try:
        built = cls(**{k: _coerce(cls, known[k], v, prefix) for k, v in values.items()})
    except TypeError as error:
        raise ConfigError(f"Options of {cls.__qualname__} cannot be used: {error}.") from None
    check_choices(built)
    return built


def most_of(f: dataclasses.Field[Any]) -> float:
    """The largest number that a field accepts."""
    declared = f.metadata.get("most")
    if declared is not None:
        return float(declared) if isinstance(declared, float) else int(declared)
    default = f.default if isinstance(f.default, (int, float)) else 0
    return max(MOST, abs(default) * MOST_TIMES_DEFAULT)


def _coerce(cls: type, f: dataclasses.Field[Any], value: Any, prefix: str) -> Any:
    """Turn JSON lists into tuples and integers into floats; refuse other types and numbers that are too large."""
    wanted, name = scalar_type(cls, f.name), f"{prefix}{f.name}"
    if hasattr(value, "item"):  # a numpy scalar, as from a parameter grid
        value = value.item()
    if wanted is Any:  # a value of the user's own, such as a label
        return value
    if value is None:
        if any(part is type(None) for part in _parts(cls, f.name)):
            return None
    elif wanted is tuple and isinstance(value, (list, tuple)):
        if len(value) > (entries := f.metadata.get("entries", LONGEST_LIST)):
            raise ConfigError(f"{name} has {len(value):,} entries; it must have at most {entries:,}.")
        for item in value:
            if (kind := item_type(cls, f.name)) is str and not isinstance(item, str):
                raise ConfigError(f"{name} has {short(item)} in it; it must have entries of type {kind.__name__}.")
            _check_size(f, item, name)
        return tuple(value)
    elif wanted is float and isinstance(value, int) and not isinstance(value, bool):
        _check_size(f, value, name)
        return float(value)
    elif isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        _check_size(f, value, name)
        return value
    raise ConfigError(f"{name} is {short(value)}; it must be of type {wanted.__name__}.")


def _check_size(f: dataclasses.Field[Any], value: Any, name: str) -> None:
    """Raise ConfigError for a number beyond the limit of its field, for NaN, and for a lone surrogate."""
    if isinstance(value, str):
        if has_lone_surrogate(value):
            raise ConfigError(f"{name} is {short(value)}, with half a character in it. Write it in UTF-8.")
    elif isinstance(value, (int, float)) and not abs(value) <= (most := most_of(f)):  # True for NaN
        raise ConfigError(f"{name} is {short(value)}; it must be a number of at most {most:,}.")


def to_dict(options: Any) -> dict[str, Any]:
    """The fields of an options dataclass as JSON values; `make` reads them back."""
    return typing.cast("dict[str, Any]", json.loads(json.dumps(dataclasses.asdict(options))))
