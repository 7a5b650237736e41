"""The accuracy of a model that answers only what it is surest of."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vmask.report.model.test_scores import coverages


def test_the_surest_texts_are_answered_first():
    sure = np.linspace(0.01, 1, 100)
    rows = coverages(SimpleNamespace(sure=sure, right=sure > 0.3))
    assert [row.answered for row in rows] == pytest.approx([1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5])
    assert [row.right.value for row in rows] == pytest.approx([0.7, 70 / 95, 70 / 90, 70 / 80, 1, 1, 1])
    assert rows[4].threshold == pytest.approx(0.31)
    assert all(0 <= row.right.low <= row.right.value <= row.right.high <= 1 for row in rows)


def test_texts_of_one_probability_make_one_row():
    (row,) = coverages(SimpleNamespace(sure=np.full(10, 0.8), right=np.ones(10, bool)))
    assert (row.threshold, row.answered, row.right.value) == (0.8, 1, 1)
