"""Mean probability of the predicted class.

Family: prediction
Range: 0 to 1
Direction: neither is better
Definition: the mean over texts of the highest probability that the model gives to a class. With several
    labels a text, the mean over texts and labels of p or 1 - p, whichever is higher.
Citation: Guo, Pleiss, Sun and Weinberger, On Calibration of Modern Neural Networks, ICML 2017, compare it with
    accuracy.
Limits: it says nothing of whether predictions are right. Metrics of explanations that measure drops of a probability
    grow with it: a confident model has more to lose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vmask.metrics import METRICS
from vmask.metrics.contract import ModelMetric, Series, Subject


@METRICS.register("confidence")
class Confidence(ModelMetric):
    """The highest probability of every text."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text."""
        highest = subject.probabilities
        if subject.several:
            highest = np.maximum(highest, 1 - highest).mean(1, keepdims=True)
        yield Series(highest.max(1).astype(np.float64))
