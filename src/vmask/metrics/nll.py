"""Negative log-likelihood of the true class, in nats.

Family: prediction
Range: 0 to 104
Direction: lower is better
Definition: the mean over texts of -log p, p being the probability of the true class, at least the smallest number of
    float32 (1.4e-45).
Citation: Good, Rational Decisions, 1952 (the logarithmic score); it is the cross-entropy that training lowers.
Limits: a single sure and wrong prediction can outweigh many right ones. It mixes accuracy with calibration.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


@METRICS.register("nll")
class Nll(PredictionMetric):
    """The loss of every text."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text."""
        assert subject.labels is not None
        of_truth = subject.probabilities[np.arange(len(subject.labels)), subject.labels].astype(np.float64)
        yield Series(-np.log(np.maximum(of_truth, np.finfo(np.float32).smallest_subnormal)))
