"""The thresholds of labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from vmask.training.thresholds import best_thresholds


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=12, max_size=40))
def test_no_other_threshold_has_a_higher_f1(rows):
    probabilities, labels = np.array([row[0] / 12 for row in rows]), np.array([row[1] for row in rows])
    (threshold,) = best_thresholds(probabilities[:, None], labels[:, None])
    if min(labels.sum(), (~labels).sum()) < 5:
        assert threshold == 0.5
        return
    ours = f1_score(labels, probabilities >= threshold, zero_division=0)
    middles = (np.unique(probabilities)[1:] + np.unique(probabilities)[:-1]) / 2
    assert all(ours >= f1_score(labels, probabilities >= one, zero_division=0) - 1e-12 for one in middles)


def test_of_equal_ones_the_nearest_to_a_half_then_the_higher_one():
    labels = np.array([0] * 5 + [1] * 5)
    wide = np.array([0.1] * 5 + [0.9] * 5)
    assert best_thresholds(wide[:, None], labels[:, None])[0] == 0.5
    # 0.4 and 0.6 are as good and as near: eight texts from 0.6 on, of which five have the label, or all ten from 0.4 on
    tie = np.array([0.3, 0.3, 0.5, 0.5, 0.5, 0.7, 0.7, 0.7, 0.7, 0.7])
    assert best_thresholds(tie[:, None], labels[:, None])[0] == pytest.approx(0.6)


@pytest.mark.parametrize("positives", [0, 4, 16, 20])
def test_too_few_texts_with_or_without_a_label_tell_nothing(positives):
    labels = np.arange(20) < positives
    assert best_thresholds(np.linspace(0.2, 0.1, 20)[:, None], labels[:, None])[0] == 0.5


def test_equal_probabilities_tell_nothing():
    assert best_thresholds(np.full((20, 1), 0.2), (np.arange(20) < 9)[:, None])[0] == 0.5
