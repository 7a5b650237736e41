"""How concentrated the scores of a text are on few of its words.

Family: global
Range: 0 to 1
Direction: neither
Definition: of the absolute scores of a text's words: their entropy as shares of their sum, by the logarithm of the
    number of words, 1 where all are equal and 0 where one word has it all (entropy); the Gini index, 0 where all W are
    equal and (W - 1) / W where one has it all (gini); the share of the sum that the 5 greatest have (top). A text
    without words, or whose scores are all 0, has none of these; a text of one word has no entropy, for it is both
    extremes at once. Of a mask also the mean of E[R] (kept) and its mean binary entropy in bits, 0 where every word is
    surely kept or surely dropped and 1 where all are open (uncertainty).
Citation: entropy: Bhatt, Weller and Moura, Evaluating and Aggregating Feature-based Model Explanations, IJCAI 2020.
    Gini: Hurley and Rickard, Comparing Measures of Sparsity, IEEE Transactions on Information Theory 2009; Chalasani et
    al., Concise Explanations of Neural Networks using Adversarial Training, ICML 2020. Uncertainty: H_q(R|x) of Chen
    and Ji 2020, by word. Why to measure it: a model that relies on fewer words is not one with better explanations,
    Edin et al., Normalized AOPC, ACL 2025.
Limits: a property and no merit: scores on the wrong word alone are as sparse as can be. It is of model and method
    together: the noise of sampled scores looks like spread, and a mask stays near its prior, so values of different
    methods do not compare, and of models only by the same method with the same options. Length matters: the greatest
    Gini index grows with it, and texts of up to k words have a top of 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics._case import Case
from vmask.metrics.contract import ExplanationMetric


@dataclass(frozen=True)
class SparsityOptions:
    """Options of `sparsity`."""

    k: int = option(5, "words with the greatest scores, of which `top` is the share")

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)


@METRICS.register("sparsity")
class Sparsity(ExplanationMetric):
    """How concentrated scores are, in several ways."""

    Options = SparsityOptions
    headline = "entropy"

    def measure(self, case: Case) -> Mapping[str, list[float]]:
        """One value per text for each part; two more parts for a mask."""
        shares = [_shares(np.abs(scores)) for scores in case.scores]
        parts = {
            "entropy": [entropy(of_text) for of_text in shares],
            "gini": [gini(of_text) for of_text in shares],
            "top": [top(of_text, self.options.k) for of_text in shares],
        }
        if all(explanation.method == "mask" for explanation in case.explanations):
            parts["kept"] = [float(scores.mean()) if len(scores) else nan for scores in case.scores]
            parts["uncertainty"] = [uncertainty(scores) for scores in case.scores]
        return parts


def entropy(shares: NDArray[np.float64]) -> float:
    """Entropy of shares (W,) that sum to 1, divided by its maximum."""
    from scipy.special import entr

    return min(float(entr(shares).sum()) / log(len(shares)), 1.0) if len(shares) > 1 else nan


def gini(shares: NDArray[np.float64]) -> float:
    """Gini index of shares (W,) that sum to 1."""
    words = len(shares)
    if not words:
        return nan
    # Half the mean distance of all pairs over the mean; in ascending order each share has this coefficient.
    times = 2 * np.arange(1, words + 1) - words - 1
    return max(float(np.sort(shares) @ times) / words, 0.0)


def top(shares: NDArray[np.float64], k: int) -> float:
    """Sum of the k largest of shares (W,)."""
    return min(float(np.sort(shares)[-k:].sum()), 1.0) if len(shares) else nan


def uncertainty(kept: NDArray[np.float64]) -> float:
    """Mean binary entropy, in bits, of probabilities (W,)."""
    from scipy.special import entr

    return min(float((entr(kept) + entr(1 - kept)).mean()) / log(2), 1.0) if len(kept) else nan


def _shares(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(W,) each divided by their sum; empty if that is 0."""
    total = strengths.sum()
    return strengths / total if total else strengths[:0]
