"""Texts that begin alike, read once: which beginnings there are, word by word.

A recurrent layer reads from left to right, so texts with the same first words have the same states there. Perturbations
of one text share their beginnings often: of the distinct ones among 1,000 perturbations that LIME makes of a text of 20
words, about half of all steps are saved; a test counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Step:
    """The distinct beginnings of one more word than those of the step before.

    Attributes:
        words: (N,) the last word of each.
        parents: (N,) the beginning of the step before that each goes on from.
        ended: rows of the texts that end here.
        ends: for each of these the beginning that is its whole text.
    """

    words: NDArray[np.int32]
    parents: NDArray[np.int64]
    ended: NDArray[np.int64]
    ends: NDArray[np.int64]


def steps(index: NDArray[np.int32], lengths: NDArray[np.int64]) -> Iterator[Step]:
    """The steps of reading texts, as many as the longest has words; texts without words are in none of them.

    Args:
        index: (R, T) word at every position; texts that begin alike should stand together, others are read apart.
        lengths: (R,) words of each text.
    """
    rows, size = index.shape
    shared = np.zeros(rows, np.int64)  # with the text before
    if rows > 1 and size:
        differs = index[1:] != index[:-1]
        first = np.where(differs.any(1), differs.argmax(1), size)
        shared[1:] = np.minimum(np.minimum(first, lengths[1:]), lengths[:-1])
    active = np.flatnonzero(lengths > 0)
    node = np.zeros(rows, np.int64)  # of the step before: all texts go on from nothing
    for at in range(int(lengths.max(initial=0))):
        active = active[lengths[active] > at]
        new = shared[active] <= at
        new[0] = True
        starts = active[new]
        parents = node[starts]
        node[active] = np.cumsum(new) - 1
        ended = active[lengths[active] == at + 1]
        yield Step(index[starts, at], parents, ended, node[ended])
