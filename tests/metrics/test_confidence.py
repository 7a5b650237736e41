"""Mean confidence and negative log-likelihood, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from vmask.metrics.confidence import Confidence
from vmask.metrics.contract import Facts, Subject
from vmask.metrics.nll import Nll

PROBABILITIES = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]], np.float32)


def value(metric, labels, probabilities=PROBABILITIES):
    numbers = None if labels is None else np.array(labels)
    subject = Subject(None, ["x"] * len(probabilities), numbers, probabilities, np.arange(len(probabilities)))
    assert bool(metric.unfit(subject)) == (labels is None and isinstance(metric, Nll))
    (series,) = metric.measure(subject)
    return series.values


@pytest.mark.parametrize("labels", [None, [0, 0, 0], [1, 1, 1]])
def test_confidence_is_that_of_the_predicted_class_whatever_the_truth(labels):
    assert value(Confidence(), labels) == pytest.approx([0.9, 0.6, 0.5])


def test_nll_is_that_of_scikit_learn():
    values = value(Nll(), [0, 0, 1])
    assert values == pytest.approx(-np.log([0.9, 0.4, 0.5]))
    assert values.mean() == pytest.approx(log_loss([0, 0, 1], PROBABILITIES, labels=[0, 1]), rel=1e-6)


def test_a_true_class_of_probability_0_has_the_largest_value_that_the_file_says():
    (largest,) = value(Nll(), [1], np.array([[1.0, 0.0]], np.float32))
    assert Facts.read("nll").high - 1 < largest < Facts.read("nll").high
