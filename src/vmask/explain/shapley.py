"""SampleShapley: the average contribution of a word over random orders of hiding (Kononenko and Strumbelj 2010)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import factorial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, Predictor

BLOCK_ROWS = 4096
"""Perturbations of a text drawn at a time, but at least those of two orders."""
MOST_ENUMERATED = 10
FEWEST_ORDERS = 10
"""Minimum number of orders for a standard error to be used."""


@dataclass(frozen=True)
class ShapleyOptions:
    """Options of `shapley`."""

    permutations: int = option(25, "random orders of a text's words, at most (pairs are not torn apart)")
    variant: Literal["plain", "antithetic", "stratified"] = option(
        "plain",
        "orders drawn alone, in pairs of an order and its reverse, or in sets in which every word takes every place",
    )
    tolerance: float = option(0.0, "stop early when no word's standard error is above this; 0 never stops early")
    enumerate_up_to: int = option(
        7, "texts of up to this many words (10 at most) are computed exactly, from all sets of words; 0 samples always"
    )

    def __post_init__(self) -> None:
        check_positive(self, "permutations", minimum=1)
        check_positive(self, "tolerance", "enumerate_up_to", minimum=0)
        if self.enumerate_up_to > MOST_ENUMERATED:
            raise ConfigError(f"enumerate_up_to is {self.enumerate_up_to}; it must be at most {MOST_ENUMERATED}.")


@EXPLAINERS.register("shapley")
class SampleShapley(Explainer):
    """Shapley values by sampling whole orders, so that the scores of a text always sum to f(text) - f(nothing).

    For each order, words are added one by one to the empty text; the contribution of a word is the change of the
    probability when it is added. A text of W words takes about `permutations * W` predictions. By default texts of up
    to 7 words are enumerated, which costs no more than 25 orders.
    """

    Options = ShapleyOptions
    draws = True

    def rows(self, words: int) -> int:
        """A block of the orders, or all sets of words."""
        return 2**words if words <= self.options.enumerate_up_to else self._orders_at_once(words) * (words + 1)

    def explain_batch(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts; `details` has the standard error of every word and the number of orders.

        An enumerated text has errors of 0, all orders, and no seed.
        """
        probabilities = predictor.predict_docs(docs)
        chosen = classes_of(probabilities, targets)
        short = [i for i, doc in enumerate(docs) if len(doc.spans) <= self.options.enumerate_up_to]
        exact = self._enumerated(predictor, {i: docs[i] for i in short}, chosen, hide)
        sampled = self._sampled(predictor, {i: docs[i] for i in range(len(docs)) if i not in exact}, chosen, seed, hide)
        for i, doc in enumerate(docs):
            result = exact[i] if i in exact else sampled[i]
            yield self.finished(
                predictor,
                doc,
                result.mean,
                chosen[i],
                probabilities[i, chosen[i]],
                hide=hide,
                seed=None if i in exact else seed,
                standard_errors=None if result.errors is None else result.errors.tolist(),
                orders=result.orders,
            )

    def _sampled(
        self, predictor: Predictor, docs: dict[int, Doc], chosen: Sequence[int], seed: int, hide: str
    ) -> dict[int, Found]:
        options = self.options
        orders = {i: OrderStream(len(doc.spans), options.variant, _stream(seed, doc)) for i, doc in docs.items()}
        running = {i: Running(len(doc.spans), options.variant) for i, doc in docs.items()}
        most = self._most_orders()
        unsettled = list(docs)
        while unsettled:
            drawn = [
                orders[i].take(min(self._orders_at_once(orders[i].words), most - running[i].orders)) for i in unsettled
            ]
            answers = predictor.predict_kept([docs[i] for i in unsettled], [prefixes(order) for order in drawn], hide)
            for i, order, rows in zip(unsettled, drawn, answers, strict=True):
                running[i].add(contributions(order, rows[:, chosen[i]]))
            unsettled = [i for i in unsettled if running[i].orders < most and not running[i].settled(options.tolerance)]
        return {i: Found(run.mean, run.errors, run.orders) for i, run in running.items()}

    def _most_orders(self) -> int:
        """Maximum number of orders; even for pairs, because an order without its reverse adds mostly noise."""
        most = int(self.options.permutations)
        return max(most // 2 * 2, 1) if self.options.variant == "antithetic" else most

    def _orders_at_once(self, words: int) -> int:
        """Number of orders between two checks of the tolerance; an even number."""
        count = max(BLOCK_ROWS // (words + 1) // 2 * 2, 2)
        if self.options.tolerance:
            count = min(count, FEWEST_ORDERS)
        return min(count, self._most_orders())

    def _enumerated(
        self, predictor: Predictor, docs: dict[int, Doc], chosen: Sequence[int], hide: str
    ) -> dict[int, Found]:
        sets = [subsets(len(doc.spans)) for doc in docs.values()]
        answers = predictor.predict_kept(list(docs.values()), sets, hide)
        return {
            i: Found(exact_values(keep, rows[:, chosen[i]]), np.zeros(keep.shape[1]), factorial(keep.shape[1]))
            for i, keep, rows in zip(docs, sets, answers, strict=True)
        }


@dataclass(frozen=True)
class Found:
    """Shapley values of the words of a text.

    Attributes:
        mean: (W,) average contribution.
        errors: (W,) its standard error; None for a single order.
        orders: number of orders averaged over.
    """

    mean: NDArray[np.float64]
    errors: NDArray[np.float64] | None
    orders: int


class Running:
    """Running mean and standard error of contributions, in the memory of one order.

    An order and its reverse are one observation. Orders of a stratified set count as independent: usually their
    dependence makes the mean more precise than the error says, but there are games in which it is less precise.
    """

    def __init__(self, words: int, variant: str) -> None:
        self.orders = 0
        self._paired = variant == "antithetic"
        self._total = np.zeros(words)
        self._units = 0
        self._mean = np.zeros(words)  # of the observations; `_squares` are deviations from it
        self._squares = np.zeros(words)

    def add(self, values: NDArray[np.float64]) -> None:
        """Add the contributions (M, W) of M more orders."""
        self.orders += len(values)
        self._total += values.sum(0)
        if self._paired:  # a single order is not an observation
            even = len(values) // 2 * 2
            values = (values[0:even:2] + values[1:even:2]) / 2
        if not len(values):
            return
        mean = values.mean(0)
        step, units = mean - self._mean, self._units + len(values)
        self._squares += ((values - mean) ** 2).sum(0) + step**2 * self._units * len(values) / units
        self._mean += step * len(values) / units
        self._units = units

    @property
    def mean(self) -> NDArray[np.float64]:
        """(W,) average contribution of each word."""
        return self._total / max(self.orders, 1)

    @property
    def errors(self) -> NDArray[np.float64] | None:
        """(W,) standard error of the mean of each word; None with fewer than two observations."""
        if self._units < 2:
            return None
        errors: NDArray[np.float64] = np.sqrt(self._squares / (self._units - 1) / self._units)
        return errors

    def settled(self, tolerance: float) -> bool:
        """Whether the standard errors of all words are within the tolerance."""
        if tolerance <= 0 or self.orders < FEWEST_ORDERS or (errors := self.errors) is None:
            return False
        return bool((errors <= tolerance).all())


class OrderStream:
    """Random orders of the words of a text; the number taken at a time does not change them.

    Args:
        words: W.
        variant: how they are drawn.
        random: the random generator.
    """

    def __init__(self, words: int, variant: str, random: np.random.Generator) -> None:
        self.words = words
        self._orders = self._drawn(variant, random)

    def take(self, count: int) -> NDArray[np.int64]:
        """(M, W) the next orders."""
        return np.stack(list(islice(self._orders, count)))

    def _drawn(self, variant: str, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        while True:
            order = random.permutation(self.words)
            if variant == "stratified":
                # A Latin square: every word takes every place once, after different words in each order.
                starts, steps = random.permutation(self.words), random.permutation(self.words)
                for start in starts:
                    yield order[(start + steps) % self.words]
                continue
            yield order
            if variant == "antithetic":
                yield order[::-1]


def _stream(seed: int, doc: Doc) -> np.random.Generator:
    return numpy_stream(seed, "shapley", doc.text)


def prefixes(orders: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(M * (W + 1), W) kept words as they are added one by one, from none to all, for each of the orders (M, W)."""
    place = orders.argsort(1)  # (M, W) place of each word in its order
    steps = np.arange(orders.shape[1] + 1)
    keep: NDArray[np.bool_] = place[:, None, :] < steps[None, :, None]
    return keep.reshape(len(orders) * len(steps), orders.shape[1])


def contributions(orders: NDArray[np.int64], answers: NDArray[np.float32]) -> NDArray[np.float64]:
    """(M, W) contribution of each word in each order, from the answers (M * (W + 1),) for its prefixes."""
    gains = np.diff(
        answers.astype(np.float64).reshape(len(orders), -1), axis=1
    )  # in the order in which words are added
    values = np.zeros(orders.shape)
    np.put_along_axis(values, orders, gains, 1)
    return values


def subsets(words: int) -> NDArray[np.bool_]:
    """(2^W, W) all sets of words, from none to all."""
    return (np.arange(2**words)[:, None] >> np.arange(words) & 1).astype(np.bool_)


def exact_values(keep: NDArray[np.bool_], answers: NDArray[np.float32]) -> NDArray[np.float64]:
    """(W,) Shapley values from the answers (2^W,) for all sets of words (2^W, W), in the order of `subsets`."""
    words = keep.shape[1]
    size = keep.sum(1)
    weight = np.array([factorial(s) * factorial(words - s - 1) / factorial(words) for s in range(words)])
    values = np.zeros(words)
    number = np.arange(len(keep))
    worth = answers.astype(np.float64)
    for word in range(words):
        without = number[~keep[:, word]]
        values[word] = weight[size[without]] @ (worth[without + (1 << word)] - worth[without])
    return values
