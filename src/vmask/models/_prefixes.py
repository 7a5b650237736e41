"""The distinct prefixes of texts, word by word, so that each is read once.

A recurrent layer reads from left to right, so texts with the same first words have the same states there. Perturbations
of one text often share prefixes: for the distinct ones among 1,000 perturbations by LIME of a text of 20 words, about
half of all steps are saved; a test counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Step:
    """The distinct prefixes that are one word longer than those of the previous step.

    Attributes:
        words: (N,) the last word of each.
        parents: (N,) the prefix of the previous step that each extends.
        ended: rows of the texts that end here.
        ends: for each of these the prefix that is the whole text.
    """

    words: NDArray[np.int32]
    parents: NDArray[np.int64]
    ended: NDArray[np.int64]
    ends: NDArray[np.int64]


def steps(index: NDArray[np.int32], lengths: NDArray[np.int64]) -> Iterator[Step]:
    """The steps of reading texts, one per word of the longest; texts without words are in none of them.

    Args:
        index: (R, T) word at every position; only prefixes of adjacent texts are shared.
        lengths: (R,) number of words of each text.
    """
    rows, size = index.shape
    shared = np.zeros(rows, np.int64)  # words shared with the previous text
    if rows > 1 and size:
        differs = index[1:] != index[:-1]
        first = np.where(differs.any(1), differs.argmax(1), size)
        shared[1:] = np.minimum(np.minimum(first, lengths[1:]), lengths[:-1])
    active = np.flatnonzero(lengths > 0)
    node = np.zeros(rows, np.int64)  # of the previous step: all texts start from the empty prefix
    for at in range(int(lengths.max(initial=0))):
        active = active[lengths[active] > at]
        new = shared[active] <= at
        new[0] = True
        starts = active[new]
        parents = node[starts]
        node[active] = np.cumsum(new) - 1
        ended = active[lengths[active] == at + 1]
        yield Step(index[starts, at], parents, ended, node[ended])
