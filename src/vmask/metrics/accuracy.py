"""Share of texts whose class is right.

Family: prediction
Range: 0 to 1
Direction: higher is better
Definition: the mean over texts of 1 where the predicted class is the true one, else 0.
Citation: as in the accuracy tables of Chen and Ji 2020.
Limits: on skewed labels a model that always predicts the most common one scores high; its macro_f1 is low.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


def accuracy(true: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Share of texts whose class is right."""
    return float(np.mean(true == predicted))


@METRICS.register("accuracy")
class Accuracy(PredictionMetric):
    """1 where the predicted class is right, else 0."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text."""
        assert subject.labels is not None
        yield Series((subject.labels == subject.predicted).astype(np.float64))
