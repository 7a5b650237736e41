"""A table for every metric that results have: every method and variant, a column for each dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import ClassVar, Literal, NamedTuple

from vmask.errors import VmaskError
from vmask.evaluation.statistics import Estimate
from vmask.grid.store import TRAIN
from vmask.metrics.contract import FLOORS, Facts
from vmask.report.grid.differences import Tested, adjust, compare, reference
from vmask.report.grid.results import (
    DEV_ACCURACY,
    OVER_TEXTS,
    SECONDS,
    TEST_ACCURACY,
    GridResults,
    Measurement,
    Setting,
    over_seeds,
)
from vmask.report.grid.signature import signature
from vmask.report.grid.table import Entry, Mark, Row, Table, plain

LEVEL = 0.05
"""p-values below it are marked."""
TRAINING_TITLES = {
    TEST_ACCURACY: "Accuracy on the test texts",
    DEV_ACCURACY: "Accuracy on the dev texts, of the best epoch",
    SECONDS: "Seconds of a training epoch",
}
TRAINING_BETTER: dict[str, Literal["higher", "lower"]] = {
    TEST_ACCURACY: "higher",
    DEV_ACCURACY: "higher",
    SECONDS: "lower",
}

Better = Literal["higher", "lower", "neither"]


class Which(NamedTuple):
    """Which of a metric's numbers: its part, whose explanations or ranking, how words were hidden."""

    part: str
    by: str
    hide: str


@dataclass(frozen=True)
class Compared(Entry):
    """A mean with its difference to the baseline.

    Attributes:
        tested: the difference; None for the baseline itself, and where the baseline was not run.
        better: whether higher or lower numbers are better.
        digits: behind the point of the difference.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        *Entry.FIELDS,
        *("difference", "difference_low", "difference_high", "p", "p_holm", "test"),
    )

    tested: Tested | None = field(default=None, kw_only=True)
    better: Better = field(default="neither", kw_only=True)
    digits: int = field(default=3, kw_only=True)

    def beside(self) -> str:
        """The difference."""
        if self.tested is None:
            return ""
        return f"Δ {round(self.tested.difference.value, self.digits) + 0.0:+.{self.digits}f}"

    @property
    def mark(self) -> Mark | None:
        """An arrow where a test tells the number from the baseline's."""
        if self.tested is None or not self.tested.p_adjusted < LEVEL:
            return None
        above = self.tested.difference.value > 0
        kind = "" if self.better == "neither" else "ok" if above == (self.better == "higher") else "off"
        return Mark("↑" if above else "↓", "", kind)

    @property
    def hint(self) -> str:
        """How the interval was made, and the test."""
        parts = [super().hint]
        if self.tested is not None and self.tested.p_adjusted == self.tested.p_adjusted:
            difference = self.tested.difference
            parts.append(
                f"difference {difference.value:+.4g} ({difference.low:+.4g} to {difference.high:+.4g}), "
                f"{difference.how}, p = {difference.p:.3g}, after Holm {self.tested.p_adjusted:.3g}"
            )
        return "; ".join(filter(None, parts))

    def fields(self) -> tuple[str, ...]:
        """The values of `FIELDS`; what there is not is empty."""
        if self.tested is None:
            return (*super().fields(), *[""] * 6)
        found = self.tested.difference
        numbers = (found.value, found.low, found.high, found.p, self.tested.p_adjusted)
        return (*super().fields(), *map(plain, numbers), found.how)


@dataclass(frozen=True)
class MetricTable(Table[Compared]):
    """A table of a metric.

    Attributes:
        baseline: the method that others are compared with.
    """

    FIELDS: ClassVar[tuple[str, ...]] = Compared.FIELDS

    baseline: str = field(default="", kw_only=True)

    def legend_of_numbers(self) -> list[str]:
        """What a number is, and its difference to the baseline."""
        parts = super().legend_of_numbers()
        differences = [entry.tested for entry in self.entries if entry.tested is not None]
        if differences:
            variants = ", of the same variant where it has one" if "variant" in self.heads else ""
            parts.append(f"Δ difference to {self.baseline}{variants}")
        tests = [one for one in differences if one.p_adjusted == one.p_adjusted]
        if tests:
            kinds = {one.difference.how.partition(" over ")[0] for one in tests}
            parts.append(
                f"↑ ↓ the difference has p < {LEVEL:.2f} after Holm's correction over the {len(tests)} tests of the "
                f"table ({' and '.join(sorted(kinds))} over seeds)"
            )
        return parts


@dataclass(frozen=True)
class MetricFacts:
    """What is told of a metric.

    Attributes:
        title: what it measures.
        better: whether higher or lower numbers are better.
    """

    title: str
    better: Better

    @classmethod
    def of(cls, metric: str, stage: str) -> MetricFacts:
        """What the registry says of a metric, or its name where it is not registered here."""
        if stage == TRAIN:
            return cls(TRAINING_TITLES[metric], TRAINING_BETTER[metric])
        try:
            facts = Facts.read(metric)
        except VmaskError:  # of a package that is not installed here, or broken
            return cls(metric, "neither")
        return cls(f"{metric}: {facts.summary.rstrip('.')}", facts.better)


def metric_tables(results: GridResults, baseline: str) -> list[MetricTable]:
    """A table for every metric of every stage, of the parts that are its headline."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in results.measurements:
        if measurement.headline:
            groups.setdefault((measurement.stage, measurement.metric), []).append(measurement)
    order = sorted(groups, key=lambda key: (key[0] != TRAIN, list(groups).index(key)))
    stages = {metric: sum(other == metric for _, other in groups) for _, metric in groups}
    return [
        _table(results, baseline, stage, metric, groups[stage, metric], alone=stages[metric] == 1)
        for stage, metric in order
    ]


def _table(
    results: GridResults, baseline: str, stage: str, metric: str, measurements: Sequence[Measurement], *, alone: bool
) -> MetricTable:
    by_cell: dict[tuple[Which, Setting], dict[int, Measurement]] = {}
    for one in measurements:
        which = Which(one.part, one.by, one.hide)
        by_cell.setdefault((which, one.setting), {})[one.seed] = one
    facts = MetricFacts.of(metric, stage)
    digits = _digits(one.value for one in measurements)
    datasets = datasets_of(results)
    methods = methods_of(results, baseline)
    rows = [
        (which, method)
        for which in sorted(dict.fromkeys(which for which, _ in by_cell), key=lambda which: which.by in FLOORS)
        for method in methods
        if any((which, Setting(dataset, *method)) in by_cell for dataset in datasets)
    ]
    cells = [(which, Setting(dataset, *method)) for which, method in rows for dataset in datasets]
    differences = []
    for which, setting in cells:
        other = reference(setting, baseline, results.settings)
        seeds = by_cell.get((which, setting), {})
        others = by_cell.get((which, other), {}) if other is not None else {}
        tested = seeds and others and which.by not in FLOORS
        differences.append(compare(_values(seeds), _values(others)) if tested else None)
    entries = iter(
        Compared(_estimate(by_cell.get(cell, {})), tested=tested, better=facts.better, digits=digits)
        for cell, tested in zip(cells, adjust(differences), strict=True)
    )
    heads = _Heads([which for which, _ in rows], [method for _, method in rows])
    direction = "" if facts.better == "neither" else f" ({facts.better} is better)"
    return MetricTable(
        name=metric if alone else f"{metric}_{stage}",
        title=f"{facts.title}{direction}" if alone or stage == TRAIN else f"{facts.title}{direction}, {stage}",
        heads=heads.names,
        columns=tuple(datasets),
        rows=[Row(heads.row(which, method), tuple(next(entries) for _ in datasets)) for which, method in rows],
        signature=signature([results.stage(setting, stage) for setting in _with_results(by_cell)], heads.constant),
        digits=digits,
        baseline=baseline,
    )


class _Heads:
    """The heads of rows: model and method, and before them what differs between rows; what does not is told once."""

    def __init__(self, which: Sequence[Which], methods: Sequence[tuple[str, str, str]]) -> None:
        titles = {"by": "by", "hide": "words hidden by", "part": "part"}
        values = {name: dict.fromkeys(filter(None, (getattr(one, name) for one in which))) for name in titles}
        self.differing = [name for name in titles if len(values[name]) > 1]
        self.variants = any(variant for *_, variant in methods)
        constant = {name: next(iter(values[name])) for name in titles if len(values[name]) == 1}
        self.constant = ", ".join(f"{titles[name]} {value}" for name, value in constant.items())
        own = ("model", "method", "variant") if self.variants else ("model", "method")
        self.names = (*(titles[name] for name in self.differing), *own)

    def row(self, which: Which, method: tuple[str, str, str]) -> tuple[str, ...]:
        """The heads of a row."""
        return (*(getattr(which, name) for name in self.differing), *(method if self.variants else method[:2]))


def datasets_of(results: GridResults) -> list[str]:
    """Datasets that have results, by alphabet."""
    return sorted({setting.dataset for setting in results.settings})


def methods_of(results: GridResults, baseline: str) -> list[tuple[str, str, str]]:
    """Model, method and variant of every row: the baseline before the other methods of its model."""
    found = {setting[1:] for setting in results.settings}
    return sorted(found, key=lambda row: (row[0], row[1] != baseline, row[1], row[2]))


def _with_results(by_cell: Iterable[tuple[Which, Setting]]) -> list[Setting]:
    return list(dict.fromkeys(setting for _, setting in by_cell))


def _values(by_seed: dict[int, Measurement]) -> dict[int, float]:
    return {seed: measurement.value for seed, measurement in by_seed.items()}


def _estimate(by_seed: dict[int, Measurement]) -> Estimate | None:
    """The mean over seeds; of one seed its number, with the interval over texts."""
    if len(by_seed) != 1:
        return over_seeds(_values(by_seed))
    (one,) = by_seed.values()
    return Estimate(one.value, one.low, one.high, one.n, OVER_TEXTS)


def _digits(values: Iterable[float]) -> int:
    """Digits behind the point: the larger the numbers, the fewer."""
    largest = max((abs(value) for value in values if value == value and abs(value) != float("inf")), default=nan)
    return next((digits for limit, digits in ((2, 3), (100, 2), (10_000, 1)) if largest <= limit), 0)
