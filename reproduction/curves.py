"""Accuracy over the share of visible running words: `select` beside its rivals, by the rule of `curves.yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean

from reproduction.entries import difference, scaled
from reproduction.results import in_order, titled
from reproduction.table import Entry, Row, Table
from reproduction.variants import made_by
from vmask.evaluation.statistics import Difference, Estimate, paired_difference, paired_seeds_difference
from vmask.grid.store import CELLS, DATA, Store
from vmask.report.grid.results import TEST_ACCURACY, Record, over_seeds, over_texts, right_answers

SELECT, RIVAL, BASE = "select", "chi2", "base"
METHODS = {
    SELECT: "select",
    RIVAL: "chi-squared",
    "linear": "weights of a linear model",
    "vmask": "VMASK's ranking",
    "frequency": "most frequent",
    "random": "at random",
}
"""What chooses the words, and what it is called."""
BUDGETS = (0.5, 0.25, 0.1)
SMALLEST = 0.25
"""The share at which select is to be above its rival."""
AIMS = {0.5: 0.5, 0.25: 2.0}
"""Budget -> how many points select may be below base there."""
AIMED = ("sst2", "subj")
AIM = "Aim, written before the run:"

Panel = tuple[str, str]
"""Dataset and model."""


@dataclass(frozen=True)
class Curves:
    """The results of `curves.yaml`.

    Attributes:
        records: panel, method and budget (1 for base) -> seed -> the file.
        datasets: name -> facts about it.
    """

    records: Mapping[tuple[Panel, str, float], Mapping[int, Record]]
    datasets: Mapping[str, Record]

    @classmethod
    def read(cls, folder: Path) -> Curves | None:
        """Read a folder that `vmask grid` wrote; None where there are no results."""
        records: dict[tuple[Panel, str, float], dict[int, Record]] = {}
        for record in Store(folder).records(CELLS):
            if record["status"] == "done":
                cell = record["cell"]
                method, _, budget = cell["variant"].rpartition("-")
                which = (method, float(budget)) if method else (BASE, 1.0)
                records.setdefault(((cell["dataset"], cell["model"]), *which), {})[cell["seed"]] = record
        return cls(records, {one["name"]: one for one in Store(folder).records(DATA)}) if records else None

    @property
    def panels(self) -> list[Panel]:
        """Datasets and models that were run: models of words first, datasets in the paper's order."""
        found = {panel for panel, *_ in self.records}
        order = in_order(dataset for dataset, _ in found)
        return sorted(found, key=lambda panel: (panel[1], order.index(panel[0])))

    def of(self, panel: Panel, method: str, budget: float = 1.0) -> Mapping[int, Record]:
        """The files by seed."""
        return self.records.get((panel, method, budget), {})

    def accuracy(self, panel: Panel, method: str, budget: float = 1.0) -> Estimate | None:
        """Test accuracy with its interval: over seeds, or over texts where there is one seed."""
        by_seed = self.of(panel, method, budget)
        if len(by_seed) == 1:
            (record,) = by_seed.values()
            return over_texts(TEST_ACCURACY, record, self.datasets.get(panel[0], {}))
        return over_seeds({seed: float(record[TEST_ACCURACY]) for seed, record in by_seed.items()})

    def share(self, panel: Panel, method: str, budget: float) -> float | None:
        """Share of the running words of the test texts that is visible, a mean over seeds; None where it is unknown."""
        return self._mean_visible(panel, method, budget, "test")

    def types(self, panel: Panel, method: str, budget: float) -> float | None:
        """Number of visible words of the training texts, a mean over seeds; None where it is unknown."""
        return self._mean_visible(panel, method, budget, "types")

    def _mean_visible(self, panel: Panel, method: str, budget: float, what: str) -> float | None:
        records = self.of(panel, method, budget).values()
        found = [value for one in records if (value := (one.get("visible") or {}).get(what)) is not None]
        return fmean(found) if found else None

    def minus(self, panel: Panel, budget: float, other: str) -> Difference | None:
        """Accuracy of select minus that of another method at the same budget, paired by seed; by text with one seed."""
        first, second = self.of(panel, SELECT, budget), self.of(panel, other, 1.0 if other == BASE else budget)
        seeds = sorted(set(first) & set(second))
        if len(seeds) == 1:
            facts = self.datasets.get(panel[0], {})
            a, b = (right_answers(by_seed[seeds[0]], facts) for by_seed in (first, second))
            if a is not None and b is not None:
                return paired_difference(a, b)
        mine, others = ([float(by_seed[seed][TEST_ACCURACY]) for seed in seeds] for by_seed in (first, second))
        return paired_seeds_difference(mine, others) if seeds else None


def curves_tables(curves: Curves) -> list[Table]:
    """Accuracies with their differences, and how much each method sees."""
    return [_accuracies(curves), _seen(curves)]


def _accuracies(curves: Curves) -> Table:
    rows = []
    for panel, budget in _rows(curves):
        found = [curves.accuracy(panel, method, budget) for method in METHODS]
        found += [curves.accuracy(panel, BASE)]
        found += [difference(curves.minus(panel, budget, other)) for other in (RIVAL, BASE)]
        rows.append(Row(_heads(panel, budget), tuple(Entry(scaled(one)) for one in found)))
    seeds = sorted({seed for by_seed in curves.records.values() for seed in by_seed})
    records = [dict(record) for by_seed in curves.records.values() for record in by_seed.values()]
    return Table(
        name="curves",
        title="Accuracy with a share of the running words",
        heads=("dataset", "model", "budget"),
        columns=(*METHODS.values(), "all words (base)", "select minus chi-squared", "select minus base"),
        rows=rows,
        signature=f"test accuracy in percent; seeds {', '.join(map(str, seeds))}; {made_by(records)}",
        notes=(
            "The mask select learns which words may be seen. The others are base models, trained on the words that a "
            "ranking leaves at the same budget. Differences are paired by seed.",
            *aims(curves),
        ),
        digits=2,
        unit="percent",
    )


def _seen(curves: Curves) -> Table:
    rows = []
    for panel, budget in _rows(curves):
        entries = []
        for method in METHODS:
            share, types = curves.share(panel, method, budget), curves.types(panel, method, budget)
            entries.append(Entry() if share is None else Entry(text=f"{100 * share:.1f}, {types:,.0f}"))
        rows.append(Row(_heads(panel, budget), tuple(entries)))
    return Table(
        name="curves_visible",
        title="What is seen with a share of the running words",
        heads=("dataset", "model", "budget"),
        columns=tuple(METHODS.values()),
        rows=rows,
        signature="percent of the running words of the test texts that are visible, and the number of visible words of "
        "the training texts; means over seeds",
    )


def aims(curves: Curves) -> Iterator[str]:
    """What the aims of `curves.yaml` come to, in sentences; nothing of what was not run."""
    for budget, most in AIMS.items():
        parts = []
        for panel in (panel for panel in curves.panels if panel[0] in AIMED):
            if (found := curves.minus(panel, budget, BASE)) is not None:
                points = 100 * found.value
                parts.append(f"{_title(panel)} {points:+.2f} ({'reached' if points >= -most else 'missed'})")
        if parts:
            yield (
                f"{AIM} with {budget:.0%} of the running words select is at most {most:g} points below base. "
                f"{', '.join(parts)}."
            )
    told = []
    for panel in curves.panels:
        if (found := curves.minus(panel, SMALLEST, RIVAL)) is not None and not isnan(found.low):
            told.append(
                f"{_title(panel)} {'above' if found.low > 0 else 'below' if found.high < 0 else 'not told apart'}"
            )
    if told:
        yield (
            f"{AIM} with {SMALLEST:.0%} of the running words select is above chi-squared wherever the interval can "
            f"tell. {', '.join(told)}."
        )


def _rows(curves: Curves) -> Iterator[tuple[Panel, float]]:
    """Panels with the budgets that any method was run at."""
    for panel in curves.panels:
        for budget in BUDGETS:
            if any(curves.of(panel, method, budget) for method in METHODS):
                yield panel, budget


def _heads(panel: Panel, budget: float) -> tuple[str, ...]:
    return (titled(panel[0]), titled(panel[1]), f"{budget:.0%}")


def _title(panel: Panel) -> str:
    return f"{titled(panel[0])} {titled(panel[1])}"
