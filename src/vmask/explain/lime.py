"""LIME: a linear model of how the probability changes as words are hidden (Ribeiro et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.explain import EXPLAINERS
from vmask.explain._local_model import Array, Moments, explained, forward_selection, ridge
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, Predictor

BLOCK = 1000
"""Perturbations of a text drawn at a time. Changing it changes the draws."""


@dataclass(frozen=True)
class LimeOptions:
    """Options of `lime`."""

    samples: int = option(1000, "perturbations of a text, the whole text among them", most=10_000_000)
    features: Literal["position", "type"] = option(
        "position", "every word for itself, or all places of a word type together (bag of words)"
    )
    selection: Literal["none", "highest_weights", "forward_selection"] = option(
        "none", "fit all words, or choose some first, as the lime package does"
    )
    num_features: int = option(10, "words that a selection chooses; the others score 0")
    kernel_width: float = option(25.0, "width of the kernel that weighs perturbations by their nearness")
    alpha: float = option(1.0, "strength of the ridge penalty")

    def __post_init__(self) -> None:
        check_positive(self, "num_features", "kernel_width")
        check_positive(self, "samples", minimum=2)
        check_positive(self, "alpha", minimum=0)


@EXPLAINERS.register("lime")
class Lime(Explainer):
    """LIME for text as in the package lime 0.2.0.1; a test compares the two.

    A perturbation hides 1 to d of the d features, each number with equal probability. Its weight is
    `sqrt(exp(-D^2 / width^2))`, D being 100 times the cosine distance to the whole text, `100 (1 - sqrt(m / d))` for m
    features kept. The scores are the coefficients of a weighted ridge regression with intercept.
    """

    Options = LimeOptions
    draws = True

    def rows(self, words: int) -> int:
        """A block of the perturbations, and the sums, which have one row per word."""
        return min(BLOCK, int(self.options.samples)) + words

    def explain_batch(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts; `details` has the weighted R² (`fit`), the intercept and the local prediction."""
        features = [self.features_of(doc) for doc in docs]
        counts = [int(numbers.max(initial=-1)) + 1 for numbers in features]
        streams = [numpy_stream(seed, "lime", doc.text) for doc in docs]
        moments = [Moments(count) for count in counts]
        whole: list[NDArray[np.float32]] = []
        chosen: list[int] = []
        for start in range(0, self.options.samples, BLOCK):
            size = min(BLOCK, self.options.samples - start)
            kept = [sample(count, size, stream, start == 0) for count, stream in zip(counts, streams, strict=True)]
            keep = [np.take(rows, numbers, axis=1) for rows, numbers in zip(kept, features, strict=True)]
            answers = predictor.predict_kept(docs, keep, hide)
            if not whole:
                whole = [rows[0] for rows in answers]
                chosen = classes_of(np.stack(whole), targets)
            for sums, rows, probabilities, target in zip(moments, kept, answers, chosen, strict=True):
                sums.add(rows, probabilities[:, target], nearness(rows, self.options.kernel_width))
        for i, (coefficients, intercept, fit) in enumerate(self.fit(moments)):
            probability = whole[i][chosen[i]]
            yield self.finished(
                predictor,
                docs[i],
                coefficients[features[i]],
                chosen[i],
                probability,
                hide=hide,
                seed=seed,
                fit=fit,
                intercept=intercept,
                local_probability=intercept + float(coefficients.sum()),
            )

    def fit(self, moments: Sequence[Moments]) -> list[tuple[Array, float, float]]:
        """For each text the coefficients (d,), the intercept and the weighted R² of its local model."""
        options = self.options
        systems = [sums.centred() for sums in moments]
        used = [np.arange(sums.features) for sums in moments]
        if options.selection == "highest_weights":
            strengths = ridge(systems, used, 0.01)
            used = [np.argsort(-np.abs(weights), kind="stable")[: options.num_features] for weights in strengths]
        elif options.selection == "forward_selection":
            used = [forward_selection(system, options.num_features) for system in systems]
        fitted = []
        for sums, system, coefficients in zip(moments, systems, ridge(systems, used, options.alpha), strict=True):
            intercept = float(sums.means[-1] - sums.means[:-1] @ coefficients)
            fitted.append((coefficients, intercept, explained(system, coefficients, sums.weight)))
        return fitted

    def features_of(self, doc: Doc) -> NDArray[np.int64]:
        """(W,) number of the feature of each word."""
        if self.options.features == "position":
            return np.arange(len(doc.spans))
        number: dict[str, int] = {}
        return np.array([number.setdefault(word, len(number)) for word in doc.words], np.int64)


def sample(features: int, samples: int, random: np.random.Generator, first: bool) -> NDArray[np.bool_]:
    """(S, d) kept features: 1 to d are hidden in each row, none in row 0 of the first block."""
    keep = np.ones((samples, features), np.bool_)
    if not features:
        return keep
    start = int(first)
    hidden = random.integers(1, features + 1, samples - start)
    place = random.random((samples - start, features))
    last = np.take_along_axis(np.sort(place, axis=1), hidden[:, None] - 1, axis=1)
    keep[start:] = place > last
    return keep


def nearness(keep: NDArray[np.bool_], width: float) -> Array:
    """(S,) weights of perturbations (S, d)."""
    features = keep.shape[1]
    distance = 100 * (1 - np.sqrt(np.arange(features + 1) / max(features, 1)))  # by the number of features kept
    with np.errstate(over="ignore"):  # far beyond the width the weight is 0
        weights: Array = np.sqrt(np.exp(-((distance / width) ** 2)))[keep.sum(1)]
    return weights if features else np.ones(len(keep))
