"""Strict checks of the values in the YAML file of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vmask.errors import ConfigError, did_you_mean, short

MOST_NUMBER = 10**9
"""Largest number of texts or words, and largest seed, in the file."""


def known(values: Any, names: Collection[str], of: str) -> Mapping[str, Any]:
    """A mapping that has no other keys than these.

    Raises:
        ConfigError: with the nearest known key.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{of} is {values!r}; it must have keys of these: {', '.join(names)}.")
    for key in values:
        if key not in names:
            near = did_you_mean(str(key), names)
            raise ConfigError(f"{of} has no key {key!r}.{near} Available: {', '.join(names)}.")
    return values


def listed(values: Mapping[str, Any], key: str, of: str, default: list[Any] | None = None) -> list[Any]:
    """A list, and not a string, whose letters would be taken for names; empty only if that is the default.

    Raises:
        ConfigError: for anything else.
    """
    items = values.get(key, default)
    if not isinstance(items, list) or (not items and items != default):
        raise ConfigError(f"{of} has {key}: {items!r}. It must be a list, in [brackets].")
    return items


def named(values: Mapping[str, Any], key: str, of: str, default: list[Any] | None = None) -> list[str]:
    """A list of names.

    Raises:
        ConfigError: for anything else.
    """
    names = listed(values, key, of, default)
    for name in names:
        if not isinstance(name, str) or "\0" in name:
            raise ConfigError(
                f"{of} has {short(name)} in {key}, which is no name. Put quotes around it, or take it out."
            )
    return names


def mapping(values: Any, of: str, kind: type) -> dict[str, Any]:
    """Names with their options, or with lists of options; empty for a name alone.

    Raises:
        ConfigError: for anything else.
    """
    if not isinstance(values, Mapping) or not all(
        value is None or isinstance(value, kind) for value in values.values()
    ):
        what = "options" if kind is dict else "a list of options"
        raise ConfigError(f"{of} is {values!r}. It must map names to {what}.")
    return {str(name): kind() if value is None else value for name, value in values.items()}


def number(value: Any, least: int, of: str) -> int:
    """A whole number.

    Raises:
        ConfigError: for anything else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_NUMBER:
        raise ConfigError(f"{of} is {short(value)}; it must be a whole number from {least} to {MOST_NUMBER:,}.")
    return value
