"""Whether explanations agree when only chance differs: seeds of a random method, or of the training.

Family: stability
Range: -1 to 1
Direction: higher is better
Definition: for each text the mean, over all pairs of explanations, of `kendall`, Kendall's tau-b of the scores of its
    words, and of `overlap`, the share of the top k words (the option; fewer where the text has fewer) that both have.
    The explanations are those of a random method with `repeats` seeds. The parts `training kendall` and `training
    overlap` compare explanations of models that only differ in the seed of their training, for the class that the
    first predicts; a random method takes another seed for each. A pair has no tau where a text has fewer than two
    words or all words have one score, and neither value where the models cut the text into other words.
Citation: Kendall, The Treatment of Ties in Ranking Problems, Biometrika 1945. Visani et al., Statistical stability
    indices for LIME, JORS 2022, repeat an explanation in the same way.
Limits: stable is not right: a method that does not look at the model can be perfectly stable. Words that hardly matter
    make up most of a long text and most of its tau. Texts agree the more easily the shorter they are: by chance the
    overlap is about k over the number of words, and 1 where that is k or less. Over training seeds models may differ in
    what they use, and true explanations of them then differ too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.explain.contract import Explanation
from vmask.metrics import METRICS
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case

MAX_CELLS = 100_000
"""Pairs of words times explanations compared at a time: they fit the CPU cache, and float32 counts them exactly."""


@dataclass(frozen=True)
class StabilityOptions:
    """Options of `stability`."""

    repeats: int = option(3, "seeds that a random method explains with", most=1_000)
    k: int = option(5, "top words whose overlap is measured")

    def __post_init__(self) -> None:
        check_positive(self, "repeats", minimum=2)
        check_positive(self, "k", minimum=1)


@METRICS.register("stability")
class Stability(ExplanationMetric):
    """Agreement over seeds of the method, and over seeds of the training."""

    Options = StabilityOptions
    headline = "kendall"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for every part; no parts if the method is not random and there are no other models."""
        parts: dict[str, NDArray[Any]] = {}
        if case.again is not None:
            seeds = range(case.seed + 1, case.seed + self.options.repeats)
            parts |= self._agreement(case, [case.again(seed) for seed in seeds], "")
        if case.others:
            parts |= self._agreement(case, [explain() for explain in case.others], "training ")
        return parts

    def _agreement(
        self, case: Case, others: Sequence[Sequence[Explanation]], prefix: str
    ) -> dict[str, NDArray[np.float64]]:
        """Agreement of the explanations of the case with others of the same texts."""
        values = np.full((len(case.docs), 2), np.nan)
        for number, explained in enumerate(zip(case.explanations, *others, strict=True)):
            pairs = [self._pairwise(case.rank, group) for group in _by_words(explained)]
            taus, overlaps = (np.concatenate([pair[kind] for pair in pairs]) for kind in (0, 1))
            values[number] = _mean(taus), _mean(overlaps)
        return {f"{prefix}kendall": values[:, 0], f"{prefix}overlap": values[:, 1]}

    def _pairwise(self, rank: str, group: Sequence[Explanation]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Tau and overlap of all pairs of explanations that have the same words."""
        scores = np.array([explanation.scores for explanation in group], np.float64)
        scores = np.abs(scores) if rank == "absolute" else scores
        return kendall(scores), overlap(scores, self.options.k)


def kendall(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kendall's tau-b of all pairs of rows of scores (E, W); NaN if a row does not vary.

    It is the cosine of two vectors that have, for all pairs of words, the sign of the difference of their scores. All
    pairs at once, much faster than `scipy.stats.kendalltau` for each.
    """
    rows, words = scores.shape
    # Differences of ranks are integers, so clipping them to -1 … 1 gives their signs, faster than `sign`.
    ranks = np.array([np.unique(row, return_inverse=True)[1] for row in scores], np.float32)
    products = np.zeros((rows, rows))
    step = max(1, MAX_CELLS // max(1, rows * words))
    for start in range(0, words, step):
        differences = ranks[:, start : start + step, None] - ranks[:, None, :]
        signs = np.clip(differences, -1, 1, out=differences).reshape(rows, -1)
        products += signs @ signs.T
    first, second = np.triu_indices(rows, 1)
    lengths = np.sqrt(products.diagonal()[first] * products.diagonal()[second])
    lengths[lengths == 0] = np.nan
    return products[first, second] / lengths


def overlap(scores: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Share of common top k words for all pairs of rows of scores (E, W); NaN without words."""
    rows, words = scores.shape
    top = np.zeros((rows, words))
    np.put_along_axis(top, np.argsort(-scores, axis=1, kind="stable")[:, :k], 1.0, axis=1)
    first, second = np.triu_indices(rows, 1)
    shares: NDArray[np.float64] = (top[first] * top[second]).sum(1) / (min(k, words) or np.nan)
    return shares


def _by_words(explained: Sequence[Explanation]) -> list[list[Explanation]]:
    """Explanations of one text, grouped by their words."""
    groups: dict[Any, list[Explanation]] = {}
    for explanation in explained:
        groups.setdefault(explanation.spans, []).append(explanation)
    return list(groups.values())


def _mean(values: NDArray[np.float64]) -> float:
    """Mean of the values that are not NaN; NaN if there are none, without numpy's warning."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")
