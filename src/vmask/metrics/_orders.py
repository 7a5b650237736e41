"""The lowest and the highest mean probability over all orders in which the words of a text can be hidden.

Exact for short texts, by dynamic programming over all sets of words; by beam search for others. Neither depends on
explanations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.explain.contract import MAX_CELLS
from vmask.explain.shapley import subsets
from vmask.inference.contract import Doc, Predictor
from vmask.inference.perturb import distinct_rows

DIGITS = 6
"""Decimals to which sums are compared; ties go to the earlier position. Further digits are noise of float32."""


def extremes(
    predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int], hide: str, beam: int, exact_up_to: int
) -> NDArray[np.float64]:
    """(N, 2) lowest and highest mean probability of a class as words are hidden one by one, over orders of the words.

    The mean is over the text without its first word, its first two, … and all of them; NaN for a text without words.

    Args:
        predictor: the model.
        docs: the texts.
        targets: number of the class of each.
        hide: how words are hidden.
        beam: width of the beam search.
        exact_up_to: texts of up to this many words are solved exactly.
    """
    sums = np.full((len(docs), 2), np.nan)
    sizes = np.array([len(doc.spans) for doc in docs], np.int64)
    short = np.flatnonzero((sizes > 0) & (sizes <= exact_up_to))
    for some in groups(short, [2 ** int(sizes[i]) * int(sizes[i]) for i in short]):
        sets = [subsets(int(sizes[i])) for i in some]
        answers = predictor.predict_kept([docs[i] for i in some], sets, hide)
        for i, rows in zip(some, answers, strict=True):
            sums[i] = solved(rows[:, targets[i]].astype(np.float64), int(sizes[i]))
    long = np.flatnonzero(sizes > max(exact_up_to, 0))
    for some in groups(long, [2 * beam * int(sizes[i]) ** 2 for i in long]):
        search = Search(predictor, [docs[i] for i in some], [targets[i] for i in some], hide, beam)
        while search.step():
            pass
        sums[some] = search.found()
    return sums / np.maximum(sizes, 1)[:, None]


def groups(numbers: NDArray[np.int64], cells: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Batches of texts: as many as `MAX_CELLS` allows, at least one."""
    start, held = 0, 0
    for at, size in enumerate(cells):
        if at > start and held + size > MAX_CELLS:
            yield numbers[start:at]
            start, held = at, 0
        held += size
    if start < len(numbers):
        yield numbers[start:]


def solved(worth: NDArray[np.float64], words: int) -> tuple[float, float]:
    """Lowest and highest sum on a path from all words to none, of the values (2^W,) of all sets but the first.

    Sets are in the order of `subsets`: word w is in set s if bit w of s is 1.
    """
    number = np.arange(2**words)
    size = (number[:, None] >> np.arange(words) & 1).sum(1)
    least, greatest = (np.zeros(2**words) for _ in range(2))
    for kept in reversed(range(words)):
        here = number[size == kept]
        larger = here[:, None] | 1 << np.arange(words)
        out = larger == here[:, None]  # the word is in the set already
        least[here] = worth[here] + np.where(out, np.inf, least[larger]).min(1)
        greatest[here] = worth[here] + np.where(out, -np.inf, greatest[larger]).max(1)
    return float(least[0]), float(greatest[0])


class Beam:
    """The current sets of words of a beam search on one text.

    Args:
        words: number of words of the text.
        size: maximum number of sets.
        sign: 1 to search for the highest sum, -1 for the lowest.
    """

    def __init__(self, words: int, size: int, sign: int) -> None:
        self.size = size
        self.sign = sign
        self.keep = np.ones((1, words), np.bool_)
        self.sums = np.zeros(1)
        """For each set the best sum on a path to it, times the sign."""

    def next_sets(self) -> NDArray[np.bool_]:
        """(S, W) all distinct sets with one word less; the order in which their words were hidden does not matter."""
        row, word = self.keep.nonzero()
        sets = self.keep[row]
        sets[np.arange(len(row)), word] = False
        self.keep, which = distinct_rows(sets)  # those that hide an earlier word come first
        best = np.full(len(self.keep), -np.inf)
        np.maximum.at(best, which, self.sums[row])
        self.sums = best
        return self.keep

    def choose(self, worth: NDArray[Any]) -> None:
        """Keep the best of the sets, given their values (S,)."""
        self.sums = self.sums + self.sign * worth.astype(np.float64)
        best = np.argsort(-self.sums.round(DIGITS), kind="stable")[: self.size]
        self.keep, self.sums = self.keep[best], self.sums[best]


class Search:
    """Beam search for the lowest and the highest sum, for a batch of texts.

    Args:
        predictor: the model.
        docs: the texts.
        targets: number of the class of each.
        hide: how words are hidden.
        beam: width of the beam, in either direction.
    """

    def __init__(self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int], hide: str, beam: int) -> None:
        self.predictor = predictor
        self.docs = docs
        self.targets = targets
        self.hide = hide
        self.beams = [[Beam(len(doc.spans), beam, sign) for sign in (-1, 1)] for doc in docs]
        self.steps = 0

    def step(self) -> int:
        """Hide one more word of every text that has one left; returns the number of queries."""
        left = [i for i, doc in enumerate(self.docs) if len(doc.spans) > self.steps]
        if not left:
            return 0
        self.steps += 1
        sets = [[beam.next_sets() for beam in self.beams[i]] for i in left]
        keep = [np.concatenate(both) for both in sets]
        answers = self.predictor.predict_kept([self.docs[i] for i in left], keep, self.hide)
        for i, (least, _), rows in zip(left, sets, answers, strict=True):
            worth = rows[:, self.targets[i]]
            self.beams[i][0].choose(worth[: len(least)])
            self.beams[i][1].choose(worth[len(least) :])
        return sum(len(rows) for rows in keep)

    def found(self) -> NDArray[np.float64]:
        """(N, 2) lowest and highest sum."""
        return np.array([[beam.sign * beam.sums[0] for beam in both] for both in self.beams])


def questions(words: int, beam: int, exact_up_to: int) -> int:
    """Maximum number of queries for a text of this many words."""
    if words <= exact_up_to:
        return 2**words if words else 0
    return 2 * sum(min(beam * (words - hidden), comb(words, hidden + 1)) for hidden in range(words))
