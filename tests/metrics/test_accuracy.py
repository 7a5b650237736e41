"""Accuracy and macro F1, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vmask.metrics.accuracy import accuracy
from vmask.metrics.macro_f1 import macro_f1


def array(*values):
    return np.array(values, dtype=np.int64)


def test_accuracy_is_the_share_that_is_right():
    assert accuracy(array(0, 1, 1, 2), array(0, 1, 2, 2)) == 0.75
    assert accuracy(array(0), array(1)) == 0.0


def test_macro_f1_weighs_classes_alike():
    # class 0: 3 of 3 found, 1 too many: F1 = 6/7; class 1: never found: 0
    assert macro_f1(array(0, 0, 0, 1), array(0, 0, 0, 0)) == pytest.approx(3 / 7)


def test_macro_f1_of_one_class_that_is_right_is_one():
    assert macro_f1(array(1, 1), array(1, 1)) == 1.0
