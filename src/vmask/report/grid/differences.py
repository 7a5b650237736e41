"""Differences of trainings to those of a baseline, and tests of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from vmask.errors import UnknownName
from vmask.evaluation.statistics import Difference, holm, paired_seeds_difference, seeds_difference
from vmask.report.grid.results import Setting

USUAL = "base"
"""The method that others are compared with where there is one of this name and nothing else is asked for."""


@dataclass(frozen=True)
class Tested:
    """A difference to the baseline.

    Attributes:
        difference: with its interval and p-value.
        p_adjusted: p-value after Holm's correction over all tests of a table; NaN where there is no test.
    """

    difference: Difference
    p_adjusted: float = nan


def choose_baseline(methods: Sequence[str], asked: str | None = None) -> str:
    """The method that others are compared with.

    Args:
        methods: those that have results.
        asked: the method that somebody chose; None for the usual one, or the first where it is not there.

    Raises:
        UnknownName: for a method without results.
    """
    if asked is None:
        return USUAL if USUAL in methods else methods[0]
    if asked not in methods:
        raise UnknownName("method", asked, methods)
    return asked


def reference(setting: Setting, baseline: str, settings: Iterable[Setting]) -> Setting | None:
    """The setting of the baseline that another one is compared with; None for that setting itself.

    It is of the same dataset and model, and of the same variant if there is one; else of no variant, else the first.
    Variants of the baseline are compared with the baseline without a variant, else with its first.
    """
    of_baseline = [one for one in settings if one[:2] == setting[:2] and one.mask == baseline]
    variants = {one.variant: one for one in reversed(of_baseline)}
    if setting.mask != baseline and setting.variant in variants:
        return variants[setting.variant]
    chosen = variants.get("", of_baseline[0] if of_baseline else None)
    return None if chosen == setting else chosen


def compare(by_seed: Mapping[int, float], of_baseline: Mapping[int, float]) -> Difference:
    """Difference of means over seeds: paired where both have the same seeds, else by Welch's test."""
    if set(by_seed) == set(of_baseline):
        seeds = sorted(by_seed)
        return paired_seeds_difference([by_seed[seed] for seed in seeds], [of_baseline[seed] for seed in seeds])
    return seeds_difference(list(by_seed.values()), list(of_baseline.values()))


def adjust(differences: Sequence[Difference | None]) -> list[Tested | None]:
    """Differences of one table with p-values after Holm's correction, in their order."""
    adjusted = holm([nan if difference is None else difference.p for difference in differences])
    return [
        None if difference is None else Tested(difference, p)
        for difference, p in zip(differences, adjusted, strict=True)
    ]
