"""How many examples hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""Examples of a test that says nothing of its own, in `make test-full`."""


def examples(many):
    """The examples of a test: so many in `make test-full`, and the same share of them in `make test` as of others."""
    return max(many * settings.default.max_examples // USUAL, 5)
