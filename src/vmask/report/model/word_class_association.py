"""Which class a word speaks for: in whose texts it is likelier than in all others.

This looks at the training texts alone, not at the model. Where `a` of the `n` texts of a class have the word, and `b`
of the `m` others, it is the log-odds ratio

    log(a' / (n' - a')) - log(b' / (m' - b')),    a' = a + k n / (n + m),    b' = b + k m / (n + m)

after a prior of `k` further texts with the word that are spread over the classes as all texts are (n' and m' count
them and as many without it): so a word that is seen once or twice says little. Divided by its standard error it is z,
and the class with the greatest z is the one that the word speaks for (after Monroe, Colaresi and Quinn 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.text.words import chunks

PRIOR = 2.0
"""Texts with the word that the prior adds, and as many without it."""
CLEAR = 1.96
"""z from which a word's lean is called clear: what chance seldom does."""
SMALLEST = 0.5
"""Texts that a class without any counts for in the prior, so that nothing is divided by 0."""
CHUNK = 1000


@dataclass(frozen=True)
class Lean:
    """What a word says about the class of a text.

    Attributes:
        label: number of the class that it speaks for; None where no text has it.
        log_odds: how much likelier the word is in texts of that class than in others.
        z: the same in standard errors.
        here: texts of that class with the word.
        texts: all texts with the word.
    """

    label: int | None
    log_odds: float
    z: float
    here: int
    texts: int


def leans(there: NDArray[np.int64], totals: NDArray[np.int64]) -> list[Lean]:
    """What each word says.

    Args:
        there: (V, C) texts of each class with the word.
        totals: (C,) texts of each class.
    """
    with_word, share = there.sum(1, keepdims=True), (totals + SMALLEST) / (totals + SMALLEST).sum()
    inside, inside_not = there + PRIOR * share, totals - there + PRIOR * share
    rest = with_word - there
    outside, outside_not = rest + PRIOR * (1 - share), totals.sum() - totals - rest + PRIOR * (1 - share)
    log_odds = np.log(inside / inside_not) - np.log(outside / outside_not)
    z = log_odds / np.sqrt(1 / inside + 1 / inside_not + 1 / outside + 1 / outside_not)
    best = z.argmax(1)
    return [
        Lean(
            int(label),
            float(log_odds[row, label]),
            float(z[row, label]),
            int(there[row, label]),
            int(with_word[row, 0]),
        )
        if with_word[row, 0]
        else Lean(None, 0.0, 0.0, 0, 0)
        for row, label in enumerate(best)
    ]


def presence(
    predictor: Any, words: Sequence[str], texts: Sequence[str], labels: Sequence[int], classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(V, C) texts of each class with each word, as the model cuts texts, and (C,) texts of each class."""
    row_of = {word: row for row, word in enumerate(words)}
    there = np.zeros((len(words), classes), np.int64)
    done = 0
    for chunk in chunks(texts, CHUNK):
        for doc in predictor.prepare(chunk):
            rows = [row for word in set(predictor.ranked_words(doc)) if (row := row_of.get(word)) is not None]
            there[rows, labels[done]] += 1
            done += 1
    return there, np.bincount(np.asarray(labels, np.int64), minlength=classes)
