"""Curves of a grid: the dev score over epochs, and metrics whose parts are numbers, such as accuracy over k words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vmask.grid.store import TRAIN
from vmask.report.figures.curves import Point
from vmask.report.grid.results import DEV_ACCURACY, GridResults, Measurement, Setting, over_seeds
from vmask.report.grid.table import plain

LEARNING = "learning_curves"
"""Name of the curves over epochs."""
FEWEST = 3
"""Points that a curve of a metric's parts has at least."""
FIELDS = (
    *("curve", "dataset", "model", "mask", "variant", "by", "hide"),
    *("axis", "at", "value", "low", "high", "seeds"),
)
"""Columns of the CSV."""


@dataclass(frozen=True)
class Curve:
    """A line: a mean over seeds at every place.

    Attributes:
        setting: whose.
        by: whose explanations or ranking, of a metric.
        hide: how words were hidden, of a metric.
        points: from left to right.
    """

    setting: Setting
    by: str
    hide: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Curves:
    """Lines of one kind.

    Attributes:
        name: stem of its files.
        title: what it shows.
        axis: what is on the x axis, such as `epoch` or `k`.
        value: what is on the y axis.
        lines: all of them.
    """

    name: str
    title: str
    axis: str
    value: str
    lines: Sequence[Curve]

    def rows(self) -> Iterator[tuple[object, ...]]:
        """For a CSV with `FIELDS`: a row for each point."""
        for line in self.lines:
            for point in line.points:
                which = (self.name, *line.setting, line.by, line.hide, self.axis, point.k)
                yield (*which, *map(plain, (point.value, point.low, point.high)), point.seeds)


def all_curves(results: GridResults) -> list[Curves]:
    """Those that there are results for."""
    return [curves for curves in (learning_curves(results), *part_curves(results)) if curves.lines]


def learning_curves(results: GridResults) -> Curves:
    """Dev accuracy after every epoch. A mean is over the seeds that were still training."""
    lines = []
    for (setting, stage), records in results.records.items():
        if stage != TRAIN:
            continue
        by_epoch: dict[int, dict[int, float]] = {}
        for seed, record in records.items():
            for row in record["history"]:
                if row.get(DEV_ACCURACY) is not None:
                    by_epoch.setdefault(row["epoch"], {})[seed] = float(row[DEV_ACCURACY])
        if by_epoch:
            lines.append(Curve(setting, "", "", _points(by_epoch)))
    return Curves(LEARNING, "Accuracy on the dev texts after every epoch", "epoch", DEV_ACCURACY, lines)


def part_curves(results: GridResults) -> Iterator[Curves]:
    """Metrics that have three parts or more which are numbers, such as `k=1`, `k=2`, `k=3` or `10%`, `20%`, `50%`."""
    groups: dict[tuple[str, str, str], dict[tuple[Setting, str, str], dict[int, dict[int, float]]]] = {}
    for one in results.measurements:
        if (place := _place(one)) is not None:
            axis, at = place
            lines = groups.setdefault((one.stage, one.metric, axis), {})
            by_place = lines.setdefault((one.setting, one.by, one.hide), {})
            by_place.setdefault(at, {})[one.seed] = one.value
    for (stage, metric, axis), lines in groups.items():
        found = [Curve(*key, _points(by_place)) for key, by_place in lines.items() if len(by_place) >= FEWEST]
        several = sum(other[1] == metric for other in groups) > 1
        name = f"{metric}_{stage}_over_{axis}" if several else f"{metric}_over_{axis}"
        yield Curves(name, f"{metric} over {axis}", axis, metric, found)


def _place(one: Measurement) -> tuple[str, int] | None:
    """Name of the axis and place on it of a metric's part; None for a part that is no number."""
    if match := re.fullmatch(r"(\w+)=(\d{1,9})", one.part):
        return match[1], int(match[2])
    if match := re.fullmatch(r"(\d{1,9})%", one.part):
        return "percent", int(match[1])
    return None


def _points(by_place: Mapping[int, Mapping[int, float]]) -> list[Point]:
    points = []
    for at, by_seed in sorted(by_place.items()):
        estimate = over_seeds(by_seed)
        if estimate is not None:
            points.append(Point(at, estimate.value, estimate.low, estimate.high, len(by_seed)))
    return points
