"""Share of texts whose class is right.

Family: prediction
Range: 0 to 1
Direction: higher is better
Definition: the mean over texts of 1 where the predicted class is the true one, else 0. With several labels a text: 1
    where exactly its labels are predicted, none more and none less, as `accuracy_score` of scikit-learn (subset
    accuracy).
Citation: as in the accuracy tables of Chen and Ji 2020.
Limits: on skewed labels a model that always predicts the most common one scores high; its macro_f1 is low.
    With several labels a text it is strict, the more so the more labels there are: read micro_f1 and macro_f1 first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


def accuracy(true: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Share of texts whose class (N,) is right, or all of whose labels (N, C) are."""
    return float(np.mean(right(true, predicted)))


def right(true: NDArray[Any], predicted: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) whether the class of each text is right, or with labels (N, C) whether all of them are."""
    same = np.equal(true, predicted)
    whole: NDArray[np.bool_] = same.all(axis=tuple(range(1, same.ndim)))
    return whole


@METRICS.register("accuracy")
class Accuracy(PredictionMetric):
    """1 where the predicted class is right, else 0."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text."""
        assert subject.labels is not None
        yield Series(right(subject.labels, subject.predicted).astype(np.float64))
