"""Small helpers for sentences."""

from __future__ import annotations


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
