"""What a value of JSON should look like, and what in it does not.

A shape is a type, a tuple of shapes of which one must fit, `[shape]` for a list, `{name: shape}` for a mapping that may
have these names and others, or `Values(shape)` for a mapping of any names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.errors import short

NUMBER = (int, float)
NOTHING = type(None)


@dataclass(frozen=True)
class Values:
    """A mapping of any names to values of a shape."""

    shape: Any


def misfit(value: Any, shape: Any, *where: str | int) -> str:
    """What does not fit, with its place behind the names and numbers of `where`; empty where all fits.

    >>> misfit({"a": [1, "x"]}, {"a": [int], "b": str})
    "'a.1' is 'x', no int"
    """
    if isinstance(shape, tuple):
        said = [misfit(value, one, *where) for one in shape]
        return said[0] if all(said) else ""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
        return "" if fits else f"{_place(where)} is {short(value, 40)}, no {shape.__name__}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{_place(where)} is {short(value, 40)}, no list"
        if _are_plain(value, shape[0]):
            return ""
        return next(filter(None, (misfit(one, shape[0], *where, i) for i, one in enumerate(value))), "")
    if not isinstance(value, Mapping):
        return f"{_place(where)} is {short(value, 40)}, no mapping"
    if isinstance(shape, Values):
        return next(filter(None, (misfit(one, shape.shape, *where, key) for key, one in value.items())), "")
    return next(filter(None, (misfit(value[key], shape[key], *where, key) for key in shape if key in value)), "")


def _are_plain(values: list[Any], shape: Any) -> bool:
    """Whether all are of plain types that fit, or lists of such: most of a file, and soon seen."""
    if isinstance(shape, list):
        return {type(one) for one in values} == {list} and _are_plain([one for row in values for one in row], shape[0])
    plain = shape if isinstance(shape, tuple) else (shape,)
    return {type(one) for one in values} <= {one for one in plain if isinstance(one, type)}


def _place(where: Sequence[str | int]) -> str:
    return f"'{'.'.join(map(str, where))}'"
