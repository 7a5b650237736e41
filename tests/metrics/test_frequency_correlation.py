"""Importance of words beside their frequency."""

from __future__ import annotations

import pytest

from vmask.metrics.frequency_correlation import frequency_correlation
from vmask.predictor import WordImportance


def words(*pairs):
    return [WordImportance(f"w{i}", score, count, True) for i, (score, count) in enumerate(pairs)]


def test_the_correlation_is_pearsons():
    assert frequency_correlation(words((0.1, 1), (0.2, 2), (0.3, 3))) == pytest.approx(1)
    assert frequency_correlation(words((0.3, 1), (0.2, 2), (0.1, 3))) == pytest.approx(-1)
    assert frequency_correlation(words((0.1, 1), (0.4, 2), (0.1, 3))) == pytest.approx(0)


@pytest.mark.parametrize("given", [[], [(0.5, 3)], [(0.5, 1), (0.5, 9)], [(0.1, 4), (0.9, 4)]])
def test_it_is_0_where_nothing_varies(given):
    assert frequency_correlation(words(*given)) == 0.0
