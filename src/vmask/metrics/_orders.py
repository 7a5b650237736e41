"""How low and how high the mean probability can be made by the order in which a text's words are hidden.

Exactly for short texts, by dynamic programming over all sets of words; by beam search for others. Neither looks at any
explanation.
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
"""Sums that agree in so many digits are a tie, which the earlier position wins: beyond is the noise of float32."""


def extremes(
    predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int], hide: str, beam: int, exact_up_to: int
) -> NDArray[np.float64]:
    """(N, 2) least and greatest mean probability of a class as words are hidden one by one, over orders of the words.

    The mean is over the text without its first word, its first two, … and all of them; NaN for a text without words.

    Args:
        predictor: the model.
        docs: the texts.
        targets: number of the class of each.
        hide: how words are hidden.
        beam: sets of words that the search goes on with.
        exact_up_to: texts of so many words are not searched but solved.
    """
    found = np.full((len(docs), 2), np.nan)
    sizes = np.array([len(doc.spans) for doc in docs], np.int64)
    short = np.flatnonzero((sizes > 0) & (sizes <= exact_up_to))
    for some in groups(short, [2 ** int(sizes[i]) * int(sizes[i]) for i in short]):
        sets = [subsets(int(sizes[i])) for i in some]
        answers = predictor.predict_kept([docs[i] for i in some], sets, hide)
        for i, rows in zip(some, answers, strict=True):
            found[i] = solved(rows[:, targets[i]].astype(np.float64), int(sizes[i]))
    long = np.flatnonzero(sizes > max(exact_up_to, 0))
    for some in groups(long, [2 * beam * int(sizes[i]) ** 2 for i in long]):
        search = Search(predictor, [docs[i] for i in some], [targets[i] for i in some], hide, beam)
        while search.step():
            pass
        found[some] = search.found()
    return found / np.maximum(sizes, 1)[:, None]


def groups(numbers: NDArray[np.int64], cells: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Texts that are worked on together: as many as `MAX_CELLS` allows, at least one."""
    start, held = 0, 0
    for at, size in enumerate(cells):
        if at > start and held + size > MAX_CELLS:
            yield numbers[start:at]
            start, held = at, 0
        held += size
    if start < len(numbers):
        yield numbers[start:]


def solved(worth: NDArray[np.float64], words: int) -> tuple[float, float]:
    """Least and greatest sum on a way from all words to none, of the worth (2^W,) of the sets behind the first.

    Sets are in the order of `subsets`: word w is in set s where bit w of s is 1.
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
    """The sets of words of one text that the search goes on with.

    Args:
        words: number of words of the text.
        size: how many sets at most.
        sign: 1 where the greatest sum is sought, -1 where the least.
    """

    def __init__(self, words: int, size: int, sign: int) -> None:
        self.size = size
        self.sign = sign
        self.keep = np.ones((1, words), np.bool_)
        self.sums = np.zeros(1)
        """Of each set the best sum on a way to it, times the sign."""

    def next_sets(self) -> NDArray[np.bool_]:
        """(S, W) all sets with one word less, each once: it does not matter in which order its words were hidden."""
        row, word = self.keep.nonzero()
        sets = self.keep[row]
        sets[np.arange(len(row)), word] = False
        self.keep, which = distinct_rows(sets)  # those that hide an earlier word come first
        best = np.full(len(self.keep), -np.inf)
        np.maximum.at(best, which, self.sums[row])
        self.sums = best
        return self.keep

    def choose(self, worth: NDArray[Any]) -> None:
        """Go on with the best of the sets, given what they are worth (S,)."""
        self.sums = self.sums + self.sign * worth.astype(np.float64)
        best = np.argsort(-self.sums.round(DIGITS), kind="stable")[: self.size]
        self.keep, self.sums = self.keep[best], self.sums[best]


class Search:
    """Beam search for the least and the greatest sum, of a few texts at once.

    Args:
        predictor: the model.
        docs: the texts.
        targets: number of the class of each.
        hide: how words are hidden.
        beam: sets of words that it goes on with, in either direction.
    """

    def __init__(self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int], hide: str, beam: int) -> None:
        self.predictor = predictor
        self.docs = docs
        self.targets = targets
        self.hide = hide
        self.beams = [[Beam(len(doc.spans), beam, sign) for sign in (-1, 1)] for doc in docs]
        self.steps = 0

    def step(self) -> int:
        """Hide one word more of every text that has one left; the number of questions that this took."""
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
        """(N, 2) least and greatest sum."""
        return np.array([[beam.sign * beam.sums[0] for beam in both] for both in self.beams])


def questions(words: int, beam: int, exact_up_to: int) -> int:
    """How many sets of a text of so many words are asked about, at most."""
    if words <= exact_up_to:
        return 2**words if words else 0
    return 2 * sum(min(beam * (words - hidden), comb(words, hidden + 1)) for hidden in range(words))
