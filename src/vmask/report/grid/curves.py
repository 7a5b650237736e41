"""Curves of a grid, as numbers and as figures: the dev score over epochs, and metrics over parts that are numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vmask.grid.store import TRAIN
from vmask.metrics.contract import FLOORS
from vmask.report.figures.curves import (
    BAND_SEEDS,
    FLOOR_LINES,
    Point,
    draw_curve,
    legend_line,
    make_panels,
    mean_curve,
    panel_rows,
)
from vmask.report.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Picture, styled
from vmask.report.grid.results import DEV_ACCURACY, GridResults, Setting, over_seeds
from vmask.report.grid.table import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEARNING = "learning_curves"
"""Name of the curves over epochs."""
FEWEST = 3
"""Points that a curve of a metric's parts has at least."""
FIELDS = (
    *("curve", "dataset", "model", "mask", "variant", "by", "hide"),
    *("axis", "at", "value", "low", "high", "seeds"),
)
"""Columns of the CSV."""
COLOURS = (BLACK, BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
STYLES = ("-", (0, (4, 1.5)), (0, (1, 1.3)), (0, (5, 1, 1, 1)))
"""Of lines: seven colours, then the same with another dash."""
LEGEND_ENTRY = 1.75
"""Width of an entry of the legend in inches."""
PANEL = 1.75
"""Height of a panel in inches."""


@dataclass(frozen=True)
class Curve:
    """A line: a mean over seeds at every place, from left to right; a metric also has `by` and `hide`."""

    setting: Setting
    by: str
    hide: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Curves:
    """Lines of one kind.

    Attributes:
        name: stem of its files.
        axis: what is on the x axis, such as `epoch` or `k`.
        value: what is on the y axis.
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
    for measurement in results.measurements:
        if (place := _place(measurement.part)) is not None:
            axis, number = place
            lines = groups.setdefault((measurement.stage, measurement.metric, axis), {})
            by_place = lines.setdefault((measurement.setting, measurement.by, measurement.hide), {})
            by_place.setdefault(number, {})[measurement.seed] = measurement.value
    for (stage, metric, axis), lines in groups.items():
        curves = [Curve(*key, _points(by_place)) for key, by_place in lines.items() if len(by_place) >= FEWEST]
        several = sum(other[1] == metric for other in groups) > 1
        name = f"{metric}_{stage}_over_{axis}" if several else f"{metric}_over_{axis}"
        yield Curves(name, f"{metric} over {axis}", axis, metric, curves)


def _place(part: str) -> tuple[str, int] | None:
    """Name of the axis and place on it of a metric's part; None for a part that is no number."""
    if match := re.fullmatch(r"(\w+)=(\d{1,9})", part):
        return match[1], int(match[2])
    if match := re.fullmatch(r"(\d{1,9})%", part):
        return "percent", int(match[1])
    return None


def _points(by_place: Mapping[int, Mapping[int, float]]) -> list[Point]:
    points = []
    for at, by_seed in sorted(by_place.items()):
        estimate = over_seeds(by_seed)
        if estimate is not None:
            points.append(Point(at, estimate.value, estimate.low, estimate.high, len(by_seed)))
    return points


@styled()
def draw_curves(curves: Curves, methods: Sequence[tuple[str, str]]) -> Picture:
    """A figure of curves of one kind.

    Rankings that a metric is measured beside, such as words at random, are grey lines: the mean over the methods of a
    panel.

    Args:
        curves: the lines.
        methods: method and variant of every line, in the order of their colours.
    """
    pairs = sorted({line.setting[:2] for line in curves.lines})
    figure, panels = make_panels(panel_rows(pairs), PANEL, share_y=False, legend=0.3)
    own = [line for line in curves.lines if line.by not in FLOORS]
    looks = _looks(own, methods)
    floors = list(dict.fromkeys(line.by for line in curves.lines if line.by in FLOORS))
    for (dataset, model), panel in panels.items():
        inside = [line for line in curves.lines if line.setting[:2] == (dataset, model)]
        for floor in floors:
            draw_curve(panel, mean_curve([line.points for line in inside if line.by == floor]), _floor(floor)[1])
        for line in inside:
            if line.by not in FLOORS:
                enough_seeds = all(point.seeds >= BAND_SEEDS for point in line.points)
                band = enough_seeds and len(own) <= 3 * len(pairs)
                draw_curve(panel, line.points, looks[_label(line, own)], band=band)
        _finish(panel, f"{dataset}, {model}")
    figure.supxlabel(curves.axis, fontsize=8)
    figure.supylabel(curves.value, fontsize=8)
    handles = [legend_line(label, look) for label, look in looks.items()]
    handles += [legend_line(*_floor(floor)) for floor in floors]
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, int(figure.get_figwidth() / LEGEND_ENTRY)))
    caption = "Lines are means over seeds"
    caption += ", of those that were still training." if curves.name == LEARNING else "."
    if floors:
        caption += " Grey and dotted: rankings that are no model's, as means over the methods of the panel."
    return Picture(curves.name, curves.title, caption, figure)


def _label(line: Curve, lines: Sequence[Curve]) -> str:
    """The method and what else tells a line from others."""
    setting = line.setting
    label = f"{setting.mask} {setting.variant}".rstrip()
    if len({other.by for other in lines}) > 1:
        label += f", by {line.by}"
    if len({other.hide for other in lines}) > 1:
        label += f", hidden by {line.hide}"
    return label


def _looks(lines: Sequence[Curve], methods: Sequence[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """A look for each label: the colour is the method's in all figures, the dash tells its lines apart."""
    looks: dict[str, dict[str, Any]] = {}
    used: dict[tuple[str, str], int] = {}
    for line in sorted(lines, key=lambda line: methods.index(line.setting[2:])):
        method, label = line.setting[2:], _label(line, lines)
        if label not in looks:
            place, dash = methods.index(method), used.get(method, 0)
            used[method] = dash + 1
            looks[label] = {
                "color": COLOURS[place % len(COLOURS)],
                "linestyle": STYLES[(place // len(COLOURS) + dash) % len(STYLES)],
                "linewidth": 1.1,
            }
    return looks


def _floor(name: str) -> tuple[str, dict[str, Any]]:
    """Label and style of a ranking that others are measured beside."""
    usual: dict[str, Any] = {"color": GREY, "linestyle": (0, (1, 2)), "linewidth": 0.9}
    return FLOOR_LINES.get(name, (f"words by {name}", usual))


def _finish(panel: Axes, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.set_title(title)
    panel.grid(axis="y")
    panel.set_axisbelow(True)
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(4))
