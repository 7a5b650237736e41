"""Expected calibration error, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.errors import ConfigError
from vmask.metrics.calibration_error import CalibrationError, CalibrationOptions
from vmask.metrics.contract import Subject


def error(sure, right, bins=15):
    """The error of predictions of class 0 with these probabilities, of which some are right."""
    probabilities = np.array([[p, 1 - p] for p in sure], np.float64)
    labels = np.array([0 if one else 1 for one in right], np.int64)
    subject = Subject(None, ["x"] * len(sure), labels, probabilities, np.arange(len(sure)))
    metric = CalibrationError(CalibrationOptions(bins=bins))
    (series,) = metric.measure(subject)
    return metric.statistic(series.values)


def test_a_sure_and_right_model_has_none():
    assert error([1.0, 1.0, 1.0], [True, True, True]) == 0


def test_a_sure_and_wrong_model_has_all_of_it():
    assert error([1.0, 1.0], [False, False]) == 1


def test_bins_are_weighed_by_their_texts():
    # bin (0.5, 0.6]: mean 0.55, 1 of 2 right: gap 0.05; bin (0.9, 1]: mean 0.95, 4 of 4 right: gap 0.05
    # bin (0.7, 0.8]: 0.75, 0 of 1 right: gap 0.75
    sure = [0.55, 0.55, 0.95, 0.95, 0.95, 0.95, 0.75]
    right = [True, False, True, True, True, True, False]
    assert error(sure, right, bins=10) == pytest.approx((2 * 0.05 + 4 * 0.05 + 0.75) / 7)


def test_one_bin_compares_the_means():
    assert error([0.6, 0.9, 0.8], [True, False, True], bins=1) == pytest.approx(abs(2.3 - 2) / 3)


def test_the_edge_of_a_bin_belongs_to_the_lower_one():
    # 0.6 stands with 0.55 in (0.5, 0.6]; apart they would have gaps of 0.45 and 0.6
    assert error([0.55, 0.6], [True, False], bins=10) == pytest.approx(abs(1.15 - 1) / 2)


@given(st.lists(st.tuples(st.floats(0.5001, 1), st.booleans()), min_size=1, max_size=30), st.integers(1, 20))
def test_it_is_between_0_and_1_and_no_less_than_with_one_bin(rows, bins):
    sure, right = zip(*rows, strict=True)
    assert 0 <= error(sure, right, 1) <= error(sure, right, bins) + 1e-9 <= 1 + 2e-9


def test_a_number_of_bins_that_cannot_work_is_refused():
    with pytest.raises(ConfigError, match="bins"):
        CalibrationOptions(bins=0)
