"""A claim of the paper and the verdict on it: what all claims share. `RULE` says how it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from reproduction.results import DATASETS, MODELS, Results, ScoreKey
from vmask.evaluation.statistics import Estimate, holm, seeds_difference, seeds_interval

ClaimVerdict = Literal["holds", "holds in part", "not shown", "does not hold", "not run"]
LEVEL = 0.05
RULE = (
    "A cell is a dataset with a model. A claim that one method is higher than another rests on the 95% t interval of "
    "the mean difference over cells. It holds where the interval lies above 0 and no cell contradicts it (a test over "
    "seeds: Welch's, by Holm's correction over the cells); it does not hold where the interval lies below 0, which "
    "leaves out both 0 and what the paper claims, and no cell supports it; else it is not shown. A claim that two "
    "methods are nearly equal holds where the interval lies within the limit, and does not hold where it lies beyond; "
    "else it is not shown. A claim about every cell holds where it is so in all of them, in part where it is in some, "
    "and does not hold where it is in none. A claim of several parts holds in part where one of them does. A claim "
    "about VMASK is not shown, where it would not hold, if a training behind it was kept from an epoch at which beta, "
    "on its way down, was still above 0.5: the penalty then still holds the mask back, and its failure would be the "
    "training's. One that holds in spite of that, holds."
)
"""How a verdict is found."""

Values = Mapping[int, float]
Cell = tuple[str, str]
"""Dataset and model."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        name: short, for machines.
        sentence: what the paper says, in our words.
        verdict: what our results say.
        evidence: the numbers behind the verdict, in lines; none where nothing was run.
        effects: the mean differences that the verdict rests on, with their intervals, beside the paper's.
        reason: why it is not shown; empty where it is.
    """

    name: str
    sentence: str
    verdict: ClaimVerdict
    evidence: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    reason: str = ""

    def lines(self) -> tuple[str, ...]:
        """Why it is not shown, then the evidence."""
        return tuple(filter(None, (self.reason, *self.evidence))) or ("not run",)


@dataclass(frozen=True)
class Sides:
    """How two methods compare over cells.

    Attributes:
        differences: cell -> mean of the second minus mean of the first.
        supported: cells where a test finds the second higher.
        contradicted: cells where a test finds it lower.
        tested: cells that have two seeds or more of both.
        paper: cell -> the same difference in the paper, where it prints both.
    """

    differences: Mapping[Cell, float]
    supported: Sequence[Cell]
    contradicted: Sequence[Cell]
    tested: int
    paper: Mapping[Cell, float] = field(default_factory=dict)

    @property
    def higher(self) -> int:
        """Cells where the second method's mean is higher."""
        return sum(one > 0 for one in self.differences.values())

    @property
    def mean(self) -> Estimate:
        """The mean difference over cells, with its interval."""
        return seeds_interval(list(self.differences.values()))

    def verdict(self) -> ClaimVerdict:
        """Whether the second method is higher, see `RULE`."""
        if not self.differences:
            return "not run"
        if self.mean.low > 0 and not self.contradicted:
            return "holds"
        if self.mean.high < 0 and not self.supported:
            return "does not hold"
        return "not shown"

    def near(self, limit: float) -> ClaimVerdict:
        """Whether the two are nearly equal, at most `limit` apart, see `RULE`."""
        if not self.differences:
            return "not run"
        if -limit <= self.mean.low and self.mean.high <= limit:
            return "holds"
        return "does not hold" if self.mean.low > limit or self.mean.high < -limit else "not shown"

    def effect(self) -> str:
        """The mean difference with its interval, and the paper's in the same cells."""
        if not self.differences:
            return "not run"
        paper = [one for cell, one in self.paper.items() if cell in self.differences]
        beside = f", in the paper {_points(seeds_interval(paper))}" if paper else ""
        return f"{_points(self.mean)} on average{beside}"

    def words(self) -> str:
        """The numbers behind the verdict."""
        if not self.differences:
            return "not run"
        return (
            f"{self.effect()}; higher in {self.higher} of {len(self.differences)} cells; by a test over seeds clearly "
            f"so in {len(self.supported)}, clearly lower in {len(self.contradicted)} of {self.tested}"
        )


def _points(mean: Estimate) -> str:
    """A mean of shares in points, with its interval where it has one."""
    ends = f" ({100 * mean.low:+.2f} to {100 * mean.high:+.2f})" if isfinite(mean.low) else ""
    return f"{100 * mean.value:+.2f} points{ends}"


def sides(
    cells: Iterable[Cell],
    first: Callable[[Cell], Values],
    second: Callable[[Cell], Values],
    paper: Callable[[Cell], float | None] = lambda cell: None,
) -> Sides:
    """Compare two methods in all cells that have both; `paper` is the difference that it prints for a cell."""
    differences: dict[Cell, float] = {}
    tests: dict[Cell, tuple[float, float]] = {}
    for cell in cells:
        a, b = list(first(cell).values()), list(second(cell).values())
        if not a or not b:
            continue
        differences[cell] = sum(b) / len(b) - sum(a) / len(a)
        if min(len(a), len(b)) > 1:
            found = seeds_difference(b, a)
            tests[cell] = (found.value, found.p)
    adjusted = dict(zip(tests, holm([p for _, p in tests.values()]), strict=True))
    clear = [cell for cell, p in adjusted.items() if p < LEVEL]
    return Sides(
        differences,
        [cell for cell in clear if tests[cell][0] > 0],
        [cell for cell in clear if tests[cell][0] < 0],
        len(tests),
        {cell: one for cell in differences if (one := paper(cell)) is not None},
    )


def compared(
    name: str, sentence: str, parts: Mapping[str, Sides], more: Iterable[str] = (), limit: float | None = None
) -> Claim:
    """A claim about mean differences: that one is higher or, with a `limit`, that they are nearly equal.

    Args:
        name: of the claim.
        sentence: of the claim.
        parts: what is compared, in words -> how; each is a part of the claim.
        more: lines of evidence that the verdict does not rest on.
        limit: how far apart methods may be that are nearly equal.
    """
    run = {title: one for title, one in parts.items() if one.differences}
    verdict = together([one.verdict() if limit is None else one.near(limit) for one in run.values()])
    return Claim(
        name,
        sentence,
        verdict,
        (*(f"{title}: {one.words()}" for title, one in run.items()), *more) if run else (),
        tuple(f"{title}: {one.effect()}" for title, one in run.items()),
        _unshown(run.values(), limit) if verdict == "not shown" else "",
    )


def _unshown(parts: Iterable[Sides], limit: float | None) -> str:
    """Why it is not shown, by where the intervals lie."""
    ends = [(one.mean.low, one.mean.high) for one in parts]
    if not all(isfinite(low) for low, _ in ends):
        return "One cell has no interval."
    if limit is not None:
        return f"The interval reaches within {100 * limit:g} points and beyond."
    if any(low <= 0 <= high for low, high in ends):
        return "The interval contains 0."
    return "Cells, or parts of the claim, point to both sides."


def cells_of(datasets: Sequence[str] = DATASETS, models: Sequence[str] = MODELS) -> list[Cell]:
    """Every dataset with every model."""
    return [(dataset, model) for model in models for dataset in datasets]


def scored(results: Results, mask: str, stage: str, key: ScoreKey) -> Callable[[Cell], Values]:
    """A score of every seed of a cell, as a function of the cell."""
    return lambda cell: results.scored(*cell, mask, stage, key)


def together(verdicts: Sequence[ClaimVerdict]) -> ClaimVerdict:
    """The verdict on a claim of several parts."""
    run = [one for one in verdicts if one != "not run"]
    if not run:
        return "not run"
    if len(set(run)) == 1:
        return run[0]
    return "holds in part" if {"holds", "holds in part"}.intersection(run) else "not shown"


def of_all(good: int, total: int) -> ClaimVerdict:
    """The verdict on a claim about every cell, by the number of cells where it is so."""
    if not total:
        return "not run"
    return "holds" if good == total else "holds in part" if good else "does not hold"


def mean_of(values: Values) -> float | None:
    """Mean over seeds; None without any."""
    return sum(values.values()) / len(values) if values else None


def listed(results: Results, values: Mapping[Cell, float], scale: float = 100, digits: int = 1) -> str:
    """Numbers of cells in words."""
    found = [f"{cell_title(results, cell)} {scale * one:.{digits}f}" for cell, one in values.items()]
    return ", ".join(found) or "not run"


def cell_title(results: Results, cell: Cell) -> str:
    """A cell by the names of what was run: the model that stands for the paper's, the data that stand in for its."""
    dataset, model = cell
    return f"{results.title(results.model(model))} {results.title(dataset)}"
