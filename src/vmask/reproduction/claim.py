"""A claim of the paper and the verdict on it: what all claims share. `RULE` says how it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vmask.reproduction.results import DATASETS, MODELS, Key, Results
from vmask.statistics import holm, seeds_difference, seeds_interval

ClaimVerdict = Literal["holds", "holds in part", "not shown", "does not hold", "not run"]
LEVEL = 0.05
RULE = (
    "A cell is a dataset with a model. A claim that one method is higher than another holds where the 95% t interval "
    "of the mean difference over cells lies on its side and no cell contradicts it (a test over seeds: Welch's, by "
    "Holm's correction over the cells); it does not hold where the interval lies on the other side, or cells "
    "contradict it and none supports it; else it is not shown. A claim about every cell holds where it is so in all "
    "of them, and in part where it is in some. A claim of several parts holds in part where one of them does."
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
    """

    name: str
    sentence: str
    verdict: ClaimVerdict
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sides:
    """How two methods compare over cells.

    Attributes:
        differences: cell -> mean of the second minus mean of the first.
        supported: cells where a test finds the second higher.
        contradicted: cells where a test finds it lower.
        tested: cells that have two seeds or more of both.
    """

    differences: Mapping[Cell, float]
    supported: Sequence[Cell]
    contradicted: Sequence[Cell]
    tested: int

    @property
    def higher(self) -> int:
        """Cells where the second method's mean is higher."""
        return sum(one > 0 for one in self.differences.values())

    def verdict(self) -> ClaimVerdict:
        """Whether the second method is higher, see `RULE`."""
        if not self.differences:
            return "not run"
        mean = seeds_interval(list(self.differences.values()))
        if mean.low > 0 and not self.contradicted:
            return "holds"
        if mean.high < 0 or (self.contradicted and not self.supported):
            return "does not hold"
        return "not shown"

    def words(self, scale: float = 100, unit: str = "points") -> str:
        """The numbers behind the verdict."""
        if not self.differences:
            return "not run"
        mean = seeds_interval(list(self.differences.values()))
        ends = "" if len(self.differences) < 2 else f" ({scale * mean.low:+.2f} to {scale * mean.high:+.2f})"
        return (
            f"{scale * mean.value:+.2f} {unit}{ends} on average; higher in {self.higher} of {len(self.differences)} "
            f"cells; by a test over seeds clearly so in {len(self.supported)}, clearly lower in "
            f"{len(self.contradicted)} of {self.tested}"
        )


def sides(cells: Iterable[Cell], first: Callable[[Cell], Values], second: Callable[[Cell], Values]) -> Sides:
    """Compare two methods in all cells that have both."""
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
    )


def cells_of(datasets: Sequence[str] = DATASETS, models: Sequence[str] = MODELS) -> list[Cell]:
    """Every dataset with every model."""
    return [(dataset, model) for model in models for dataset in datasets]


def scored(results: Results, mask: str, stage: str, key: Key) -> Callable[[Cell], Values]:
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
