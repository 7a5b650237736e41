"""A table for every metric that results have: every method and variant beside a baseline, a column for each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import ClassVar, Literal, NamedTuple

from vmask.errors import UnknownName, VmaskError
from vmask.evaluation.statistics import Difference, Estimate, holm, paired_seeds_difference, seeds_difference
from vmask.grid.store import TRAIN
from vmask.metrics.contract import FLOORS, Facts
from vmask.report.grid.results import (
    DEV_ACCURACY,
    OVER_TEXTS,
    SECONDS,
    TEST_ACCURACY,
    GridResults,
    Measurement,
    Setting,
    over_seeds,
    signature,
)
from vmask.report.grid.table import Entry, Mark, Row, Table, plain

USUAL_BASELINE = "base"
"""The method that others are compared with where there is one of this name and nothing else is asked for."""
LEVEL = 0.05
"""p-values below it are marked."""
Better = Literal["higher", "lower", "neither"]
TRAINING_TITLES: dict[str, tuple[str, Better]] = {
    TEST_ACCURACY: ("Accuracy on the test texts", "higher"),
    DEV_ACCURACY: ("Accuracy on the dev texts, of the best epoch", "higher"),
    SECONDS: ("Seconds of a training epoch", "lower"),
}
"""Title, and what is better, of the numbers that every training has."""


class Which(NamedTuple):
    """Which of a metric's numbers: its part, whose explanations or ranking, how words were hidden."""

    part: str
    by: str
    hide: str


@dataclass(frozen=True)
class Compared(Entry):
    """A mean with its difference to the baseline.

    Attributes:
        difference: with its interval and p-value; None for the baseline itself, and where the baseline was not run.
        p_adjusted: p-value after Holm's correction over all tests of a table; NaN where there is no test.
        better: whether higher or lower numbers are better.
        digits: behind the point of the difference.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        *Entry.FIELDS,
        *("difference", "difference_low", "difference_high", "p", "p_holm", "test"),
    )

    difference: Difference | None = field(default=None, kw_only=True)
    p_adjusted: float = field(default=nan, kw_only=True)
    better: Better = field(default="neither", kw_only=True)
    digits: int = field(default=3, kw_only=True)

    def beside(self) -> str:
        """The difference."""
        if self.difference is None:
            return ""
        return f"Δ {round(self.difference.value, self.digits) + 0.0:+.{self.digits}f}"

    @property
    def mark(self) -> Mark | None:
        """An arrow where a test tells the number from the baseline's."""
        if self.difference is None or isnan(self.p_adjusted) or self.p_adjusted >= LEVEL:
            return None
        above = self.difference.value > 0
        kind = "" if self.better == "neither" else "ok" if above == (self.better == "higher") else "off"
        return Mark("↑" if above else "↓", "", kind)

    @property
    def hint(self) -> str:
        """How the interval was made, and the test."""
        parts = [super().hint]
        if self.difference is not None and not isnan(self.p_adjusted):
            difference = self.difference
            parts.append(
                f"difference {difference.value:+.4g} ({difference.low:+.4g} to {difference.high:+.4g}), "
                f"{difference.how}, p = {difference.p:.3g}, after Holm {self.p_adjusted:.3g}"
            )
        return "; ".join(filter(None, parts))

    def fields(self) -> tuple[str, ...]:
        """The values of `FIELDS`; what there is not is empty."""
        if self.difference is None:
            return (*super().fields(), *[""] * 6)
        difference = self.difference
        numbers = (difference.value, difference.low, difference.high, difference.p, self.p_adjusted)
        return (*super().fields(), *map(plain, numbers), difference.how)


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
        differences = [entry.difference for entry in self.entries if entry.difference is not None]
        if differences:
            variants = ", of the same variant where it has one" if "variant" in self.heads else ""
            parts.append(f"Δ difference to {self.baseline}{variants}")
        tests = [difference for difference in differences if not isnan(difference.p)]
        if tests:
            kinds = {difference.how.partition(" over ")[0] for difference in tests}
            parts.append(
                f"↑ ↓ the difference has p < {LEVEL:.2f} after Holm's correction over the {len(tests)} tests of the "
                f"table ({' and '.join(sorted(kinds))} over seeds)"
            )
        return parts


def choose_baseline(methods: Sequence[str], asked: str | None = None) -> str:
    """The method that others are compared with: the one that is asked for, else the usual one, else the first.

    Raises:
        UnknownName: for a method without results.
    """
    if asked is None:
        return USUAL_BASELINE if USUAL_BASELINE in methods else methods[0]
    if asked not in methods:
        raise UnknownName("method", asked, methods)
    return asked


def metric_tables(results: GridResults, baseline: str) -> list[MetricTable]:
    """A table for every metric of every stage, of the parts that are its headline."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in results.measurements:
        if measurement.headline:
            groups.setdefault((measurement.stage, measurement.metric), []).append(measurement)
    stages = Counter(metric for _, metric in groups)
    return [
        _table(results, baseline, stage, metric, groups[stage, metric], alone=stages[metric] == 1)
        for stage, metric in sorted(groups, key=lambda key: key[0] != TRAIN)
    ]


def _table(
    results: GridResults, baseline: str, stage: str, metric: str, measurements: Sequence[Measurement], *, alone: bool
) -> MetricTable:
    by_cell: dict[tuple[Which, Setting], dict[int, Measurement]] = {}
    for measurement in measurements:
        which = Which(measurement.part, measurement.by, measurement.hide)
        by_cell.setdefault((which, measurement.setting), {})[measurement.seed] = measurement
    title, better = _title(metric, stage)
    digits = _digits(measurement.value for measurement in measurements)
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
        other = _reference(setting, baseline, results.settings)
        seeds = _values(by_cell.get((which, setting), {}))
        others = _values(by_cell.get((which, other), {})) if other is not None else {}
        differences.append(_compare(seeds, others) if seeds and others and which.by not in FLOORS else None)
    adjusted = holm([nan if difference is None else difference.p for difference in differences])
    entries = iter(
        Compared(_estimate(by_cell.get(cell, {})), difference=difference, p_adjusted=p, better=better, digits=digits)
        for cell, difference, p in zip(cells, differences, adjusted, strict=True)
    )
    heads = _Heads([which for which, _ in rows], [method for _, method in rows])
    if better != "neither":
        title += f" ({better} is better)"
    with_results = dict.fromkeys(setting for _, setting in by_cell)
    return MetricTable(
        name=metric if alone else f"{metric}_{stage}",
        title=title if alone or stage == TRAIN else f"{title}, {stage}",
        heads=heads.names,
        columns=tuple(datasets),
        rows=[Row(heads.row(which, method), tuple(next(entries) for _ in datasets)) for which, method in rows],
        signature=signature([results.stage(setting, stage) for setting in with_results], heads.constant),
        digits=digits,
        baseline=baseline,
    )


def _title(metric: str, stage: str) -> tuple[str, Better]:
    """What a metric measures, and what is better: as the registry says, or its name where it is not registered here."""
    if stage == TRAIN:
        return TRAINING_TITLES[metric]
    try:
        facts = Facts.read(metric)
    except VmaskError:  # of a package that is not installed here, or broken
        return metric, "neither"
    return f"{metric}: {facts.summary.rstrip('.')}", facts.better


def _reference(setting: Setting, baseline: str, settings: Iterable[Setting]) -> Setting | None:
    """The setting of the baseline that another one is compared with; None for that setting itself.

    It is of the same dataset and model, and of the same variant if there is one; else of no variant, else the first.
    Variants of the baseline are compared with the baseline without a variant, else with its first.
    """
    of_baseline = [other for other in settings if other[:2] == setting[:2] and other.mask == baseline]
    variants = {other.variant: other for other in reversed(of_baseline)}
    if setting.mask != baseline and setting.variant in variants:
        return variants[setting.variant]
    chosen = variants.get("", of_baseline[0] if of_baseline else None)
    return None if chosen == setting else chosen


def _compare(by_seed: Mapping[int, float], of_baseline: Mapping[int, float]) -> Difference:
    """Difference of means over seeds: paired where both have the same seeds, else by Welch's test."""
    if set(by_seed) == set(of_baseline):
        seeds = sorted(by_seed)
        return paired_seeds_difference([by_seed[seed] for seed in seeds], [of_baseline[seed] for seed in seeds])
    return seeds_difference(list(by_seed.values()), list(of_baseline.values()))


class _Heads:
    """The heads of rows: model and method, and before them what differs between rows; what does not is told once."""

    def __init__(self, which: Sequence[Which], methods: Sequence[tuple[str, str, str]]) -> None:
        titles = {"by": "by", "hide": "words hidden by", "part": "part"}
        values = {name: dict.fromkeys(filter(None, (getattr(number, name) for number in which))) for name in titles}
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
    methods = {setting[1:] for setting in results.settings}
    return sorted(methods, key=lambda row: (row[0], row[1] != baseline, row[1], row[2]))


def _values(by_seed: dict[int, Measurement]) -> dict[int, float]:
    return {seed: measurement.value for seed, measurement in by_seed.items()}


def _estimate(by_seed: dict[int, Measurement]) -> Estimate | None:
    """The mean over seeds; of one seed its number, with the interval over texts."""
    if len(by_seed) != 1:
        return over_seeds(_values(by_seed))
    (single,) = by_seed.values()
    return Estimate(single.value, single.low, single.high, single.n, OVER_TEXTS)


def _digits(values: Iterable[float]) -> int:
    """Digits behind the point: the larger the numbers, the fewer."""
    largest = max((abs(value) for value in values if isfinite(value)), default=nan)
    return next((digits for limit, digits in ((2, 3), (100, 2), (10_000, 1)) if largest <= limit), 0)
