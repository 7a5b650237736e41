"""Mean over classes of the F1 score, so that a rare class weighs as much as a common one.

Family: prediction
Range: 0 to 1
Direction: higher is better
Definition: for each class F1 = 2 TP / (2 TP + FP + FN); the mean over all classes that are a true or a predicted one.
    With several labels a text each label is such a class.
Citation: as `f1_score(average="macro")` of scikit-learn, to which a test holds it.
Limits: a class with few texts counts as much as others and varies a lot by chance; the interval shows how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


def macro_f1(true: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Mean over classes (N,), or labels (N, C), of the F1 score.

    Faster than scikit-learn's: a bootstrap computes it a thousand times.
    """
    if true.ndim == 2:
        hits, total = (true & predicted).sum(0), true.sum(0) + predicted.sum(0)
        return float(np.mean(2 * hits[total > 0] / total[total > 0])) if total.any() else 0.0
    classes = int(max(true.max(initial=0), predicted.max(initial=0))) + 1
    right = np.bincount(true[true == predicted], minlength=classes)
    either = np.bincount(true, minlength=classes) + np.bincount(predicted, minlength=classes)
    return float(np.mean(2 * right[either > 0] / either[either > 0])) if len(true) else 0.0


@METRICS.register("macro_f1")
class MacroF1(PredictionMetric):
    """The true and the predicted class of every text, from which the F1 scores are computed."""

    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Macro F1 of records (N, 2): the true and the predicted class; or (N, 2 C): of each label whether it is."""
        if records.shape[1] > 2:
            true, predicted = np.split(records > 0, 2, 1)
        else:
            true, predicted = records.astype(np.int64).T
        return macro_f1(true, predicted)

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One record per text."""
        assert subject.labels is not None
        join = np.concatenate if subject.several else np.stack
        yield Series(join([subject.labels, subject.predicted], 1).astype(np.float64))
