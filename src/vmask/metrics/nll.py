"""Negative log-likelihood of the true class, in nats.

Family: prediction
Range: 0 to 104
Direction: lower is better
Definition: the mean over texts of -log p, p being the probability of the true class, at least the smallest number of
    float32 (1.4e-45). With several labels a text, the mean over labels of -log p where the text has the label and of
    -log(1 - p) where it has not.
Citation: Good, Rational Decisions, 1952 (the logarithmic score); it is the cross-entropy that training lowers.
Limits: a single sure and wrong prediction can outweigh many right ones. It mixes accuracy with calibration.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


@METRICS.register("nll")
class Nll(PredictionMetric):
    """The loss of every text."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text."""
        assert subject.labels is not None
        losses = label_losses if subject.several else negative_log_likelihoods
        yield Series(losses(subject.probabilities, subject.labels))


def negative_log_likelihoods(probabilities: NDArray[np.float32], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(N,) loss of every text, from probabilities (N, C) and the true classes (N,)."""
    of_truth = probabilities[np.arange(len(classes)), classes].astype(np.float64)
    losses: NDArray[np.float64] = -np.log(np.maximum(of_truth, np.finfo(np.float32).smallest_subnormal))
    return losses


def label_losses(probabilities: NDArray[np.float32], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(N,) mean over labels of the loss of every text, from probabilities (N, C) and its labels (N, C)."""
    of_truth = np.where(labels, probabilities, 1 - probabilities.astype(np.float64))
    losses: NDArray[np.float64] = -np.log(np.maximum(of_truth, np.finfo(np.float32).smallest_subnormal)).mean(1)
    return losses
