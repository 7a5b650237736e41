"""Effects: intervals, verdicts and power follow from the numbers, by the stated rule."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy import stats

from reproduction.effect import ABOVE_0, BELOW_0, Effect, Region, levels, lowest, paired

CELLS = [(dataset, model) for dataset in ("trec", "sst2", "subj") for model in ("cnn", "lstm")]


def effect(means, region=ABOVE_0, paper=None, **more):
    """An effect with two seeds a cell, close to the mean of each."""
    values = {cell: [mean - 1e-4, mean + 1e-4] for cell, mean in zip(CELLS, means, strict=False)}
    return Effect("x", values, region, {} if paper is None else dict.fromkeys(values, paper), **more)


def test_with_many_cells_the_interval_is_over_cells():
    means = [0.01, 0.02, 0.03, 0.00, 0.015]
    found = effect(means).mean
    low, high = stats.t.interval(0.95, 4, loc=np.mean(means), scale=stats.sem(means))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(means), low, high))
    assert found.how == "over 5 cells"


def test_with_few_cells_the_interval_is_over_seeds_as_welchs():
    a, b = [0.02, 0.05, 0.03, 0.04], [0.01, 0.00, 0.06]
    found = Effect("x", {CELLS[0]: a, CELLS[1]: b}).mean
    welch = stats.ttest_ind(a, [-one for one in b], equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((welch.low / 2, welch.high / 2))  # a - (-b) is twice the mean
    assert found.how == "over the seeds of 2 cells"
    alone = Effect("x", {CELLS[0]: a}).mean
    assert (alone.low, alone.high) == pytest.approx(stats.t.interval(0.95, 3, np.mean(a), stats.sem(a)))


def test_few_cells_with_a_single_seed_are_compared_over_cells():
    found = Effect("x", {CELLS[0]: [0.01], CELLS[1]: [0.02], CELLS[2]: [0.03]}).mean
    assert found.how == "over 3 cells"
    assert isnan(Effect("x", {CELLS[0]: [0.01]}).mean.low)


@pytest.mark.parametrize(
    ("means", "paper", "verdict", "reason"),
    [
        ((0.01, 0.012, 0.011, 0.009, 0.01, 0.011), 0.01, "holds", ""),
        ((0.01, 0.012, 0.011, 0.009, 0.01, 0.011), 0.05, "holds", "smaller than in the paper"),
        ((-0.01, -0.012, -0.011, -0.009, -0.01, -0.011), 0.01, "contradicted", "the opposite"),
        ((0.001, -0.001, 0.001, -0.001, 0.002, -0.002), 0.01, "contradicted", "smaller than in the paper"),
        ((0.001, -0.001, 0.001, -0.001, 0.002, -0.002), None, "not shown", ""),
        ((0.03, -0.03, 0.03, -0.03, 0.02, -0.02), 0.01, "not shown", ""),
    ],
)
def test_a_claim_that_one_method_is_higher(means, paper, verdict, reason):
    found = effect(means, paper=paper)
    assert (found.verdict, found.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("mean", "region", "verdict"),
    [
        (0.005, Region(-0.02, 0.02), "holds"),
        (0.05, Region(-0.02, 0.02), "contradicted"),
        (0.02, Region(-0.02, 0.02), "not shown"),
        (-0.01, BELOW_0, "holds"),
        (0.01, BELOW_0, "contradicted"),
        (0.8, Region(low=0.75), "holds"),
        (0.7, Region(low=0.75), "contradicted"),
    ],
)
def test_claims_about_other_places(mean, region, verdict):
    assert effect([mean + step for step in (-0.001, 0.001, 0, 0.002, -0.002)], region).verdict == verdict


def test_the_papers_noise_counts_too():
    """A mean below the paper's is no contradiction where the paper's own differences scatter as widely."""
    means = [0.0, 0.001, -0.001, 0.0, 0.001, -0.001]
    noisy = dict(zip(CELLS, [0.05, -0.04, 0.06, -0.03, 0.05, -0.02], strict=True))
    found = Effect("x", effect(means).values, paper=noisy)
    assert found.in_paper == pytest.approx(0.07 / 6)
    assert found.verdict == "not shown"


def test_nothing_run_and_a_single_value():
    assert Effect("x", {}).verdict == "not run"
    assert Effect("x", {}).here() == "not run"
    one = Effect("x", {CELLS[0]: [0.5]})
    assert (one.verdict, one.reason) == ("not shown", "one value, no interval")
    assert one.here() == "+50.00"


@pytest.mark.parametrize(("at", "region"), [(0.01, ABOVE_0), (0.002, Region(-0.02, 0.02)), (-0.01, BELOW_0)])
def test_power_is_the_share_of_repetitions_that_would_hold(at, region):
    rng = np.random.default_rng(0)
    spread, count, times = 0.012, 6, 4000
    seen = rng.normal(0, 1, count)
    seen = (seen - seen.mean()) / seen.std(ddof=1) * spread  # its spread is the true one
    values = {cell: [one] for cell, one in zip(CELLS, seen, strict=True)}
    power = Effect("x", values, region, dict.fromkeys(values, at)).power()
    held = 0
    for _ in range(times):
        drawn = rng.normal(at, spread, count)
        half = stats.t.isf(0.025, count - 1) * drawn.std(ddof=1) / np.sqrt(count)
        held += region.contains(drawn.mean() - half, drawn.mean() + half)
    assert power == pytest.approx(held / times, abs=0.03)


def test_the_detectable_effect_has_a_power_of_about_80_percent():
    found = effect([0.01, -0.01, 0.005, -0.005, 0.02, -0.02])
    at = found.detectable()
    assert Effect("x", found.values, paper=dict.fromkeys(found.values, at)).power() == pytest.approx(0.8, abs=0.03)
    assert effect([0.01] * 5, Region(-1, 1)).detectable() is None


def test_no_power_without_the_papers_effect_or_an_interval():
    assert effect([0.01, 0.02, 0.0, 0.01, 0.03]).power() is None
    assert Effect("x", {CELLS[0]: [0.5]}, paper={CELLS[0]: 0.1}).power() is None


def test_power_far_beyond_the_edge_is_one():
    assert effect([0.010, 0.011, 0.0105, 0.0102, 0.0101], paper=5.0).power() == pytest.approx(1)
    assert effect([0.010, 0.011, 0.0105, 0.0102, 0.0101], paper=-5.0).power() == pytest.approx(0)


def test_pairs_are_of_the_seeds_that_both_have():
    first = {CELLS[0]: {0: 0.5, 1: 0.6, 3: 0.1}, CELLS[1]: {0: 0.5}}
    second = {CELLS[0]: {1: 0.8, 0: 0.6, 2: 0.9}, CELLS[1]: {1: 0.7}}
    found = paired(CELLS[:3], lambda cell: first.get(cell, {}), lambda cell: second.get(cell, {}))
    assert found == {CELLS[0]: [pytest.approx(0.1), pytest.approx(0.2)]}
    assert levels(CELLS[:3], lambda cell: first.get(cell, {})) == {CELLS[0]: [0.5, 0.6, 0.1], CELLS[1]: [0.5]}


def test_tests_in_cells_are_corrected_by_holm():
    clear, unclear = [0.1, 0.101, 0.102, 0.1], [0.1, -0.2, 0.3, 0.0]
    found = Effect("x", {CELLS[0]: clear, CELLS[1]: unclear, CELLS[2]: [-one for one in clear], CELLS[3]: [0.1]})
    assert found.clear() == (1, 1, 3)
    assert "higher in 3 of 4 cells, by a test over seeds clearly so in 1, clearly lower in 1 of 3" in found.words()


def test_the_lowest_cell_is_the_one_that_is_most_clearly_low():
    values = {CELLS[0]: [-0.02, -0.021, -0.019], CELLS[1]: [-0.2, 0.2, -0.15], CELLS[2]: [0.1, 0.11, 0.12]}
    found = lowest("x", values, {CELLS[0]: 0.1, CELLS[2]: -0.3})
    assert list(found.values) == [CELLS[0]]
    assert found.confidence == pytest.approx(1 - 0.05 / 3)
    assert found.verdict == "holds"
    assert found.in_paper == -0.3
    high = {cell: [one + 1 for one in ones] for cell, ones in values.items()}
    assert lowest("x", high, {}).verdict == "contradicted"
    assert lowest("x", {}, {}).verdict == "not run"
    assert lowest("x", {CELLS[0]: [0.1], CELLS[1]: [-0.1]}, {}).here() == "-10.00"


def test_numbers_are_shown_in_points_or_as_they_are():
    found = effect([0.5] * 5, Region(0.4, 0.6), unit="", signed=False)
    assert found.here() == "0.50 (0.50 to 0.50)"
    assert effect([0.01, 0.02, 0.0, 0.01, 0.03], paper=0.01).strength() == "0.33, 80% at 1.90"
