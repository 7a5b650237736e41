"""How far a published number could have been off by chance, and whether ours agrees with it.

The paper prints one number a cell, without an interval. What other test texts of the same kind would have given is
known all the same: that is its 95% band. It holds the chance of texts alone, not that of seeds, which the paper does
not tell; so the bands are rather too narrow, and `off` may be a matter of seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import atanh, isfinite, isnan, nan, sqrt, tanh
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reproduction.results import ScoreKey
from reproduction.table import Entry, Verdict
from vmask.evaluation.statistics import Estimate

Band: TypeAlias = tuple[float, float]
Z = 1.96
"""Standard errors on each side of a 95% band."""
NEAR = 0.05
"""Counts that are this close, as a share, are `close`."""
LARGE = 10_000
"""The paper prints the sizes of datasets with a split of so many texts in thousands, such as 7.6K."""
SLACK = 1e-9
"""Rounding does not decide on which side of an end a number is."""


def share_band(percent: float, n: float) -> Band:
    """Of an accuracy in percent on n texts: `p -+ 1.96 sqrt(p (1 - p) / n)`.

    >>> [round(end, 2) for end in share_band(90.0, 900)]
    [88.04, 91.96]
    """
    p = percent / 100
    half = 100 * Z * sqrt(p * (1 - p) / n)
    return percent - half, percent + half


def mean_band(value: float, deviation: float, n: float) -> Band:
    """Of a mean over n texts whose values have this standard deviation, in the same unit.

    >>> mean_band(15.0, 10.0, 400)
    (14.02, 15.98)
    """
    half = Z * deviation / sqrt(n)
    return value - half, value + half


def correlation_band(r: float, n: float) -> Band:
    """Of a correlation over n words, by Fisher's z: `tanh(atanh(r) -+ 1.96 / sqrt(n - 3))`.

    >>> [round(end, 4) for end in correlation_band(0.0, 403)]
    [-0.0977, 0.0977]
    """
    half = Z / sqrt(n - 3)
    return tanh(atanh(r) - half), tanh(atanh(r) + half)


def text_deviation(records: Iterable[Mapping[str, Any]], key: ScoreKey) -> float | None:
    """Standard deviation over texts of a score, from our own values: the root of the mean variance of the seeds.

    None where no record has two values.
    """
    variances = []
    for record in records:
        for series in record["values"]:
            if key.fits(series):
                known = _numbers(series["values"])
                if len(known) > 1:
                    variances.append(float(known.var(ddof=1)))
                break
    return sqrt(sum(variances) / len(variances)) if variances else None


def _numbers(values: Any) -> NDArray[np.float64]:
    """Values of texts as files keep them, without those that have none: a list, or a string of 0 and 1."""
    found = np.array([nan if one in (None, ".") else float(one) for one in values], np.float64)
    return found[np.isfinite(found)]


def judge(ours: Estimate | None, band: Band | None) -> Verdict:
    """Whether our mean lies in the band of the published number, or our interval at least meets it.

    Empty without a band: then there is nothing to hold ours against.
    """
    if band is None:
        return ""
    if ours is None or isnan(ours.value):
        return "not run"
    low, high = band
    if low - SLACK <= ours.value <= high + SLACK:
        return "ok"
    if isfinite(ours.low) and isfinite(ours.high) and ours.high >= low - SLACK and ours.low <= high + SLACK:
        return "close"
    return "off"


def judge_count(ours: float | None, published: float, step: float = 1) -> Verdict:
    """Whether a count is the published one, which was rounded to a multiple of `step`, or is within 5% of it.

    >>> judge_count(499_700, 500_000, 1000), judge_count(104, 100), judge_count(106, 100)
    ('ok', 'close', 'off')
    """
    if ours is None or isnan(ours):
        return "not run"
    if abs(ours - published) <= step / 2:
        return "ok"
    return "close" if abs(ours - published) <= NEAR * abs(published) else "off"


def printed_step(number: float, largest: float) -> int:
    """What the paper rounded the size of a split to, given the size of the dataset's largest split.

    Sizes are printed to the text, such as 8544; where a split has ten thousand texts or more, in thousands with at most
    one digit behind the point.

    >>> printed_step(8000, 8000), printed_step(5000, 25_000), printed_step(7600, 114_000)
    (1, 1000, 100)
    """
    if largest < LARGE:
        return 1
    return next(step for step in (1000, 100, 10, 1) if number % step == 0)


def reaches(entry: Entry) -> bool:
    """Whether our mean is at least the lower end of the published number's band; False where either is missing."""
    return entry.ours is not None and entry.band is not None and entry.ours.value >= entry.band[0] - SLACK
