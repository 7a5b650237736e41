"""In words, how much of the texts a mask shows: what is a restriction, and what is only a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmask.masks.contract import WordMask


def describe_visibility(name: str, mask: WordMask, row: Mapping[str, Any], words: int) -> str:
    """A sentence about the share of running words with a score of at least 0.5; empty if there is nothing to say.

    Args:
        name: name of the mask.
        mask: the mask.
        row: the row of the history of the epoch that was kept.
        words: number of word types of the training texts with such a score.
    """
    visible = row.get("mask_visible")  # absent in older model folders
    if visible is None:
        return ""
    if mask.is_soft(mask.options):
        return f"{name.upper()} shows {visible:.0%} of running words above 0.5: a ranking, not a restriction"
    if not mask.word_level():
        return ""  # the words that are seen differ from text to text
    budget = getattr(mask.options, "budget", None)
    limit = "" if budget is None else f" (budget {budget:.0%})"
    return f"reads {words:,} words, {visible:.1%} of running words{limit}"
