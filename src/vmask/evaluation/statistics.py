"""All statistics of the project: means with intervals, differences with tests.

A metric gives one value an example. Here its values become a mean with an interval, or two of them a difference with
an interval and a p-value. What varies decides the function: other examples could have been drawn (`mean_interval`,
`statistic_interval`, `paired_difference`, `paired_statistic_difference`), the model could have been trained with other
seeds (`seeds_interval`, `seeds_difference`), or both (`seeds_and_examples_interval`).

Everywhere `confidence` is how often the interval is to hold the truth, `resamples` how many times examples are drawn
again with replacement, `permutations` how many times signs or places change at random (p is never below
`1 / (1 + permutations)`), and `seed` decides all that is random: two calls with the same seed and the same number of
examples draw the same resamples, so the order of examples matters as little as the seed does. Memory stays bounded
however many examples there are. No interval is clipped to the range of a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 2000
PERMUTATIONS = 9999
STATISTIC_RESAMPLES = 1000
"""Fewer than of a mean: each calls a Python function."""

STATISTIC_PERMUTATIONS = 999
MAX_EXACT = 12
"""Up to so many differences that are not 0, all sign patterns are looked at."""

MAX_CELLS = 100_000
"""Examples times resamples that are drawn at a time. Results do not depend on it; more would leave the fast cache."""

MAX_BIAS = 0.5
"""Greatest bias correction, in standard errors: more makes intervals too narrow for what resampling always raises."""

Statistic: TypeAlias = Callable[[NDArray[Any]], float]
"""Records (N, ...), one an example, to one number; NaN where they do not allow any."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes:
        value: the number; NaN where there was nothing to compute it from.
        low: lower end of the interval; NaN where there was too little.
        high: upper end.
        n: number of values or records that it was computed from.
        how: how the interval was made, for a footnote.
    """

    value: float
    low: float
    high: float
    n: int
    how: str


@dataclass(frozen=True)
class Difference:
    """How much the first of two is greater than the second.

    Attributes:
        value: the difference; NaN where there was nothing to compute it from.
        low: lower end of its interval; NaN where there was too little.
        high: upper end.
        n: number of pairs; of trainings where they are not paired.
        p: two-sided p-value of no difference; NaN where there is no test.
        how: how interval and p-value were made, for a footnote.
        p_bootstrap: two-sided p-value of the paired bootstrap, to compare with papers that use it; NaN where there is
            none.
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
    """Mean over examples, and the interval that other examples of the same kind would vary in.

    The interval is the BCa bootstrap (Efron 1987): with resampled means m_1 … m_B its ends are their quantiles at
    `Phi(z0 + (z0 + z) / (1 - a (z0 + z)))`, where `z0 = Phi^-1(share of m_b below the mean)` corrects the bias and
    `a = sum c^3 / (6 (sum c^2)^1.5)`, over the deviations c from the mean, corrects for skew; for a mean that is what
    the jackknife would give. `z` is `-+ sqrt(n / (n - 1)) t(alpha / 2, n - 1)` instead of the normal quantile, since
    the bootstrap is too narrow for few examples (Hesterberg 2015, "expanded percentile").

    Values that are all 0 or 1, such as accuracy, get Wilson's score interval (1927): resampled means are too coarse
    near 0 and 1, and have no width at all there.

    `values` (N,) are finite, or NaN for an example without a value, which does not count. One value has no interval;
    values that are all the same (and not 0 or 1) have one without width. From 100 examples on, 95% intervals held the
    truth 93 to 97% of the time for all kinds of values that were simulated.
    """
    present = _present(values)
    n = len(present)
    if n > 1 and np.isin(present, (0.0, 1.0)).all():
        low, high = _wilson(float(present.mean()), n, confidence)
        return Estimate(float(present.mean()), low, high, n, f"Wilson's score interval over {n:,} examples")
    draws = _resampled_means(present, resamples, seed)
    return Estimate(*_bca(present, draws, confidence), n, f"bootstrap over {n:,} examples (BCa)")


def statistic_interval(
    records: NDArray[Any],
    statistic: Statistic,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = STATISTIC_RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A statistic that is no mean of examples, such as macro F1, and its interval over examples.

    The interval is the bias-corrected percentile bootstrap (Efron 1981), as `mean_interval` with `a = 0`. `records`
    (N, ...) hold what the statistic needs to know of each example, such as (N, 2) labels and predictions. Resamples
    where it is NaN are left out.

    Do not trust the interval of a statistic that is near an end of its range, such as the calibration error of a model
    that is calibrated: the error found is above the true one, and those of resamples are higher still.
    """
    n = len(records)
    value = float(statistic(records)) if n else nan
    draws = np.array([float(statistic(records[one])) for rows in _resamples(n, resamples, seed) for one in rows])
    present = _present(draws)
    how = f"bootstrap over {n:,} examples (bias-corrected)"
    if len(present) < len(draws):
        how += f", {len(draws) - len(present):,} of {len(draws):,} resamples left out"
    if isnan(value) or not len(present):
        return Estimate(value, nan, nan, n, how)
    low, high = _ends(present - value, n, confidence)
    return Estimate(value, value + low, value + high, n, how)


def seeds_interval(means: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean over trainings with different seeds, `mean -+ t(alpha / 2, S - 1) s / sqrt(S)`.

    A bootstrap of 5 seeds would hold the truth 84% of the time, not 95%. The t interval takes the results of seeds to
    be normal, and is about other seeds on the same examples. `means` (S,) has one result a seed; NaN do not count. One
    seed has no interval.
    """
    present = _present(means)
    n = len(present)
    how = f"t over {n:,} seeds"
    if n < 2:
        return Estimate(float(present[0]) if n else nan, nan, nan, n, how)
    value, half = float(present.mean()), _t_quantile(n - 1, confidence) * float(present.std(ddof=1)) / sqrt(n)
    return Estimate(value, value - half, value + half, n, how)


def seeds_and_examples_interval(values: NDArray[Any], confidence: float = CONFIDENCE) -> Estimate:
    """Mean over seeds and examples, and the interval that other seeds on other examples would vary in.

    Every seed has a value of every example: `values[s, e] = mu + S_s + E_e + R_se`, a two-way layout with both factors
    random. The variance of the grand mean is `(MS_S + MS_E - MS_R) / (S N)` from the mean squares of seeds, examples
    and residuals, which is unbiased; where it comes out below `max(MS_S, MS_E) / (S N)`, that is taken. The interval
    is t with the degrees of freedom of Satterthwaite (1946). It is too wide where almost all is residual.

    `values` (S, N) are finite; examples that are NaN for any seed do not count, `n` counts the others. One seed or one
    example has no interval.
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
    half = _t_quantile(df, confidence) * sqrt(total / table.size)
    return Estimate(value, value - half, value + half, n, how)


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
    `(1 + #{|mean of flipped| >= |mean|}) / (1 + permutations)`; with up to 12 differences that are not 0, the exact
    share of all sign patterns. It takes the differences to be symmetric around 0 where there is no effect, as they are
    if a and b could be swapped. `p_bootstrap` is twice the smaller share of resampled means on one side of 0.

    `a` and `b` (N,) have a value an example; a pair with a NaN does not count. Where all differences are 0, p is 1 and
    the interval has no width. Where fewer than ten are not 0, as with two accurate models on 100 texts, the interval
    is too narrow; the p-value still holds.
    """
    first, second = np.stack([a, b]).astype(np.float64)  # unlike subtraction refuses arrays of different shapes
    present = _present(first - second)
    n = len(present)
    draws = _resampled_means(present, resamples, seed)
    value, low, high = _bca(present, draws, confidence)
    p_bootstrap = nan
    if n > 1:
        slack = 1e-10 * float(np.abs(present).mean())  # rounding does not decide on which side of 0 a mean is
        outside = min(np.count_nonzero(value + draws <= slack), np.count_nonzero(value + draws >= -slack))
        p_bootstrap = min(1.0, 2 * (1 + outside) / (1 + resamples))
    p = _sign_flip_p(present, permutations, seed) if n else nan
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
    randomization (Noreen 1989): a and b of each pair change places by a coin, and the differences that this makes are
    compared with the one found, as in `paired_difference`. `a` and `b` (N, ...) have a record an example.
    """
    pairs = np.stack([a, b], 1)

    def difference(pairs: NDArray[Any]) -> float:
        return float(statistic(pairs[:, 0])) - float(statistic(pairs[:, 1]))

    found = statistic_interval(pairs, difference, confidence=confidence, resamples=resamples, seed=seed)
    how = found.how.replace("examples", "pairs") + ", test by swaps"
    if isnan(found.value):
        return Difference(nan, nan, nan, found.n, nan, how)
    swapped = []
    for coins in _coins(found.n, permutations, seed):
        for coin in coins.astype(bool).reshape(-1, found.n, *[1] * (pairs.ndim - 1)):
            swapped.append(difference(np.where(coin, pairs[:, ::-1], pairs)))
    present = _present(swapped)
    slack = 1e-10 * (abs(float(statistic(pairs[:, 0]))) + abs(float(statistic(pairs[:, 1]))))  # rounding does not untie
    as_great = np.count_nonzero(np.abs(present) >= abs(found.value) - slack)
    return Difference(found.value, found.low, found.high, found.n, (1 + as_great) / (1 + len(present)), how)


def seeds_difference(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Difference:
    """Difference of means of two kinds of training, each with its own seeds: Welch's t test and interval (1947).

    Trainings share nothing by sharing a seed, so they are not paired, and one kind may vary more than the other.

    `a` (S,) and `b` (T,) have one result a seed; NaN do not count, and `n` counts all others. With fewer than two of
    either there is no interval and no test. Where neither varies the interval has no width, and p is 1 for no
    difference, else NaN: t would be infinite, on no evidence.
    """
    from scipy.special import stdtr

    first, second = _present(a), _present(b)
    n = len(first) + len(second)
    how = f"Welch's t over {len(first):,} and {len(second):,} seeds"
    value = float(first.mean() - second.mean()) if len(first) and len(second) else nan
    if min(len(first), len(second)) < 2:
        return Difference(value, nan, nan, n, nan, how)
    parts = np.array([first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)])
    error = sqrt(parts.sum())
    if np.ptp(first) == 0 == np.ptp(second):
        value = float(first[0] - second[0])  # without the rounding of means
        return Difference(value, value, value, n, nan if value else 1.0, how)
    df = error**4 / float((parts**2 / [len(first) - 1, len(second) - 1]).sum())
    half = _t_quantile(df, confidence) * error
    return Difference(value, value - half, value + half, n, 2 * float(stdtr(df, -abs(value) / error)), how)


def paired_seeds_difference(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Difference:
    """Mean of `a - b` of two kinds of training with the same seeds: the paired t test and interval (Student 1908).

    It asks whether the differences have the mean 0, whatever two trainings share by sharing a seed. Where they share
    nothing it has less power than `seeds_difference`; where both go up and down together it has more.

    `a` and `b` (S,) have one result a seed, in the same order; a pair with a NaN does not count. One pair has no
    interval and no test. Where the differences do not vary, p is 1 for no difference, else NaN, as in
    `seeds_difference`.
    """
    from scipy.special import stdtr

    first, second = np.stack([np.asarray(a, np.float64), np.asarray(b, np.float64)])
    differences = _present(first - second)
    n = len(differences)
    found = seeds_interval(list(differences), confidence)
    how = f"paired t over {n:,} seeds"
    if n < 2:
        return Difference(found.value, nan, nan, n, nan, how)
    error = float(differences.std(ddof=1)) / sqrt(n)
    if np.ptp(differences) <= 1e-12 * float(np.abs(differences).max()):  # they differ by rounding alone
        return Difference(found.value, found.value, found.value, n, nan if found.value else 1.0, how)
    p = 2 * float(stdtr(n - 1, -abs(found.value) / error))
    return Difference(found.value, found.low, found.high, n, p, how)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for being many (Holm 1979), in the given order.

    The i-th smallest of m is multiplied by `m - i + 1`, is at least as great as those before it, and at most 1. Those
    below 0.05 are then all right with 95% probability, however the tests depend on each other. NaN stay NaN and do not
    count as tests.

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
        raise ValueError(f"Expected one value an example, got an array of shape {array.shape}.")
    return array[~np.isnan(array)]


def _t_quantile(df: float, confidence: float) -> float:
    """Half the width of an interval, in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + confidence) / 2))


def _wilson(share: float, n: int, confidence: float) -> tuple[float, float]:
    """The shares p that the one found is at most z standard errors `sqrt(p (1 - p) / n)` away from."""
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    middle, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return min(low, share), max(high, share)  # at 0 and 1 they are the same but for rounding


def _resamples(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Which examples (rows, n) are drawn, some resamples at a time, which changes no draw. None for n < 2."""
    rng, rows = np.random.default_rng(seed), max(1, MAX_CELLS // max(n, 1))
    for start in range(0, resamples if n > 1 else 0, rows):
        yield rng.integers(0, n, size=(min(rows, resamples - start), n))


def _coins(n: int, rows: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Zeros and ones (rows, n), some rows at a time; a row starts with fresh bits, so that changes no coin."""
    bits, step = np.random.default_rng(seed).bit_generator, max(1, MAX_CELLS // max(n, 1))
    for start in range(0, rows, step):
        words = bits.random_raw((min(step, rows - start), -(-n // 64)))
        yield np.unpackbits(words.view(np.uint8), axis=1, count=n)


def _resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """(resamples,) means of resampled values, less the mean of all."""
    deviations = values - values.mean() if len(values) else values
    means = [deviations.take(rows).mean(1) for rows in _resamples(len(values), resamples, seed)]
    return np.concatenate([np.empty(0), *means])


def _bca(values: Floats, draws: Floats, confidence: float) -> tuple[float, float, float]:
    """Mean of values and the ends of its interval."""
    if not len(values):
        return nan, nan, nan
    if values.min() == values.max():
        value = float(values[0])  # their mean may differ by rounding
        return (value, value, value) if len(values) > 1 else (value, nan, nan)
    value = float(values.mean())
    scaled = (values - value) / np.abs(values - value).max()  # else the squares of tiny deviations would be 0
    acceleration = float((scaled**3).sum() / (6 * (scaled**2).sum() ** 1.5))
    low, high = _ends(draws, len(values), confidence, acceleration)
    return value, value + low, value + high


def _ends(draws: Floats, n: int, confidence: float, acceleration: float = 0.0) -> tuple[float, float]:
    """Ends of the BCa interval from resampled values less the value found, see `mean_interval`."""
    from scipy.special import ndtr, ndtri

    slack = 1e-10 * float(np.abs(draws).max())
    below = (np.mean(draws < -slack) + np.mean(draws <= slack)) / 2  # ties are half below
    z0 = np.clip(ndtri(below), -MAX_BIAS, MAX_BIAS)
    z = z0 + np.array([-1, 1]) * sqrt(n / (n - 1)) * _t_quantile(n - 1, confidence)
    low, high = np.quantile(draws, ndtr(z0 + z / np.maximum(1 - acceleration * z, 1e-9)))
    return float(low), float(high)


def _sign_flip_p(differences: Floats, permutations: int, seed: int) -> float:
    """p-value of sums of the differences with signs by coins."""
    sizes = np.abs(differences[differences != 0])
    total = float(sizes.sum())
    limit = abs(float(differences.sum())) - 1e-10 * total  # rounding does not untie
    if len(sizes) <= MAX_EXACT:
        patterns = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float(np.mean(np.abs(2 * patterns @ sizes - total) >= limit))
    blocks = _coins(len(sizes), permutations, seed)
    as_great = sum(np.count_nonzero(np.abs(2 * (coins @ sizes) - total) >= limit) for coins in blocks)
    return (1 + as_great) / (1 + permutations)
