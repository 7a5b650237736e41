"""Bands of published numbers, and what is said of ours."""

from math import nan, sqrt

import numpy as np
import pytest

from reproduction.bands import (
    correlation_band,
    judge,
    judge_count,
    mean_band,
    printed_step,
    reaches,
    share_band,
    text_deviation,
)
from reproduction.results import ScoreKey
from reproduction.table import Entry
from vmask.evaluation.statistics import Estimate

BAND = (90.0, 94.0)


def ours(value, low=nan, high=nan):
    return Estimate(value, low, high, 5, "t over 5 seeds")


def test_band_of_an_accuracy_is_binomial():
    low, high = share_band(92.4, 500)
    half = 196 * sqrt(0.924 * 0.076 / 500)
    assert (low, high) == pytest.approx((92.4 - half, 92.4 + half))
    assert high - 92.4 == pytest.approx(2.32, abs=0.01)
    assert share_band(100.0, 500) == (100.0, 100.0)


def test_bands_of_the_notes_on_the_paper():
    """Half the widths that 90% would have with the paper's test sizes, rounded."""
    sizes = {25_000: 0.37, 2210: 1.25, 1821: 1.38, 38_000: 0.30, 7600: 0.67, 500: 2.63, 1000: 1.86}
    for n, half in sizes.items():
        assert round(share_band(90.0, n)[1] - 90.0, 2) == half


def test_band_of_a_mean_shrinks_with_the_root_of_n():
    assert mean_band(15.0, 20.0, 100) == pytest.approx((15 - 3.92, 15 + 3.92))
    assert mean_band(15.0, 20.0, 400) == pytest.approx((15 - 1.96, 15 + 1.96))


def test_band_of_a_correlation_is_by_fishers_z():
    low, high = correlation_band(0.5, 103)
    assert np.arctanh([low, high]) == pytest.approx(np.arctanh(0.5) + np.array([-0.196, 0.196]))
    assert high - 0.5 < 0.5 - low  # nearer to 1 there is less room


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (ours(92.0, 91.0, 93.0), "ok"),
        (ours(90.0), "ok"),  # at the ends
        (ours(94.0), "ok"),
        (ours(94.1, 94.0, 94.2), "close"),  # interval and band share their ends
        (ours(89.0, 88.0, 90.0), "close"),
        (ours(89.0, 88.1, 89.9), "off"),
        (ours(95.0, 94.1, 95.9), "off"),
        (ours(89.9), "off"),  # without an interval there is nothing to meet the band
        (ours(89.0, nan, 99.0), "off"),
        (None, "not run"),
        (ours(nan), "not run"),
    ],
)
def test_verdict_at_the_edges(estimate, verdict):
    assert judge(estimate, BAND) == verdict


def test_an_end_that_is_met_but_for_rounding_counts():
    assert judge(ours(0.1 + 0.2), (0.3, 0.3)) == "ok"
    assert judge(ours(0.4, 0.1 + 0.2, 0.5), (0.0, 0.3)) == "close"


def test_without_a_band_there_is_no_verdict():
    assert judge(ours(92.0), None) == "" == judge(None, None)


@pytest.mark.parametrize(
    ("count", "published", "step", "verdict"),
    [
        (5000, 5000, 1, "ok"),
        (10.3, 10, 1, "ok"),
        (5001, 5000, 1, "close"),
        (5250, 5000, 1, "close"),
        (5251, 5000, 1, "off"),
        (4749, 5000, 1, "off"),
        (500_400, 500_000, 1000, "ok"),
        (500_600, 500_000, 1000, "close"),
        (7649, 7600, 100, "ok"),
        (0, 0, 1, "ok"),
        (1, 0, 1, "off"),
        (None, 5, 1, "not run"),
        (nan, 5, 1, "not run"),
    ],
)
def test_counts_hold_after_the_papers_rounding(count, published, step, verdict):
    assert judge_count(count, published, step) == verdict


def test_sizes_are_in_thousands_only_where_a_split_has_ten_thousand_texts():
    assert [printed_step(n, 25_000) for n in (20_000, 5000, 25_000)] == [1000, 1000, 1000]
    assert printed_step(7600, 114_000) == 100
    assert [printed_step(n, 5000) for n in (5000, 452, 500)] == [1, 1, 1]


def test_deviation_is_over_texts_and_pooled_over_seeds():
    def record(values, by="lime"):
        return {"values": [{"metric": "aopc", "by": by, "hide": "remove", "part": "", "values": values}]}

    key = ScoreKey("aopc", "lime")
    first, second = [0.0, 0.2, None, 0.4], [0.1, 0.5]
    pooled = sqrt((np.var([0, 0.2, 0.4], ddof=1) + np.var([0.1, 0.5], ddof=1)) / 2)
    assert text_deviation([record(first), record(second)], key) == pytest.approx(pooled)
    assert text_deviation([record("01.1")], key) == pytest.approx(np.std([0, 1, 1], ddof=1))
    assert text_deviation([record(first, "shapley"), record([0.3])], key) is None


def test_side_is_told_of_what_is_off_alone():
    assert Entry(ours(95.0), 92.0, BAND, "off").side == "above"
    assert Entry(ours(89.0), 92.0, BAND, "off").side == "below"
    assert Entry(ours(93.0), 92.0, BAND, "ok").side == ""
    assert Entry(None, 92.0, BAND, "not run").side == ""


@pytest.mark.parametrize(("value", "reached"), [(89.99, False), (90.0, True), (92.0, True), (99.0, True)])
def test_reaches_asks_for_the_lower_end_alone(value, reached):
    assert reaches(Entry(ours(value), 92.0, BAND, judge(ours(value), BAND))) is reached


def test_what_was_not_run_or_has_no_band_does_not_reach():
    assert not reaches(Entry(None, 92.0, BAND, "not run"))
    assert not reaches(Entry(ours(99.0)))
