"""Temperatures and the second softmax."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.errors import DataError
from vmask.metrics._temperature import second_softmax, temperature_for, tempered


def probabilities_of(logits):
    powers = np.exp(np.asarray(logits, np.float64))
    return powers / powers.sum(-1, keepdims=True)


LOGITS = np.random.default_rng(3).normal(0, 2, (200, 4))


@given(st.floats(0.2, 20))
def test_a_temperature_divides_the_logits(temperature):
    np.testing.assert_allclose(
        tempered(probabilities_of(LOGITS), temperature), probabilities_of(LOGITS / temperature), atol=1e-12
    )


def test_a_probability_of_0_stays_finite():
    assert tempered(np.array([[1.0, 0.0]]), 2.0) == pytest.approx(np.array([[1.0, 0.0]]), abs=1e-12)


@pytest.mark.parametrize(("classes", "largest"), [(2, 0.462), (4, 0.300), (5, 0.256), (6, 0.223)])
def test_a_second_softmax_bounds_the_drop(classes, largest):
    sure, opposite = np.eye(classes)[:2]
    drop = second_softmax(sure)[0] - second_softmax(opposite)[0]
    assert drop == pytest.approx((np.e - 1) / (np.e + classes - 1))
    assert drop == pytest.approx(largest, abs=5e-4)


@given(st.floats(0.3, 0.99))
def test_the_temperature_gives_the_confidence_that_is_asked_for(confidence):
    found = temperature_for(probabilities_of(LOGITS), confidence)
    assert tempered(probabilities_of(LOGITS), found).max(1).mean() == pytest.approx(confidence, abs=1e-8)


def test_the_confidence_that_there_is_needs_none():
    probabilities = probabilities_of(LOGITS)
    assert temperature_for(probabilities, probabilities.max(1).mean()) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("confidence", [0.1, 1.1])
def test_a_confidence_that_no_temperature_gives(confidence):
    with pytest.raises(DataError, match="mean confidence of"):
        temperature_for(probabilities_of(LOGITS), confidence)
