"""Whether the importance of words is just their frequency: correlation over word types.

Family: global
Range: -1 to 1
Direction: neither
Definition: over all word types seen in training, the correlation of a word's importance E[R] with its count there:
    Pearson's with raw counts (pearson, the paper's), Pearson's with their natural logarithm (log), and Spearman's,
    which is Pearson's of the ranks, ties averaged (spearman). No value where one of the two does not vary.
Citation: appendix F of Chen and Ji 2020, which has Pearson's.
Limits: raw counts are so skewed that a few very frequent words decide Pearson's, and near 0 does not mean unrelated:
    look at log and spearman too. Most types are rare, so the number speaks of rare words; a min_count changes it. Words
    without a pretrained vector count too, though their importance means little. The words of a language are no random
    sample, so the interval, which draws word types again (spearman: with the ranks that they have), says how much hangs
    on single words and not what other texts would give. Models of other training texts or other words do not compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics.contract import ModelMetric, Series, Subject

if TYPE_CHECKING:
    from vmask.inference.word_importance import WordImportance


def frequency_correlation(words: Sequence[WordImportance]) -> float:
    """Pearson correlation of raw training frequency and `E[R]` over word types (appendix F of the paper).

    Near 0: the mask does not simply pick frequent words. 0 if either does not vary.
    """
    correlation = pearson(np.array([(word.count, word.score) for word in words], np.float64).reshape(-1, 2))
    return 0.0 if isnan(correlation) else correlation


def pearson(pairs: NDArray[np.float64]) -> float:
    """Pearson correlation of the columns (W, 2); NaN if either does not vary."""
    columns = pairs.T.copy()  # contiguous, because a bootstrap computes this a thousand times
    if len(pairs) < 2 or (columns == columns[:, :1]).all(1).any():  # rounded deviations of equal numbers need not be 0
        return nan
    columns -= columns.mean(1, keepdims=True)
    # The steps of `np.corrcoef`, to the last bit, without its checks, which take longer than the sums.
    (first, covariance), (_, second) = (columns @ columns.T) * (1 / (len(pairs) - 1))
    return float(min(max(covariance / np.sqrt(first) / np.sqrt(second), -1.0), 1.0))


@dataclass(frozen=True)
class CorrelationOptions:
    """Options of `frequency_correlation`."""

    min_count: int = option(1, "leave out words that stand fewer times in the training texts")

    def __post_init__(self) -> None:
        check_positive(self, "min_count", minimum=1)


@METRICS.register("frequency_correlation")
class FrequencyCorrelation(ModelMetric):
    """Count and importance of every word type."""

    Options = CorrelationOptions
    headline = "pearson"
    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Correlation of records (W, 2): count and importance, transformed or not."""
        return pearson(records)

    def unfit(self, subject: Subject) -> str:
        """It needs the model's own ranking, with counts of the training texts."""
        if subject.ranks and hasattr(subject.predictor, "word_importance"):
            return ""
        return "the model gives words no importance of its own"

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One record per word type for each of the three correlations."""
        from scipy.stats import rankdata

        # In alphabetical order, so that models of the same words have the same order.
        words = sorted(subject.predictor.word_importance(self.options.min_count), key=lambda word: str(word.word))
        counts = np.array([word.count for word in words], np.float64)
        scores = np.array([word.score for word in words], np.float64)
        yield _series("pearson", counts, scores)
        yield _series("log", np.log(counts), scores)
        yield _series("spearman", rankdata(counts), rankdata(scores))


def _series(part: str, counts: NDArray[np.float64], scores: NDArray[np.float64]) -> Series:
    return Series(np.stack([counts, scores], 1), part, "mask", over="words")
