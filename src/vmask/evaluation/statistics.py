"""All statistics of the project: means with intervals, differences with tests.

A metric gives one value per example. The functions here turn these values into a mean with an interval, or the values
of two models into a difference with an interval and a p-value. Choose the function by the source of variation: other
examples (`mean_interval`, `statistic_interval`, `paired_difference`, `paired_statistic_difference`), other training
seeds (`seeds_interval`, `seeds_difference`, `paired_seeds_difference`), or both (`seeds_and_examples_interval`).

In all functions `confidence` is the nominal coverage of the interval, `resamples` the number of bootstrap resamples,
`permutations` the number of random sign flips or swaps (p is never below `1 / (1 + permutations)`), and `seed` sets the
random numbers: two calls with the same seed and the same number of examples draw the same resamples. Memory is bounded
for any number of examples. Intervals are not clipped to the range of a metric. t intervals and tests and Wilson's
interval are scipy's; what is written here says in its docstring why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmask.evaluation._resampling import (
    Floats,
    bca_ends,
    bca_interval,
    flip_coins,
    resample,
    resampled_means,
    sign_flip_p,
)

CONFIDENCE = 0.95
RESAMPLES = 2000
PERMUTATIONS = 9999
STATISTIC_RESAMPLES = 1000
"""Fewer than for a mean, because each resample calls a Python function."""
STATISTIC_PERMUTATIONS = 999

Statistic: TypeAlias = Callable[[NDArray[Any]], float]
"""Maps records (N, ...), one per example, to a number; NaN if it is undefined."""


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes:
        value: the number; NaN without data.
        low: lower end of the interval; NaN with too little data.
        high: upper end.
        n: number of values or records that it was computed from.
        how: method of the interval, for a footnote.
    """

    value: float
    low: float
    high: float
    n: int
    how: str


@dataclass(frozen=True)
class Difference:
    """First minus second, with interval and p-value.

    Attributes:
        value: the difference; NaN without data.
        low: lower end of its interval; NaN with too little data.
        high: upper end.
        n: number of pairs; number of trainings if they are not paired.
        p: two-sided p-value of the hypothesis of no difference; NaN without a test.
        how: methods of the interval and the test, for a footnote.
        p_bootstrap: two-sided p-value of the paired bootstrap, to compare with papers that use it; else NaN.
    """

    value: float
    low: float
    high: float
    n: int
    p: float
    how: str
    p_bootstrap: float = nan


def mean_interval(
    values: NDArray[Any], *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Mean over examples, with an interval for the mean of the population that they are drawn from.

    The interval is the BCa bootstrap (Efron 1987): with resampled means m_1 … m_B its ends are their quantiles at
    `Phi(z0 + (z0 + z) / (1 - a (z0 + z)))`, where `z0 = Phi^-1(share of m_b below the mean)` corrects the bias and
    `a = sum c^3 / (6 (sum c^2)^1.5)`, over the deviations c from the mean, corrects for skew; for a mean this equals
    the jackknife estimate. `z` is `-+ sqrt(n / (n - 1)) t(alpha / 2, n - 1)` instead of the normal quantile, because
    the bootstrap is too narrow for few examples (Hesterberg 2015, "expanded percentile"). `scipy.stats.bootstrap` has
    no expanded percentiles, and takes the jackknife of every example.

    Values that are all 0 or 1, such as accuracy, get Wilson's score interval (1927): resampled means are too coarse
    near 0 and 1, and have zero width at 0 and 1.

    `values` (N,) are finite, or NaN for an example without a value, which is ignored. A single value has no interval;
    values that are all equal (and not 0 or 1) have one of zero width. In simulations with at least 100 examples, 95%
    intervals covered the true mean 93 to 97% of the time.
    """
    present = _present(values)
    n = len(present)
    if n > 1 and np.isin(present, (0.0, 1.0)).all():
        from scipy.stats import binomtest

        low, high = binomtest(int(present.sum()), n).proportion_ci(confidence, "wilson")
        return Estimate(
            float(present.mean()), float(low), float(high), n, f"Wilson's score interval over {n:,} examples"
        )
    draws = resampled_means(present, resamples, seed)
    return Estimate(*bca_interval(present, draws, confidence), n, f"bootstrap over {n:,} examples (BCa)")


def statistic_interval(
    records: NDArray[Any],
    statistic: Statistic,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = STATISTIC_RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A statistic that is not a mean over examples, such as macro F1, with its interval over examples.

    The interval is the bias-corrected percentile bootstrap (Efron 1981), as in `mean_interval` with `a = 0`. `records`
    (N, ...) hold what the statistic needs of each example, such as (N, 2) labels and predictions. Resamples for which
    it is NaN are left out, which `scipy.stats.bootstrap` cannot do.

    Do not trust the interval of a statistic near an end of its range, such as the calibration error of a calibrated
    model: the estimate is above the true error, and those of resamples are higher still.
    """
    n = len(records)
    value = float(statistic(records)) if n else nan
    draws = np.array([float(statistic(records[rows])) for block in resample(n, resamples, seed) for rows in block])
    present = _present(draws)
    how = f"bootstrap over {n:,} examples (bias-corrected)"
    if len(present) < len(draws):
        how += f", {len(draws) - len(present):,} of {len(draws):,} resamples left out"
    if isnan(value) or not len(present):
        return Estimate(value, nan, nan, n, how)
    low, high = bca_ends(present - value, n, confidence)
    return Estimate(value, value + low, value + high, n, how)


def seeds_interval(means: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean over trainings with different seeds, `mean -+ t(alpha / 2, S - 1) s / sqrt(S)`.

    A bootstrap of 5 seeds would cover the true mean 84% of the time, not 95%. The t interval assumes that results are
    normal over seeds, and is for other seeds on the same examples. `means` (S,) has one result per seed; NaN are
    ignored. A single seed has no interval.
    """
    present = _present(means)
    n = len(present)
    how = f"t over {n:,} seeds"
    if n < 2:
        return Estimate(float(present[0]) if n else nan, nan, nan, n, how)
    value = float(present.mean())
    low, high = _t_interval(value, float(present.std(ddof=1)) / sqrt(n), n - 1, confidence)
    return Estimate(value, low, high, n, how)


def seeds_and_examples_interval(values: NDArray[Any], confidence: float = CONFIDENCE) -> Estimate:
    """Mean over seeds and examples, with an interval for other seeds on other examples.

    Every seed has a value for every example: `values[s, e] = mu + S_s + E_e + R_se`, a two-way layout with both factors
    random. The variance of the grand mean is estimated without bias by `(MS_S + MS_E - MS_R) / (S N)` from the mean
    squares of seeds, examples and residuals, but at least `max(MS_S, MS_E) / (S N)`. The interval is t with the degrees
    of freedom of Satterthwaite (1946); it is too wide if almost all variance is residual. scipy has no such model.

    `values` (S, N) are finite; examples that are NaN for any seed are ignored, and `n` counts the others. A single seed
    or example has no interval.
    """
    table = np.asarray(values, np.float64)
    table = table[:, ~np.isnan(table).any(0)]
    seeds, n = table.shape
    value = float(table.mean()) if table.size else nan
    how = f"t over {seeds:,} seeds and {n:,} examples"
    if seeds < 2 or n < 2:
        return Estimate(value, nan, nan, n, how)
    by_seed, by_example = table.mean(1), table.mean(0)
    residuals = table - by_seed[:, None] - by_example + value
    squares = np.array([n * by_seed.var(ddof=1), seeds * by_example.var(ddof=1), 0.0])
    freedom = np.array([seeds - 1, n - 1, (seeds - 1) * (n - 1)])
    squares[2] = (residuals**2).sum() / freedom[2]
    total = float(max(squares[0] + squares[1] - squares[2], squares[0], squares[1]))
    if total == 0:
        return Estimate(value, value, value, n, how)
    df = total**2 / float((squares**2 / freedom).sum())
    low, high = _t_interval(value, sqrt(total / table.size), df, confidence)
    return Estimate(value, low, high, n, how)


def paired_difference(
    a: NDArray[Any],
    b: NDArray[Any],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Difference:
    """Mean of `a - b` over the same examples, its interval, and a test of whether it is 0.

    The interval is the BCa bootstrap of `mean_interval`. The p-value is that of the sign-flip test (Fisher 1935):
    `(1 + #{|mean of flipped| >= |mean|}) / (1 + permutations)`; with up to 12 nonzero differences, the exact share of
    all sign patterns. It assumes that without an effect the differences are symmetric around 0, as they are if a and b
    are exchangeable. `p_bootstrap` is twice the smaller share of resampled means on one side of 0.

    `a` and `b` (N,) have one value per example; pairs with a NaN are ignored. If all differences are 0, p is 1 and the
    interval has zero width. If fewer than ten are nonzero, as for two accurate models on 100 texts, the interval is too
    narrow; the p-value is still valid.
    """
    first, second = np.stack([a, b]).astype(np.float64)  # unlike subtraction, refuses arrays of different shapes
    present = _present(first - second)
    n = len(present)
    draws = resampled_means(present, resamples, seed)
    value, low, high = bca_interval(present, draws, confidence)
    p_bootstrap = nan
    if n > 1:
        slack = 1e-10 * float(np.abs(present).mean())  # rounding errors must not decide the side of 0
        outside = min(np.count_nonzero(value + draws <= slack), np.count_nonzero(value + draws >= -slack))
        p_bootstrap = min(1.0, 2 * (1 + outside) / (1 + resamples))
    p = sign_flip_p(present, permutations, seed) if n else nan
    return Difference(value, low, high, n, p, f"bootstrap over {n:,} pairs (BCa), sign-flip test", p_bootstrap)


def paired_statistic_difference(
    a: NDArray[Any],
    b: NDArray[Any],
    statistic: Statistic,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = STATISTIC_RESAMPLES,
    permutations: int = STATISTIC_PERMUTATIONS,
    seed: int = 0,
) -> Difference:
    """`statistic(a) - statistic(b)` of records of the same examples, such as macro F1 of two models on the same texts.

    The interval is that of `statistic_interval`, with pairs resampled together. The p-value is that of approximate
    randomization (Noreen 1989): the records of each pair are swapped at random, and the resulting differences are
    compared with the observed one, as in `paired_difference`. Swaps for which it is NaN are left out, while
    `scipy.stats.permutation_test` would count them as evidence. `a` and `b` (N, ...) have one record per example.
    """
    pairs = np.stack([a, b], 1)

    def difference(pairs: NDArray[Any]) -> float:
        return float(statistic(pairs[:, 0])) - float(statistic(pairs[:, 1]))

    observed = statistic_interval(pairs, difference, confidence=confidence, resamples=resamples, seed=seed)
    how = observed.how.replace("examples", "pairs") + ", test by swaps"
    if isnan(observed.value):
        return Difference(nan, nan, nan, observed.n, nan, how)
    swapped = []
    for coins in flip_coins(observed.n, permutations, seed):
        for coin in coins.astype(bool).reshape(-1, observed.n, *[1] * (pairs.ndim - 1)):
            swapped.append(difference(np.where(coin, pairs[:, ::-1], pairs)))
    present = _present(swapped)
    # Rounding errors must not break ties.
    slack = 1e-10 * (abs(float(statistic(pairs[:, 0]))) + abs(float(statistic(pairs[:, 1]))))
    as_large = np.count_nonzero(np.abs(present) >= abs(observed.value) - slack)
    p = (1 + as_large) / (1 + len(present))
    return Difference(observed.value, observed.low, observed.high, observed.n, p, how)


def seeds_difference(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Difference:
    """Difference between the means of two kinds of training, each with its own seeds: Welch's t test and interval.

    Trainings with the same seed have nothing in common, so they are not paired, and one kind may vary more than the
    other.

    `a` (S,) and `b` (T,) have one result per seed; NaN are ignored, and `n` counts all others. With fewer than two
    results of either there is no interval and no test. If neither varies, the interval has zero width, and p is 1 for
    no difference, else NaN: t would be infinite, without evidence.
    """
    from scipy.stats import ttest_ind

    first, second = _present(a), _present(b)
    n = len(first) + len(second)
    how = f"Welch's t over {len(first):,} and {len(second):,} seeds"
    value = float(first.mean() - second.mean()) if len(first) and len(second) else nan
    if min(len(first), len(second)) < 2:
        return Difference(value, nan, nan, n, nan, how)
    if np.ptp(first) == 0 == np.ptp(second):
        value = float(first[0] - second[0])  # without the rounding of means
        return Difference(value, value, value, n, nan if value else 1.0, how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one of the two may not vary, which scipy warns of
        test = ttest_ind(first, second, equal_var=False)
    low, high = test.confidence_interval(confidence)
    return Difference(value, float(low), float(high), n, float(test.pvalue), how)


def paired_seeds_difference(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Difference:
    """Mean of `a - b` of two kinds of training with the same seeds: the paired t test and interval.

    It tests whether the mean of the differences is 0, whatever trainings with the same seed have in common. If they
    have nothing in common it has less power than `seeds_difference`; if their results are correlated it has more.

    `a` and `b` (S,) have one result per seed, in the same order; pairs with a NaN are ignored. A single pair has no
    interval and no test. If the differences do not vary, p is 1 for no difference, else NaN, as in `seeds_difference`.
    """
    from scipy.stats import ttest_1samp

    first, second = np.stack([np.asarray(a, np.float64), np.asarray(b, np.float64)])
    differences = _present(first - second)
    n = len(differences)
    value = float(differences.mean()) if n else nan
    how = f"paired t over {n:,} seeds"
    if n < 2:
        return Difference(value, nan, nan, n, nan, how)
    if np.ptp(differences) <= 1e-12 * float(np.abs(differences).max()):  # they differ by rounding alone
        return Difference(value, value, value, n, nan if value else 1.0, how)
    test = ttest_1samp(differences, 0.0)
    low, high = test.confidence_interval(confidence)
    return Difference(value, float(low), float(high), n, float(test.pvalue), how)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for multiple tests (Holm 1979), in the given order; not in scipy.

    The i-th smallest of m is multiplied by `m - i + 1`, is at least as large as those before it, and at most 1. The
    probability of any false rejection at 0.05 is then at most 5%, for any dependence between the tests. NaN stay NaN
    and do not count as tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [nan] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not isnan(p)), key=lambda i: p_values[i])
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * float(p_values[i])))
        adjusted[i] = highest
    return adjusted


def _present(values: NDArray[Any] | Sequence[float]) -> Floats:
    """The values (N,) that are not NaN."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise ValueError(f"Expected one value per example, got an array of shape {array.shape}.")
    return array[~np.isnan(array)]


def _t_interval(value: float, error: float, df: float, confidence: float) -> tuple[float, float]:
    """Interval of Student's t around an estimate; of zero width if its standard error is 0, where scipy gives NaN."""
    from scipy.stats import t

    if error == 0:
        return value, value
    low, high = t.interval(confidence, df, loc=value, scale=error)
    return float(low), float(high)
