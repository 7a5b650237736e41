"""Check JSON values against a shape.

A shape is a type, a tuple of alternative shapes, `[shape]` for a list, `{key: shape}` for a mapping that may have these
keys and others, or `Values(shape)` for a mapping with any keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.errors import short

NUMBER = (int, float)
NOTHING = type(None)


@dataclass(frozen=True)
class Values:
    """A mapping with any keys whose values have one shape."""

    shape: Any


def misfit(value: Any, shape: Any, *where: str | int) -> str:
    """A message about the first value that does not fit, with its path; empty if everything fits.

    Args:
        value: the JSON value.
        shape: what it should look like.
        where: keys and indices that lead to `value`.

    >>> misfit({"a": [1, "x"]}, {"a": [int], "b": str})
    "'a.1' is 'x', no int"
    """
    if isinstance(shape, tuple):
        messages = [misfit(value, alternative, *where) for alternative in shape]
        return messages[0] if all(messages) else ""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
        return "" if fits else f"{_place(where)} is {short(value, 40)}, no {shape.__name__}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{_place(where)} is {short(value, 40)}, no list"
        if _are_plain(value, shape[0]):
            return ""
        return _first(misfit(item, shape[0], *where, i) for i, item in enumerate(value))
    if not isinstance(value, Mapping):
        return f"{_place(where)} is {short(value, 40)}, no mapping"
    if isinstance(shape, Values):
        return _first(misfit(item, shape.shape, *where, key) for key, item in value.items())
    return _first(misfit(value[key], shape[key], *where, key) for key in shape if key in value)


def _first(messages: Iterable[str]) -> str:
    return next(filter(None, messages), "")


def _are_plain(values: list[Any], shape: Any) -> bool:
    """Whether all values have plain types that fit, or are lists of such: a fast check for most of a file."""
    types = {type(value) for value in values}
    if isinstance(shape, list):
        return types == {list} and _are_plain([value for row in values for value in row], shape[0])
    alternatives = shape if isinstance(shape, tuple) else (shape,)
    return types <= {plain for plain in alternatives if isinstance(plain, type)}


def _place(where: Sequence[str | int]) -> str:
    return f"'{'.'.join(map(str, where))}'"
