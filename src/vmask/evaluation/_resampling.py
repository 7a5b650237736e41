"""Resampling under the statistics: bootstrap draws, random signs, ends of the BCa interval.

Draws come in blocks of bounded memory, and the size of a block does not change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

MAX_EXACT = 12
"""Up to this many nonzero differences, the sign-flip test enumerates all sign patterns."""
MAX_CELLS = 100_000
"""Examples times resamples drawn at a time. Results do not depend on it; larger blocks would not fit the CPU cache."""
MAX_BIAS = 0.5
"""Largest bias correction, in standard errors: larger ones make intervals too narrow if resampling is biased."""

Floats: TypeAlias = NDArray[np.float64]


def resample(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Blocks (rows, n) of resampled examples; the block size does not change the draws. Nothing for n < 2."""
    rng, rows = np.random.default_rng(seed), max(1, MAX_CELLS // max(n, 1))
    for start in range(0, resamples if n > 1 else 0, rows):
        yield rng.integers(0, n, size=(min(rows, resamples - start), n))


def flip_coins(n: int, rows: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Blocks (rows, n) of random 0 and 1; each row starts with fresh bits, so the block size does not change them."""
    bits, step = np.random.default_rng(seed).bit_generator, max(1, MAX_CELLS // max(n, 1))
    for start in range(0, rows, step):
        words = bits.random_raw((min(step, rows - start), -(-n // 64)))
        yield np.unpackbits(words.view(np.uint8), axis=1, count=n)


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """(resamples,) means of resampled values, minus the mean of the values."""
    deviations = values - values.mean() if len(values) else values
    means = [deviations.take(rows).mean(1) for rows in resample(len(values), resamples, seed)]
    return np.concatenate([np.empty(0), *means])


def bca_interval(values: Floats, draws: Floats, confidence: float) -> tuple[float, float, float]:
    """Mean of values and the ends of its interval."""
    if not len(values):
        return nan, nan, nan
    if values.min() == values.max():
        value = float(values[0])  # their mean may differ by rounding
        return (value, value, value) if len(values) > 1 else (value, nan, nan)
    value = float(values.mean())
    scaled = (values - value) / np.abs(values - value).max()  # otherwise squares of tiny deviations would be 0
    acceleration = float((scaled**3).sum() / (6 * (scaled**2).sum() ** 1.5))
    low, high = bca_ends(draws, len(values), confidence, acceleration)
    return value, value + low, value + high


def bca_ends(draws: Floats, n: int, confidence: float, acceleration: float = 0.0) -> tuple[float, float]:
    """Ends of the BCa interval from resampled values minus the estimate, see `mean_interval`."""
    from scipy.special import ndtr, ndtri, stdtrit

    slack = 1e-10 * float(np.abs(draws).max())
    below = (np.mean(draws < -slack) + np.mean(draws <= slack)) / 2  # half of the ties count as below
    z0 = np.clip(ndtri(below), -MAX_BIAS, MAX_BIAS)
    z = z0 + np.array([-1, 1]) * sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + confidence) / 2)
    low, high = np.quantile(draws, ndtr(z0 + z / np.maximum(1 - acceleration * z, 1e-9)))
    return float(low), float(high)


def sign_flip_p(differences: Floats, permutations: int, seed: int) -> float:
    """p-value of the sum of the differences under random signs.

    A matrix product over blocks of bits: hundreds of times faster than `scipy.stats.permutation_test`.
    """
    sizes = np.abs(differences[differences != 0])
    total = float(sizes.sum())
    limit = abs(float(differences.sum())) - 1e-10 * total  # rounding errors must not break ties
    if len(sizes) <= MAX_EXACT:
        patterns = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float(np.mean(np.abs(2 * patterns @ sizes - total) >= limit))
    blocks = flip_coins(len(sizes), permutations, seed)
    as_large = sum(np.count_nonzero(np.abs(2 * (coins @ sizes) - total) >= limit) for coins in blocks)
    return (1 + as_large) / (1 + permutations)
