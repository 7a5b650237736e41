"""From probabilities to labels."""

from __future__ import annotations

import numpy as np

from vmask.inference.decisions import decided, leading, predicted_labels

ROWS = np.array([[0.5, 0.2, 0.1], [0.45, 0.45, 0.01], [0.1, 0.1, 0.1]], np.float32)
THRESHOLDS = np.array([0.5, 0.1, 0.6])


def test_one_label_is_the_most_probable_one():
    assert leading(ROWS).tolist() == [0, 0, 0]


def test_several_lead_by_their_odds_over_those_of_the_threshold():
    assert leading(ROWS, THRESHOLDS).tolist() == [1, 1, 1]
    assert leading(ROWS, np.array([0.1, 0.4, 0.5])).tolist() == [0, 0, 0]
    assert leading(np.array([[0.0, 1.0], [1.0, 1.0]], np.float32), np.array([0.0, 0.5])).tolist() == [1, 0]


def test_a_threshold_is_reached_by_what_equals_it():
    assert decided(ROWS, THRESHOLDS).tolist() == [[True, True, False], [False, True, False], [False, True, False]]
    assert predicted_labels(ROWS[0], ["a", "b", "c"], THRESHOLDS) == ("a", "b")
    assert predicted_labels(ROWS[2], ["a", "b", "c"], np.full(3, 0.5)) == ()
