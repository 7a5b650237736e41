"""Make the entries of tables: our number with its interval, the published one, the verdict, and what is bold."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from math import nan
from typing import TypeVar

from reproduction.bands import Band, judge
from reproduction.table import Entry, Verdict
from vmask.evaluation.statistics import Difference, Estimate, holm, paired_seeds_difference, seeds_difference

LEVEL = 0.05
BASE = "base"
NO_NUMBER = "none"
"""Stands where the paper (or an earlier one) has no number."""
BOLD = (
    f"Bold is the best method of its model and dataset where Welch's test over seeds against base has p < {LEVEL:.2f} "
    "after Holm's correction over all tests of the table, a test for each method that has two seeds or more."
)

Group = TypeVar("Group", bound=Hashable)


def entry(
    ours: Estimate | None,
    published: float | None = None,
    band: Band | None = None,
    differs: tuple[str, ...] = (),
    bold: bool = False,
) -> Entry:
    """An entry with its verdict, which is empty where there is no published number, or no band of it for ours."""
    verdict: Verdict = "not run" if ours is None and published is not None else judge(ours, band)
    return Entry(ours, published, band, verdict, () if ours is None else differs, bold=bold)


def unjudged(ours: Estimate | None, published: float | None, differs: tuple[str, ...] = ()) -> Entry:
    """An entry whose published number is shown, but cannot be held against ours."""
    return Entry(ours, published, differs=() if ours is None else differs)


def scaled(estimate: Estimate | None, factor: float = 100) -> Estimate | None:
    """In another unit, such as percent."""
    if estimate is None:
        return None
    value, low, high = (factor * one for one in (estimate.value, estimate.low, estimate.high))
    return dataclasses.replace(estimate, value=value, low=low, high=high)


def difference(found: Difference | None) -> Estimate | None:
    """A difference as an entry shows it; seeds that happen to give the same have no interval."""
    if found is None:
        return None
    certain = found.low == found.high
    low, high = (nan, nan) if certain else (found.low, found.high)
    return Estimate(found.value, low, high, found.n, found.how)


def paired_by_seed(first: Mapping[int, float], second: Mapping[int, float]) -> Estimate | None:
    """The first minus the second, of the seeds that both have; None where there is none."""
    seeds = sorted(set(first).intersection(second))
    if not seeds:
        return None
    return difference(paired_seeds_difference([first[seed] for seed in seeds], [second[seed] for seed in seeds]))


def supported(groups: Mapping[Group, Mapping[str, Mapping[int, float]]]) -> set[tuple[Group, str]]:
    """Which methods are the best of their group, such as a model on a dataset, and by a test better than base.

    Every method is tested against base, not the best alone: which one is the best was seen in the same numbers, so all
    that could have been it count for Holm's correction.

    Args:
        groups: group -> method -> seed -> number, the higher the better.
    """
    asked: list[tuple[Group, str]] = []
    found: list[float] = []
    for group, methods in groups.items():
        base = list(methods.get(BASE, {}).values())
        for method, by_seed in methods.items():
            if method != BASE:
                asked.append((group, method))
                found.append(seeds_difference(list(by_seed.values()), base).p)  # NaN, no test, without two seeds each
    adjusted = dict(zip(asked, holm(found), strict=True))
    best = set()
    for group, methods in groups.items():
        means = {method: sum(one.values()) / len(one) for method, one in methods.items() if one}
        if means:
            first = max(means, key=means.__getitem__)
            if adjusted.get((group, first), nan) < LEVEL:
                best.add((group, first))
    return best
