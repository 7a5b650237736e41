"""How far the model's probabilities are from the truth: expected calibration error.

Family: prediction
Range: 0 to 1
Direction: lower is better
Definition: texts are sorted into bins of equal width by the probability of their predicted class. The error is the mean
    over bins, weighed by their texts, of the distance between mean probability and share of right predictions.
    With several labels a text each label of each text is sorted by its probability, and compared with the share of
    texts that have the label.
Citation: Guo, Pleiss, Sun and Weinberger, On Calibration of Modern Neural Networks, ICML 2017 (15 bins).
Limits: it is biased upwards, most where texts are few; the interval corrects for that and can lie lower than the value.
    It depends on the number of bins. A model that predicts the base rate for every text is calibrated and useless.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


@dataclass(frozen=True)
class CalibrationOptions:
    """Options of `calibration_error`."""

    bins: int = option(15, "bins of equal width")

    def __post_init__(self) -> None:
        check_positive(self, "bins", minimum=1)


@METRICS.register("calibration_error")
class CalibrationError(PredictionMetric):
    """Bin, probability and truth of every prediction."""

    Options = CalibrationOptions
    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Error of records (N, 3): number of the bin, probability of the predicted class, whether that is right.

        With several labels a text (N, 3 C): number of the bin, probability, whether the text has the label.
        """
        records = records.reshape(-1, 3)
        numbers = records[:, 0].astype(np.int64)
        gaps = np.bincount(numbers, weights=records[:, 1] - records[:, 2])
        return float(np.abs(gaps).sum() / len(records)) if len(records) else float("nan")

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One record per text."""
        assert subject.labels is not None
        records = calibration_records(subject.probabilities, right_of(subject), self.options.bins)
        yield Series(records.reshape(len(records), -1))


def right_of(subject: Subject) -> NDArray[np.bool_]:
    """(N,) whether each prediction is right; with several labels a text (N, C) whether it has each label."""
    assert subject.labels is not None
    return subject.labels if subject.several else np.equal(subject.labels, subject.predicted)


def calibration_records(
    probabilities: NDArray[np.float32], right: NDArray[np.bool_], bins: int = CalibrationOptions.bins
) -> NDArray[np.float64]:
    """(N, 3) number of the bin, probability of the predicted class, and whether that is right.

    Args:
        probabilities: (N, C).
        right: (N,) whether each prediction is right; or (N, C) of each label, and the records are (N, C, 3).
        bins: number of bins of equal width.
    """
    confidence = probabilities.astype(np.float64)
    if right.ndim == 1:
        confidence = confidence.max(1)
    numbers = np.clip(np.ceil(confidence * bins) - 1, 0, bins - 1)
    return np.stack([numbers, confidence, right], -1).astype(np.float64)
