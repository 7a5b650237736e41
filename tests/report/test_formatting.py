"""Numbers and colours as pages show them."""

from __future__ import annotations

from math import nan

import pytest

from vmask.evaluation.statistics import Estimate
from vmask.explain.contract import Explanation
from vmask.report.formatting import STEPS, has_interval, percent, percent_interval, plural, score, shade, shades


def test_what_could_not_be_computed_is_a_dash_and_has_no_interval():
    assert percent(nan) == "–"
    assert percent_interval(Estimate(0.5, nan, nan, 1, "")) == ""
    assert not has_interval(None)
    assert not has_interval(Estimate(0.5, nan, nan, 1, ""))
    assert has_interval(Estimate(0.5, 0.2, 0.8, 9, ""))


@pytest.mark.parametrize(("count", "shown"), [(0, "0 texts"), (1, "1 text"), (2, "2 texts"), (1000, "1,000 texts")])
def test_one_is_singular(count, shown):
    assert plural(count, "text") == shown


def test_every_shade_has_its_style():
    names = {shade(step / STEPS) for step in range(-STEPS, STEPS + 1)} - {""}
    assert len(names) == 2 * STEPS
    assert all(shades().count(f".{name}{{background:") == 1 for name in names)


def test_scores_have_a_sign_where_the_method_has():
    def explanation(signed):
        return Explanation("a", ("a",), ((0, 1),), (0.25,), "pos", 0.9, "lime", signed=signed)

    assert score(0.25, explanation(True)) == "+0.250"
    assert score(0.25, explanation(False), 2) == "0.25"
