"""How much a classifier sees of each word of its training texts, and their order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class WordImportance:
    """How much the classifier sees of a word, in any text.

    Attributes:
        word: the word.
        score: E[R], between 0 and 1.
        count: number of occurrences in the training texts.
        known: whether it has a pretrained vector; the score of a word without one means little.
    """

    word: str
    score: float
    count: int
    known: bool


def ranked(words: Iterable[WordImportance]) -> list[WordImportance]:
    """Most important first; ties go to the more frequent word, then by alphabet."""
    return sorted(words, key=lambda w: (-w.score, -w.count, w.word))


def by_count(words: Iterable[WordImportance]) -> list[WordImportance]:
    """Most frequent first; ties by alphabet."""
    return sorted(words, key=lambda w: (-w.count, w.word))
