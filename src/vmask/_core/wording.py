"""Small helpers for the words of messages and notes."""

from __future__ import annotations

from collections.abc import Container


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def unused_name(name: str, taken: Container[str], separator: str) -> str:
    """A name, with a number behind it if it is taken.

    >>> unused_name("cnn", ["cnn", "cnn-2"], "-")
    'cnn-3'
    """
    number, unused = 1, name
    while unused in taken:
        number += 1
        unused = f"{name}{separator}{number}"
    return unused
