"""Mean over classes of the F1 score, so that a rare class weighs as much as a common one.

Family: prediction
Range: 0 to 1
Direction: higher is better
Definition: for each class F1 = 2 TP / (2 TP + FP + FN); the mean over all classes that are a true or a predicted one.
Citation: as `f1_score(average="macro")` of scikit-learn, to which a test holds it.
Limits: a class with few texts counts as much as others and varies a lot by chance; the interval shows how much.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


def macro_f1(true: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Mean over classes of the F1 score. Faster than scikit-learn's: a bootstrap computes it a thousand times."""
    classes = int(max(true.max(initial=0), predicted.max(initial=0))) + 1
    right = np.bincount(true[true == predicted], minlength=classes)
    either = np.bincount(true, minlength=classes) + np.bincount(predicted, minlength=classes)
    return float(np.mean(2 * right[either > 0] / either[either > 0])) if len(true) else 0.0


@METRICS.register("macro_f1")
class MacroF1(PredictionMetric):
    """The true and the predicted class of every text, from which the F1 scores are computed."""

    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Macro F1 of records (N, 2): the true and the predicted class."""
        true, predicted = records.astype(np.int64).T
        return macro_f1(true, predicted)

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One pair per text."""
        yield Series(np.stack([subject.labels, subject.predicted], 1).astype(np.float64))  # type: ignore[list-item]
