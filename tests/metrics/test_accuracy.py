"""Accuracy, by hand."""

from __future__ import annotations

import numpy as np

from vmask.metrics.accuracy import Accuracy, accuracy
from vmask.metrics.contract import Subject


def array(*values):
    return np.array(values, dtype=np.int64)


def test_accuracy_is_the_share_that_is_right():
    assert accuracy(array(0, 1, 1, 2), array(0, 1, 2, 2)) == 0.75
    assert accuracy(array(0), array(1)) == 0.0


def test_the_metric_keeps_a_value_a_text():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], np.float32)
    subject = Subject(None, ["a", "b", "c"], array(0, 1, 1), probabilities, np.arange(3))
    (series,) = Accuracy().measure(subject)
    assert series.values.tolist() == [1, 1, 0]
    assert "no labels" in Accuracy().unfit(Subject(None, ["a"], None, probabilities[:1], np.arange(1)))
