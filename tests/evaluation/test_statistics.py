"""Intervals and tests: by hand, beside scipy, and by simulation whether they keep what they promise."""

from __future__ import annotations

from math import comb, isnan, nan, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thoroughness import examples
from vmask.evaluation import _resampling
from vmask.evaluation.statistics import (
    holm,
    mean_interval,
    paired_difference,
    paired_seeds_difference,
    paired_statistic_difference,
    seeds_and_examples_interval,
    seeds_difference,
    seeds_interval,
    statistic_interval,
)

SKEWED = np.random.default_rng(7).exponential(size=60)
SOME = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=30).map(np.array)
PAIRS = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=2, max_size=30).map(
    lambda pairs: np.array(pairs, float).T
)


def ends(result):
    return result.low, result.high


def median(records):
    return float(np.median(records))


def macro_f1(records):
    """Of labels and predictions (N, 2)."""
    label, predicted = records.T
    scores = []
    for one in range(3):
        both = ((label == one) & (predicted == one)).sum()
        scores.append(2 * both / max(1, (label == one).sum() + (predicted == one).sum()))
    return float(np.mean(scores))


def labels_and_predictions(rng, n, right=0.8):
    label = rng.integers(0, 3, n)
    return np.stack([label, np.where(rng.random(n) < right, label, rng.integers(0, 3, n))], 1)


# Means over examples


def test_wilson_by_hand():
    found = mean_interval(np.repeat([1, 0], [9, 1]))
    # Newcombe's (1998) method 3: 1.96 ^ 2 = 3.84146.
    middle, half = 0.9 + 3.84146 / 20, 1.95996 * sqrt(0.9 * 0.1 / 10 + 3.84146 / 400)
    assert ends(found) == pytest.approx(((middle - half) / 1.384146, (middle + half) / 1.384146), abs=1e-5)
    assert ends(found) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert (found.value, found.n) == (0.9, 10)
    assert found.how == "Wilson's score interval over 10 examples"


@pytest.mark.parametrize(("hits", "n", "confidence"), [(0, 50, 0.95), (50, 50, 0.95), (7, 25, 0.9), (930, 1000, 0.99)])
def test_wilson_beside_scipy(hits, n, confidence):
    expected = stats.binomtest(hits, n).proportion_ci(confidence, "wilson")
    found = mean_interval(np.repeat([True, False], [hits, n - hits]), confidence=confidence)
    assert ends(found) == pytest.approx(tuple(expected), abs=1e-12)
    assert found.low <= found.value <= found.high


def test_bca_beside_scipy(monkeypatch):
    def widened(n, confidence):
        """The confidence at which an interval that is not expanded is as wide as ours."""
        return 1 - 2 * stats.norm.cdf(sqrt(n / (n - 1)) * stats.t.ppf((1 - confidence) / 2, n - 1))

    found = mean_interval(SKEWED, resamples=40_000)
    expected = stats.bootstrap(
        (SKEWED,),
        np.mean,
        method="BCa",
        n_resamples=40_000,
        random_state=np.random.default_rng(1),
        confidence_level=widened(60, 0.95),
    ).confidence_interval
    assert ends(found) == pytest.approx(tuple(expected), abs=0.006)
    # Parts of the method would be seen in it: without them an end moves by more than that.
    assert found.value == pytest.approx(SKEWED.mean())
    assert found.how == "bootstrap over 60 examples (BCa)"
    monkeypatch.setattr(_resampling, "MAX_BIAS", 0.0)
    assert np.abs(np.subtract(ends(mean_interval(SKEWED, resamples=40_000)), expected)).max() > 0.006


def test_ends_by_hand():
    """Of draws that are the quantiles of a normal distribution around 0.1, with an acceleration."""
    draws = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000) + 0.1
    z0, t = stats.norm.ppf(stats.norm.cdf(-0.1)), stats.t.ppf(0.975, 9) * sqrt(10 / 9)
    expected = [0.1 + z0 + (z0 + z) / (1 - 0.05 * (z0 + z)) for z in (-t, t)]
    assert _resampling.bca_ends(draws, 10, 0.95, 0.05) == pytest.approx(expected, abs=2e-3)


def test_ties_are_half_below():
    draws = np.repeat([-1.0, 0.0, 1.0], [200, 600, 200])
    assert _resampling.bca_ends(draws, 1000, 0.5) == (0.0, 0.0)
    assert _resampling.bca_ends(draws, 1000, 0.8) == (-1.0, 1.0)


def test_a_heavy_bias_is_not_corrected_until_no_width_is_left():
    low, high = _resampling.bca_ends(np.linspace(1.0, 2.0, 1000), 1000, 0.95)
    assert high - low > 0.5


def test_few_examples_get_no_narrower_interval_than_t():
    """Normal scores: the bootstrap without expansion would be narrower by sqrt(4 / 5) and by t against z."""
    values = stats.norm.ppf((np.arange(5) + 0.5) / 5)
    found, t = mean_interval(values, resamples=20_000), seeds_interval(values)
    assert 0.75 < (found.high - found.low) / (t.high - t.low) < 1.1


def test_very_high_confidence_in_few_skewed_values_has_ends():
    low, high = ends(mean_interval(np.array([0.0, 0.0, 3.0]), confidence=0.9999))
    assert (low, high) == pytest.approx((0.0, 3.0))


def test_examples_without_a_value_do_not_count():
    with_gaps = np.insert(SKEWED, [0, 10, 60], nan)
    assert mean_interval(with_gaps) == mean_interval(SKEWED)
    assert mean_interval(with_gaps).n == 60


@pytest.mark.parametrize("values", [[], [nan, nan]])
def test_no_values_have_no_mean(values):
    found = mean_interval(np.array(values))
    assert found.n == 0
    assert isnan(found.value)
    assert all(map(isnan, ends(found)))


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
def test_one_value_has_no_interval(value):
    found = mean_interval(np.array([value]))
    assert (found.value, found.n) == (value, 1)
    assert all(map(isnan, ends(found)))


def test_values_that_are_all_the_same_have_an_interval_without_width():
    found = mean_interval(np.full(10, 0.1))
    assert (found.value, found.low, found.high) == (0.1, 0.1, 0.1)


def test_a_table_is_no_list_of_values():
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        mean_interval(np.zeros((2, 3)))


@given(SOME, st.floats(-50, 50), st.floats(0.01, 100), st.sampled_from([1, -1]))
@settings(max_examples=examples(50))
def test_an_interval_moves_and_grows_with_its_values(values, shift, scale, sign):
    values = values + 200.5  # not 0 or 1
    low, high = ends(mean_interval(values, resamples=200))
    found = mean_interval(sign * scale * values + shift, resamples=200)
    assert ends(found) == pytest.approx(
        sorted((sign * scale * low + shift, sign * scale * high + shift)), rel=1e-9, abs=1e-6
    )
    assert found.low <= found.value + 1e-9
    assert found.value <= found.high + 1e-9


def test_tiny_values_are_no_less_skewed():
    expected = np.array(ends(mean_interval(SKEWED)))
    assert np.array(ends(mean_interval(SKEWED * 1e-200))) * 1e200 == pytest.approx(expected)


def test_more_confidence_is_wider():
    widths = [np.ptp(ends(mean_interval(SKEWED, confidence=confidence))) for confidence in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_order_and_seed_matter_little():
    found = mean_interval(SKEWED)
    assert mean_interval(SKEWED) == found
    for other in (mean_interval(SKEWED[::-1]), mean_interval(SKEWED, seed=1)):
        assert other != found
        assert ends(other) == pytest.approx(ends(found), abs=0.1 * (found.high - found.low))


@pytest.mark.parametrize("cells", [1, 61, 1000, 10**7])
def test_how_much_is_drawn_at_a_time_changes_nothing(monkeypatch, cells):
    other = SKEWED[::-1] * 0.9
    calls = (
        lambda: mean_interval(SKEWED[:59], resamples=201),
        lambda: statistic_interval(SKEWED[:59], median, resamples=101),
        lambda: paired_difference(SKEWED[:59], other[:59], resamples=101, permutations=301),
        lambda: paired_statistic_difference(SKEWED[:59], other[:59], median, resamples=51, permutations=51),
    )
    expected = [call() for call in calls]
    monkeypatch.setattr(_resampling, "MAX_CELLS", cells)
    assert [call() for call in calls] == expected


def test_many_examples_are_not_drawn_all_at_once():
    largest = max(rows.size for rows in _resampling.resample(25_000, 30, 0))
    assert largest <= _resampling.MAX_CELLS
    assert sum(len(rows) for rows in _resampling.resample(25_000, 30, 0)) == 30
    assert max(coins.size for coins in _resampling.flip_coins(25_000, 30, 0)) <= _resampling.MAX_CELLS


# Other statistics over examples


def test_a_statistic_that_is_a_mean_has_about_the_interval_of_one():
    values = np.random.default_rng(0).normal(size=200)  # without skew the acceleration is small
    found = statistic_interval(values, lambda records: float(records.mean()), resamples=2000)
    assert found.value == values.mean()
    assert ends(found) == pytest.approx(ends(mean_interval(values)), abs=0.01)
    assert found.how == "bootstrap over 200 examples (bias-corrected)"


def test_resamples_without_a_value_are_left_out():
    records = np.arange(10.0)
    found = statistic_interval(records, lambda r: float(r.mean()) if 0 in r else nan, resamples=500)
    assert 0 < found.low < found.value < found.high < 9
    left_out = 500 * 0.9**10
    number = int(found.how.split(", ")[1].split()[0])
    assert number == pytest.approx(left_out, abs=60)
    assert found.how.endswith(f"{number} of 500 resamples left out")
    calls = iter([1.0])
    assert all(map(isnan, ends(statistic_interval(records, lambda _: next(calls, nan), resamples=5))))


def test_a_statistic_without_a_value_has_no_interval():
    for records in (np.zeros((0, 2)), np.ones((3, 2))):
        found = statistic_interval(records, lambda _: nan)
        assert found.n == len(records)
        assert isnan(found.value)
        assert all(map(isnan, ends(found)))
    assert all(map(isnan, ends(statistic_interval(np.ones(1), median))))


# Seeds


def test_t_over_seeds_by_hand():
    found = seeds_interval([0.80, 0.82, 0.84, 0.86, 0.88])
    half = 2.776445 * sqrt(0.004 / 4) / sqrt(5)  # t(0.975, 4); squares sum to 0.004
    assert (found.value, *ends(found)) == pytest.approx((0.84, 0.84 - half, 0.84 + half))
    assert (found.n, found.how) == (5, "t over 5 seeds")
    assert seeds_interval([nan, 0.80, 0.82, 0.84, nan, 0.86, 0.88]) == found


@pytest.mark.parametrize("means", [[], [0.9]])
def test_one_seed_has_no_interval(means):
    found = seeds_interval(means)
    assert found.n == len(means)
    assert isnan(found.value) == (not means)
    assert all(map(isnan, ends(found)))


def test_two_way_by_hand():
    """Seeds differ by 2, examples by 4, and a residual of 1 each."""
    found = seeds_and_examples_interval(np.array([[0.0, 6.0], [4.0, 6.0]]))
    # Means by seed 3, 5; by example 2, 6; residuals -+1: mean squares 4, 16, 4 with one degree of freedom each.
    total, df = 4 + 16 - 4, 16**2 / (4**2 + 16**2 + 4**2)
    half = stats.t.ppf(0.975, df) * sqrt(total / 4)
    assert (found.value, *ends(found)) == pytest.approx((4.0, 4 - half, 4 + half))
    assert (found.n, found.how) == (2, "t over 2 seeds and 2 examples")


def test_two_way_never_falls_below_one_way():
    """All is residual: the difference of mean squares would be negative."""
    table = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.3]])
    by_seed = table.mean(1)
    found = seeds_and_examples_interval(table)
    assert found.high - found.value > 1.96 * by_seed.std(ddof=1) / sqrt(3)


def test_two_way_leaves_out_examples_that_a_seed_lacks():
    table = np.random.default_rng(0).normal(size=(3, 10))
    gaps = np.insert(table, [2, 5], nan, axis=1)
    gaps[0, 2] = 0.5
    assert seeds_and_examples_interval(gaps) == seeds_and_examples_interval(table)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (3, 0)])
def test_two_way_needs_two_of_each(shape):
    found = seeds_and_examples_interval(np.ones(shape))
    assert found.n == shape[1]
    assert isnan(found.value) == (0 in shape)
    assert all(map(isnan, ends(found)))


def test_two_way_without_variation_has_no_width():
    assert ends(seeds_and_examples_interval(np.full((3, 4), 0.5))) == (0.5, 0.5)


def test_welch_beside_scipy():
    a, b = [0.91, 0.88, 0.90, 0.93, 0.89], [0.85, 0.70, 0.95]
    found, expected = seeds_difference(a, b), stats.ttest_ind(a, b, equal_var=False)
    assert found.value == pytest.approx(np.mean(a) - np.mean(b))
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert ends(found) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-9)
    assert ends(seeds_difference(a, b, 0.8)) == pytest.approx(tuple(expected.confidence_interval(0.8)), rel=1e-9)
    assert (found.n, found.how) == (8, "Welch's t over 5 and 3 seeds")
    assert isnan(found.p_bootstrap)
    swapped = seeds_difference(b, a)
    assert (swapped.value, *ends(swapped), swapped.p) == pytest.approx((-found.value, -found.high, -found.low, found.p))


def test_paired_seeds_beside_scipy():
    a, b = [0.91, 0.88, 0.90, 0.93, nan], [0.85, 0.87, 0.88, 0.95, 0.9]
    found, expected = paired_seeds_difference(a, b), stats.ttest_rel(a[:4], b[:4])
    assert found.value == pytest.approx(np.mean(a[:4]) - np.mean(b[:4]))
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert ends(found) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-9)
    assert (found.n, found.how) == (4, "paired t over 4 seeds")


def test_paired_seeds_without_variation_or_enough_pairs():
    same, other = paired_seeds_difference([0.1, 0.2], [0.1, 0.2]), paired_seeds_difference([0.3, 0.4], [0.1, 0.2])
    assert (*ends(same), same.p) == (0, 0, 1)
    assert ends(other) == pytest.approx((0.2, 0.2))
    assert isnan(other.p)
    single = paired_seeds_difference([0.9], [0.7])
    assert single.value == pytest.approx(0.2)
    assert all(map(isnan, (*ends(single), single.p)))
    assert isnan(paired_seeds_difference([], []).value)


def test_welch_without_variation_or_enough_seeds():
    same, other = seeds_difference([0.1] * 3, [0.1] * 3), seeds_difference([0.1] * 3, [0.2] * 3)
    assert (*ends(same), same.p) == (0, 0, 1)
    assert ends(other) == (-0.1, -0.1)
    assert isnan(other.p)
    for a, b in (([0.9], [0.8, 0.7]), ([0.9, nan], [0.8, 0.7])):
        found = seeds_difference(a, b)
        assert (found.value, found.n) == (pytest.approx(0.15), 3)
        assert all(map(isnan, (*ends(found), found.p)))
    assert isnan(seeds_difference([], [0.5]).value)


# Pairs


def test_exact_signs_by_hand():
    found = paired_difference(np.array([1.0, 0, 4, 3]), np.array([0.0, 2, 0, 3]))
    assert found.value == pytest.approx(0.75)
    # Differences 1, -2, 4 and 0 sum to 3; of their 8 sign patterns only those with sums of -+1 are nearer to 0.
    assert found.p == 6 / 8
    assert paired_difference(np.array([1.0, 2, 4]), np.zeros(3)).p == 2 / 8


@pytest.mark.parametrize("n", [6, 12])
def test_exact_signs_beside_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.4, 1, n), rng.normal(size=n)
    expected = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert paired_difference(a, b).p == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(15, 4), (30, 18), (9, 9)])
def test_random_signs_come_near_the_exact_answer(wins, losses):
    """Equal differences make it a sign test, whose answer is binomial; ties count."""
    differences = 0.1 * np.repeat([1.0, -1.0, 0.0], [wins, losses, 50])
    exact = min(1.0, 2 * sum(comb(wins + losses, k) for k in range(losses + 1)) / 2 ** (wins + losses))
    found = paired_difference(differences, np.zeros_like(differences))
    assert found.p == pytest.approx(exact, abs=4 * sqrt(exact / 9999) + 1e-4)


def test_p_is_never_0():
    found = paired_difference(np.ones(40) + SKEWED[:40], np.zeros(40), permutations=99, resamples=199)
    assert found.p == 1 / 100
    assert found.p_bootstrap == 2 / 200
    swapped = paired_statistic_difference(np.arange(40) + 99.0, np.arange(40.0), median, permutations=99, resamples=9)
    assert swapped.p == 1 / 100


def test_a_paired_interval_is_that_of_the_differences():
    a, b = SKEWED, SKEWED[::-1]
    found, expected = paired_difference(a, b), mean_interval(a - b)
    assert (found.value, *ends(found), found.n) == (expected.value, *ends(expected), expected.n)
    assert found.how == "bootstrap over 60 pairs (BCa), sign-flip test"


def test_p_of_the_paired_bootstrap():
    """About that of a z test where the differences are many and normal."""
    differences = stats.norm.ppf((np.arange(400) + 0.5) / 400) + 0.08
    found = paired_difference(differences, np.zeros(400), resamples=20_000)
    expected = 2 * stats.norm.sf(0.08 * sqrt(400) / differences.std())
    assert found.p_bootstrap == pytest.approx(expected, abs=0.012)
    assert found.p == pytest.approx(expected, abs=0.02)
    assert paired_difference(np.array([1.0, -1.0] * 20), np.zeros(40)).p_bootstrap == 1.0


def test_no_difference_at_all():
    found = paired_difference(SKEWED, SKEWED)
    assert (found.value, *ends(found), found.p, found.p_bootstrap) == (0, 0, 0, 1, 1)


def test_differences_of_0_and_1_are_no_shares():
    """Swapping gives 0 and -1, so they get the same treatment."""
    a, b = np.repeat([1.0, 0.0], [5, 45]), np.zeros(50)
    found, swapped = paired_difference(a, b), paired_difference(b, a)
    assert ends(found) == pytest.approx((-swapped.high, -swapped.low))
    assert "BCa" in found.how


def test_pairs_with_a_gap_do_not_count():
    a, b = SKEWED.copy(), SKEWED[::-1].copy()
    a[3], b[7] = nan, nan
    keep = np.delete(np.arange(60), [3, 7])
    assert paired_difference(a, b) == paired_difference(SKEWED[keep], SKEWED[::-1][keep])
    none = paired_difference(np.array([nan]), np.array([1.0]))
    assert none.n == 0
    assert all(map(isnan, (none.value, *ends(none), none.p, none.p_bootstrap)))
    one = paired_difference(np.array([2.0]), np.array([1.0]))
    assert (one.value, one.n, one.p) == (1.0, 1, 1.0)
    assert all(map(isnan, (*ends(one), one.p_bootstrap)))


def test_pairs_of_different_length_are_refused():
    with pytest.raises(ValueError, match="shape"):
        paired_difference(np.ones(3), np.ones(1))
    with pytest.raises(ValueError, match="shape"):
        paired_statistic_difference(np.ones(3), np.ones(1), median)


@given(PAIRS)
@settings(max_examples=examples(50))
def test_swapping_changes_the_sign_alone(pairs):
    a, b = pairs
    few = {"resamples": 100, "permutations": 99}
    for found, swapped in (
        (paired_difference(a, b, **few), paired_difference(b, a, **few)),
        (paired_statistic_difference(a, b, median, **few), paired_statistic_difference(b, a, median, **few)),
    ):
        assert (swapped.value, *ends(swapped)) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-9)
        assert swapped.p == found.p
        assert swapped.p_bootstrap == found.p_bootstrap or isnan(found.p_bootstrap)
        assert 0 < found.p <= 1


def test_swaps_of_pairs_beside_scipy():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.7, 1, 11), rng.normal(size=11)
    found = paired_statistic_difference(a, b, median, permutations=4999)
    expected = stats.permutation_test(
        (a, b), lambda x, y: median(x) - median(y), permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert found.value == median(a) - median(b)
    assert found.p == pytest.approx(expected.pvalue, abs=0.03)
    assert found.how == "bootstrap over 11 pairs (bias-corrected), test by swaps"


def test_pairs_are_resampled_together():
    """Two models that err on the same texts: their difference is much surer than either."""
    rng = np.random.default_rng(0)
    a = labels_and_predictions(rng, 300)
    b = a.copy()
    b[:6, 1] = (b[:6, 0] + 1) % 3
    alone, found = statistic_interval(a, macro_f1), paired_statistic_difference(a, b, macro_f1)
    assert found.value == macro_f1(a) - macro_f1(b) > 0
    assert found.high - found.low < 0.5 * (alone.high - alone.low)
    assert found.p < 0.1


def test_a_statistic_of_equal_records_differs_by_nothing():
    found = paired_statistic_difference(SKEWED, SKEWED, median, permutations=99)
    assert (found.value, *ends(found), found.p) == (0, 0, 0, 1)
    none = paired_statistic_difference(SKEWED, SKEWED, lambda _: nan)
    assert all(map(isnan, (none.value, *ends(none), none.p)))


def test_rounding_does_not_make_a_difference():
    """0.1 + 0.2 is not quite 0.3: all swaps are then as far from 0 as what was found."""
    a, b = np.full(8, 0.3), np.array([0.1 + 0.2] * 6 + [0.3] * 2)
    found = paired_statistic_difference(a, b, lambda records: float(records.mean()), permutations=199)
    assert 0 < abs(found.value) < 1e-15
    assert found.p == 1
    # Multiples of 1 / 16 are exact and those of 0.1 are not: some resampled means are 0 in either.
    differences = np.repeat([1.0, -1.0], [10, 6])
    exact, rounded = (paired_difference(scale * differences, np.zeros(16)) for scale in (1.0, 0.1))
    assert rounded.p_bootstrap == exact.p_bootstrap
    assert rounded.p == exact.p


# Many tests


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.02, 0.9, 0.6]) == pytest.approx([0.06, 1.0, 1.0])
    assert holm([]) == []


def test_holm_does_not_count_tests_that_were_not_made():
    adjusted = holm([nan, 0.01, nan, 0.04])
    assert adjusted[1::2] == pytest.approx([0.02, 0.04])
    assert all(map(isnan, adjusted[::2]))


@given(st.lists(st.floats(0, 1)))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    ranked = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)
    assert not p_values or min(adjusted) == pytest.approx(min(1, len(p_values) * min(p_values)))


# Simulations: how often intervals hold the truth


def mostly_0(rng, n):
    """Like drops of a probability: most words do nothing, some decide."""
    return np.where(rng.random(n) < 0.3, rng.beta(5, 2, n), rng.normal(0, 0.01, n))


DRAWS = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "skewed and bounded": (lambda rng, n: rng.beta(0.4, 1.6, n), 0.2),
    "mostly 0": (mostly_0, 0.3 * 5 / 7),
}


def coverage(draw, interval, truth, repetitions, seed=0):
    """How often `interval(draw(rng), repetition)` holds the truth."""
    rng = np.random.default_rng(seed)
    found = [interval(draw(rng), repetition) for repetition in range(repetitions)]
    return float(np.mean([one.low <= truth <= one.high for one in found]))


@pytest.mark.parametrize("p", [0.7, 0.9, 0.95])
@pytest.mark.parametrize("n", [100, 400])
def test_coverage_of_shares(p, n):
    """Exact: every number of hits has its interval and its probability."""
    covered = 0.0
    for hits in range(n + 1):
        found = mean_interval(np.repeat([1.0, 0.0], [hits, n - hits]))
        covered += stats.binom.pmf(hits, n, p) * (found.low <= p <= found.high)
    assert 0.93 <= covered <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 400])
@pytest.mark.parametrize("name", DRAWS)
def test_coverage_of_means(name, n):
    draw, truth = DRAWS[name]
    covered = coverage(
        lambda rng: draw(rng, n), lambda values, i: mean_interval(values, resamples=800, seed=i), truth, 2500
    )
    assert 0.93 <= covered <= 0.97


@pytest.mark.slow
def test_coverage_of_few_skewed_values_is_less():
    draw, truth = DRAWS["exponential"]
    covered = coverage(
        lambda rng: draw(rng, 20), lambda values, i: mean_interval(values, resamples=800, seed=i), truth, 2500
    )
    assert 0.90 <= covered <= 0.95


@pytest.mark.slow
def test_coverage_of_macro_f1():
    rng = np.random.default_rng(1)
    truth = macro_f1(labels_and_predictions(rng, 1_000_000))
    covered = coverage(
        lambda rng: labels_and_predictions(rng, 200),
        lambda records, i: statistic_interval(records, macro_f1, resamples=200, seed=i),
        truth,
        600,
    )
    assert 0.92 <= covered <= 0.98


@pytest.mark.slow
def test_coverage_of_seeds():
    assert 0.94 <= coverage(lambda rng: rng.normal(0.9, 0.01, 5), lambda x, _: seeds_interval(x), 0.9, 5000) <= 0.96


@pytest.mark.slow
def test_a_bootstrap_of_seeds_would_hold_the_truth_much_less_often():
    """Which is why seeds get a t interval."""

    def percentiles(values, seed):
        means = _resampling.resampled_means(values, 1000, seed) + values.mean()
        return SimpleNamespace(low=np.quantile(means, 0.025), high=np.quantile(means, 0.975))

    assert 0.81 <= coverage(lambda rng: rng.normal(0.9, 0.01, 5), percentiles, 0.9, 3000) <= 0.87


TWO_WAY = {"no seeds": (0, 1, 1), "some of all": (0.07, 1, 0.5), "seeds": (0.2, 1, 1), "much residual": (0.1, 0.1, 1)}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO_WAY)
def test_coverage_of_seeds_and_examples(name):
    of_seed, of_example, of_both = TWO_WAY[name]

    def draw(rng):
        noise = rng.normal(0, of_both, (5, 200))
        return rng.normal(0, of_seed, (5, 1)) + rng.normal(0, of_example, (1, 200)) + noise

    assert 0.93 <= coverage(draw, lambda table, _: seeds_and_examples_interval(table), 0.0, 3000) <= 0.97


@pytest.mark.slow
def test_one_way_intervals_hold_the_truth_less_often_where_both_vary():
    """Which is why there is a two-way one."""

    def draw(rng):
        return rng.normal(0, 0.1, (5, 1)) + rng.normal(0, 1, (1, 200)) + rng.normal(0, 1, (5, 200))

    by_seed = coverage(draw, lambda table, _: seeds_interval(table.mean(1)), 0.0, 2000)
    by_example = coverage(draw, lambda table, i: mean_interval(table.mean(0), resamples=300, seed=i), 0.0, 1000)
    assert by_seed < 0.90
    assert by_example < 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 100])
def test_p_values_are_uniform_where_there_is_no_difference(n):
    rng = np.random.default_rng(n)
    found = [
        paired_difference(rng.normal(size=n), rng.normal(size=n), resamples=200, permutations=299, seed=i)
        for i in range(2000)
    ]
    # With 8 pairs they are multiples of 1 / 128, and thus a little uneven.
    assert stats.kstest([one.p for one in found], "uniform").statistic < 0.04
    assert 0.035 <= np.mean([one.p <= 0.05 for one in found]) <= 0.065


@pytest.mark.slow
def test_p_values_of_welch_are_uniform_where_there_is_no_difference():
    rng = np.random.default_rng(0)
    found = [seeds_difference(rng.normal(size=5), rng.normal(0, 3, size=5)).p for _ in range(4000)]
    assert 0.035 <= np.mean(np.array(found) <= 0.05) <= 0.065


@pytest.mark.slow
def test_p_values_of_swaps_are_fair():
    rng = np.random.default_rng(5)
    found = []
    for i in range(500):
        a = labels_and_predictions(rng, 80)
        b = np.stack([a[:, 0], np.where(rng.random(80) < 0.8, a[:, 0], rng.integers(0, 3, 80))], 1)
        found.append(paired_statistic_difference(a, b, macro_f1, resamples=1, permutations=99, seed=i).p)
    assert 0.02 <= np.mean(np.array(found) <= 0.05) <= 0.08


def test_a_method_that_does_not_vary_is_compared_without_a_warning():
    difference = seeds_difference([0.952, 0.952, 0.952], [0.951, 0.955, 0.96])
    assert difference.low < difference.value < difference.high
