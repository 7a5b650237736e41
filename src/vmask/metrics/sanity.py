"""Whether explanations stay the same when the model's weights are random: then they do not explain the model.

Family: sanity
Range: 0 to 1
Direction: lower is better
Definition: the size of Spearman's correlation, ties averaged, between the scores of a text's words and those by the
    same method, class and seed when weights are random. Weights are randomized from the top, each part with all before
    it: `head`, the rest of the `encoder`, the `mask` network (of masks that have one), and `all` with the word vectors.
    Every tensor is replaced by normal draws with its mean and standard deviation; padding stays. No value where a text
    has fewer than three words (two are always in the same or the opposite order) or all scores of either are equal.
Citation: Adebayo, Gilmer, Muelly, Goodfellow, Hardt and Kim, Sanity Checks for Saliency Maps, NeurIPS 2018, cascading
    randomization. They go layer by layer and draw weights as at the start of training; here there are four depths, and
    the scale of every tensor stays. They show correlations with their sign and those of absolute scores; here it is the
    size, for a random head may turn every sign, and `--rank absolute` compares absolute scores. Their second check, a
    model trained on random labels, is `vmask.evaluation.shuffled_labels`.
Limits: the paper's check can be failed by a method that is right, and passed by noise (Hedström et al., A Fresh Look at
    Sanity Checks for Saliency Maps, 2024; Yona and Greenfeld, 2021). By chance it is not 0 but about 0.8 over the root
    of the number of words less one, so compare methods on the same texts. Random scores get 1: with the same seed they
    are the same for any model. Scores of a mask stay as they are until the mask itself is random. One draw of the
    weights is taken; other seeds give other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.wording import plural
from vmask.metrics import METRICS
from vmask.metrics.contract import ExplanationMetric, Subject
from vmask.metrics.frequency_correlation import pearson

if TYPE_CHECKING:
    from vmask.metrics._case import Case

FEWEST_WORDS = 3


@METRICS.register("sanity")
class Sanity(ExplanationMetric):
    """Correlation with explanations of random weights."""

    headline = "all"

    def unfit(self, subject: Subject) -> str:
        """It needs the model's weights."""
        known = hasattr(subject.predictor, "randomized")
        return "" if known else "the weights of the model are not known, so they cannot be randomized"

    def cost(self, subject: Subject) -> str:
        """How many times it explains."""
        texts, times = plural(len(subject.sample), "text"), plural(len(subject.randomized), "more time")
        return f"{self.name}: every method explains {texts} {times}, with random weights"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for every depth."""
        assert case.randomized is not None
        return {
            depth: np.array(
                [correlation(*pair) for pair in zip(case.scores, case.scores_of(explanations), strict=True)], np.float64
            )
            for depth, explanations in case.randomized().items()
        }


def correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Size of Spearman's correlation of two rows of scores (W,); NaN if it is undefined or W is below three."""
    from scipy.stats import rankdata

    if len(first) < FEWEST_WORDS:
        return float("nan")
    return abs(pearson(np.stack([rankdata(first), rankdata(second)], 1)))
