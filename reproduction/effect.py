"""An effect with its interval, and the verdict on a claim about it. `RULE` says how the verdict is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isnan, nan, sqrt
from statistics import fmean, variance
from typing import Literal, TypeAlias

from scipy.stats import nct, t

from vmask.evaluation.statistics import Estimate, holm, paired_seeds_difference

Verdict = Literal["holds", "contradicted", "not shown", "not run"]
Cell: TypeAlias = tuple[str, str]
"""Dataset and model."""
Values: TypeAlias = Mapping[int, float]
"""Seed -> a number."""
CONFIDENCE, LEVEL, POWER = 0.95, 0.05, 0.8
MANY_CELLS = 5
RULE = (
    "A cell is a dataset with a model. Every claim is about an effect: a difference between two methods, paired "
    "by seed, or a level; and about where it lies, such as above 0. The effect is the mean over cells of the "
    f"means over seeds. Its 95% interval is Student's t over cells where there are {MANY_CELLS} or more, so that "
    "it speaks of other datasets and models too; with fewer it is over the seeds of these cells (Satterthwaite's "
    "degrees of freedom), and speaks of them alone. The claim holds where the whole interval lies where the claim "
    "says. It is contradicted where the whole interval lies elsewhere; a claim that one method is higher than "
    "another also where the effect excludes the paper's: the interval of our differences minus the paper's in the "
    "same cells lies below 0. Else it is not shown. The power is the chance that the claim would be found to hold "
    "if the true effect were the paper's, given the spread that we see; beside it stands the effect that would be "
    "found with a chance of 80%. Tests in single cells are paired t over seeds, by Holm's correction over the "
    "cells; no verdict rests on them."
)
"""How a verdict is found."""


@dataclass(frozen=True)
class Region:
    """Where an effect must lie for a claim to hold, between `low` and `high`."""

    low: float = -inf
    high: float = inf

    def contains(self, low: float, high: float) -> bool:
        """Whether an interval lies within it."""
        return self.low < low and high < self.high

    def misses(self, low: float, high: float) -> bool:
        """Whether an interval lies outside of it."""
        return high < self.low or low > self.high


ABOVE_0, BELOW_0 = Region(low=0.0), Region(high=0.0)


@dataclass(frozen=True)
class Effect:
    """A difference or a level over cells.

    Attributes:
        title: what it is.
        values: cell -> the value of every seed, or a single one; cells without values are left out.
        region: where the claim says that it lies.
        paper: cell -> the same in the paper, where it prints it.
        confidence: of the interval.
        unit: `points`, where values are shares and shown in percent, or empty, where they are shown as they are.
        signed: whether values are shown with their sign.
    """

    title: str
    values: Mapping[Cell, Sequence[float]]
    region: Region = ABOVE_0
    paper: Mapping[Cell, float] = field(default_factory=dict)
    confidence: float = CONFIDENCE
    unit: str = "points"
    signed: bool = True

    @property
    def means(self) -> dict[Cell, float]:
        """Cell -> mean over seeds."""
        return {cell: fmean(values) for cell, values in self.values.items()}

    @property
    def mean(self) -> Estimate:
        """The effect with its interval; without ends where nothing varies that could give one."""
        means = list(self.means.values())
        error, df, how = self._error()
        value = fmean(means) if means else nan
        half = 0.0 if error == 0 else float(t.isf((1 - self.confidence) / 2, df)) * error
        return Estimate(value, value - half, value + half, len(means), how)

    def _error(self) -> tuple[float, float, str]:
        """Standard error of the mean over cells, its degrees of freedom, and what it is over; NaN without an error."""
        means = list(self.means.values())
        count = len(means)
        seeded = all(len(values) > 1 for values in self.values.values())
        if count >= MANY_CELLS or (count > 1 and not seeded):
            return sqrt(variance(means) / count), count - 1, f"over {count} cells"
        if not count or not seeded:
            return nan, nan, "without an interval"
        parts = [variance(values) / len(values) for values in self.values.values()]
        freedom = sum(part**2 / (len(values) - 1) for part, values in zip(parts, self.values.values(), strict=True))
        df = sum(parts) ** 2 / freedom if freedom else inf
        return sqrt(sum(parts)) / count, df, f"over the seeds of {count} cell{'s' if count > 1 else ''}"

    @property
    def in_paper(self) -> float | None:
        """The mean of the paper's effect in the same cells; None where it prints it for none of them."""
        printed = [value for cell, value in self.paper.items() if cell in self.values]
        return fmean(printed) if printed else None

    @property
    def smaller_than_paper(self) -> bool:
        """Whether the interval of our values minus the paper's, in the cells for which it prints one, lies below 0."""
        shared = {
            cell: [value - self.paper[cell] for value in values]
            for cell, values in self.values.items()
            if cell in self.paper
        }
        return bool(shared) and replace(self, values=shared, paper={}).mean.high < 0

    @property
    def verdict(self) -> Verdict:
        """What our results say of the claim, see `RULE`."""
        if not self.values:
            return "not run"
        mean = self.mean
        if self.region.contains(mean.low, mean.high):
            return "holds"
        if self.region.misses(mean.low, mean.high) or (self.region == ABOVE_0 and self.smaller_than_paper):
            return "contradicted"
        return "not shown"

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, where the interval beside the region does not say it."""
        mean = self.mean
        if not self.values:
            return ""
        if isnan(mean.low):
            return "one value, no interval"
        if self.region == ABOVE_0 and self.smaller_than_paper:
            opposite = self.region.misses(mean.low, mean.high)
            return "the opposite" if opposite else "smaller than in the paper"
        return "the opposite" if self.verdict == "contradicted" and self.region in (ABOVE_0, BELOW_0) else ""

    def power(self) -> float | None:
        """The chance that the claim is found to hold if the true effect is the paper's; None where that is unknown."""
        at, (error, df, _) = self.in_paper, self._error()
        if at is None or not error > 0:
            return None
        critical = float(t.isf((1 - self.confidence) / 2, df))
        chance = 1.0
        if isfinite(self.region.low):
            chance -= _cdf(critical, df, (at - self.region.low) / error)
        if isfinite(self.region.high):
            chance -= 1 - _cdf(-critical, df, (at - self.region.high) / error)
        return max(0.0, chance)

    def detectable(self) -> float | None:
        """How far beyond the edge of the region the true effect must lie to be found with a chance of 80%.

        None for a region with two edges, and without an interval.
        """
        error, df, _ = self._error()
        if isnan(error) or (isfinite(self.region.low) and isfinite(self.region.high)):
            return None
        return (float(t.isf((1 - self.confidence) / 2, df)) + float(t.isf(1 - POWER, df))) * error

    def here(self) -> str:
        """The effect with its interval, in words."""
        if not self.values:
            return "not run"
        mean = self.mean
        ends = "" if isnan(mean.low) else f" ({self.number(mean.low)} to {self.number(mean.high)})"
        return f"{self.number(mean.value)}{ends}"

    def there(self) -> str:
        """The paper's effect in the same cells, in words; empty where it has none."""
        return "" if self.in_paper is None else self.number(self.in_paper)

    def strength(self) -> str:
        """The power at the paper's effect, and the effect that would be found, in words."""
        power, least = self.power(), self.detectable()
        parts = [] if power is None else [f"{power:.2f}"]
        if least is not None and least > 0 and self.values:
            parts.append(f"80% at {self.number(least, signed=False)}")
        return ", ".join(parts)

    def number(self, value: float, signed: bool | None = None) -> str:
        """A value as it is shown."""
        scale, sign = (100 if self.unit else 1), ("+" if (self.signed if signed is None else signed) else "")
        return f"{scale * value:{sign}.2f}"

    def words(self) -> str:
        """The effect in a line: with the paper's, and in how many cells it is clear."""
        if not self.values:
            return "not run"
        beside = f", in the paper {self.there()}" if self.there() else ""
        told = f"{self.here()} {self.unit}".rstrip() + f" {self.mean.how}{beside}"
        if self.region != ABOVE_0:
            return told
        higher, lower, tested = self.clear()
        above = sum(value > 0 for value in self.means.values())
        return (
            f"{told}; higher in {above} of {len(self.values)} cells, by a test over seeds clearly so in {higher}, "
            f"clearly lower in {lower} of {tested}"
        )

    def clear(self) -> tuple[int, int, int]:
        """Cells in which a paired t test over seeds finds it above 0, below 0; and all that can be tested."""
        tested = {cell: values for cell, values in self.values.items() if len(values) > 1}
        tests = [paired_seeds_difference(values, [0.0] * len(values)) for values in tested.values()]
        pairs = list(zip(tests, holm([test.p for test in tests]), strict=True))
        higher = sum(p < LEVEL and test.value > 0 for test, p in pairs)
        return higher, sum(p < LEVEL and test.value < 0 for test, p in pairs), len(tested)


def _cdf(value: float, df: float, shift: float) -> float:
    """Noncentral t; of a shift far beyond the value, where scipy may give NaN, the limit."""
    found = float(nct.cdf(value, df, shift))
    return (0.0 if shift > value else 1.0) if isnan(found) else found


def paired(
    cells: Iterable[Cell], first: Callable[[Cell], Values], second: Callable[[Cell], Values]
) -> dict[Cell, list[float]]:
    """Cell -> the second minus the first of every seed that both have; cells without such a seed are left out."""
    found = {}
    for cell in cells:
        a, b = first(cell), second(cell)
        if shared := sorted(set(a).intersection(b)):
            found[cell] = [b[seed] - a[seed] for seed in shared]
    return found


def levels(cells: Iterable[Cell], of: Callable[[Cell], Values]) -> dict[Cell, list[float]]:
    """Cell -> the value of every seed; cells without any are left out."""
    return {cell: list(values.values()) for cell in cells if (values := of(cell))}


def lowest(title: str, values: Mapping[Cell, Sequence[float]], paper: Mapping[Cell, float]) -> Effect:
    """The effect in the cell where it is most clearly low, as a claim that it is below 0 somewhere.

    The interval's confidence is raised for the choice of one of many cells (Bonferroni). If even the lowest lies above
    0, so do all. Where no cell has two seeds, the one with the lowest value, without an interval.
    """
    seeded = {cell: one for cell, one in values.items() if len(one) > 1} or values
    confidence = 1 - (1 - CONFIDENCE) / max(len(seeded), 1)
    one_by_one = [
        Effect(title, {cell: one}, BELOW_0, {cell: min(paper.values())} if paper else {}, confidence)
        for cell, one in seeded.items()
    ]
    found = sorted(one_by_one, key=lambda effect: effect.mean.value if isnan(effect.mean.high) else effect.mean.high)
    return found[0] if found else Effect(title, {}, BELOW_0)
