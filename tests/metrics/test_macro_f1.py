"""Macro F1, by hand and as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.metrics.contract import Subject
from vmask.metrics.macro_f1 import MacroF1, macro_f1


def array(*values):
    return np.array(values, dtype=np.int64)


def test_it_weighs_classes_alike():
    # class 0: 3 of 3 found, 1 too many: F1 = 6/7; class 1: never found: 0
    assert macro_f1(array(0, 0, 0, 1), array(0, 0, 0, 0)) == pytest.approx(3 / 7)


def test_of_one_class_that_is_right_it_is_one():
    assert macro_f1(array(1, 1), array(1, 1)) == 1.0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_it_is_that_of_scikit_learn(pairs):
    from sklearn.metrics import f1_score

    true, predicted = np.array(pairs, np.int64).T
    expected = f1_score(true, predicted, average="macro", zero_division=0.0)
    assert macro_f1(true, predicted) == pytest.approx(expected)


def test_the_metric_keeps_a_pair_a_text():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], np.float32)
    subject = Subject(None, ["a", "b", "c", "d"], array(0, 1, 1, 0), probabilities, np.arange(4))
    (series,) = MacroF1().measure(subject)
    assert series.values.tolist() == [[0, 0], [1, 1], [1, 0], [0, 0]]
    # class 0: F1 = 4/5; class 1: F1 = 2/3
    assert MacroF1().statistic(series.values) == pytest.approx((4 / 5 + 2 / 3) / 2)
