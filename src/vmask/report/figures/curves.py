"""Curves in panels: points, lines, axes; a panel for each dataset and model, with room for a legend above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask.report.figures.style import BLACK, GREY, WIDE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("words at random", {"color": GREY, "linestyle": (0, (4, 2)), "linewidth": 0.9}),
    "tfidf": ("words by tf-idf", {"color": BLACK, "linestyle": (0, (1, 1)), "linewidth": 0.9}),
    "majority": ("most common class", {"color": GREY, "linewidth": 0.9}),
}
"""What a ranking is drawn beside: name in the legend and style of each line."""
BAND_SEEDS = 3
"""Seeds that a band asks for: the t interval of two is twelve standard deviations wide and would cover all."""
COLUMNS = 4
"""Panels beside each other, at most."""
WIDTHS = {1: 4.8, 2: 5.8, 3: WIDE}
"""Of a figure with so many panels in a row, or more."""


@dataclass(frozen=True)
class Point:
    """A point of a curve.

    Attributes:
        k: how many words the model sees.
        value: share of texts that keep their class; a mean over trainings where there are several.
        low: lower end of its 95% interval; NaN where there is none.
        high: upper end.
        seeds: how many trainings there are.
    """

    k: int
    value: float
    low: float
    high: float
    seeds: int


def panel_rows(pairs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str] | None]]:
    """Datasets and models in a grid: a row for each dataset, or simply in rows where there is one model."""
    models = list(dict.fromkeys(model for _, model in pairs))
    if len(models) == 1:
        return [list(pairs[start : start + COLUMNS]) for start in range(0, len(pairs), COLUMNS)]
    datasets = dict.fromkeys(dataset for dataset, _ in pairs)
    return [[(dataset, model) if (dataset, model) in pairs else None for model in models] for dataset in datasets]


def make_panels(
    rows: Sequence[Sequence[Any]], height: float, share_y: bool = True, legend: float = 0.8
) -> tuple[Figure, dict[Any, Axes]]:
    """A figure with a panel for each key of the rows, and `legend` inches for a legend above."""
    columns = max(map(len, rows))
    figure = new_figure(WIDTHS[min(columns, 3)], max(len(rows) * height, 2.1) + legend, layout="constrained")
    axes = figure.subplots(len(rows), columns, sharex=share_y, sharey=share_y, squeeze=False)
    panels = {}
    for row, keys in enumerate(rows):
        for column in range(columns):
            if column < len(keys) and keys[column] is not None:
                panels[keys[column]] = axes[row, column]
            else:
                axes[row, column].remove()
    return figure, panels


def draw_curve(
    panel: Axes,
    points: Sequence[Point],
    style: Mapping[str, Any],
    *,
    label: str = "",
    band: bool = False,
    unit: float = 1.0,
) -> None:
    """A line through points, with their intervals as a band if requested; nothing without points.

    `style` is as matplotlib takes it; values are multiplied by `unit`, such as 100 for percent.
    """
    if not points:
        return
    xs = [point.k for point in points]
    panel.plot(xs, [unit * point.value for point in points], label=label, **style)
    if band:
        low, high = [unit * point.low for point in points], [unit * point.high for point in points]
        panel.fill_between(xs, low, high, color=style["color"], alpha=0.16, linewidth=0)


def mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The mean of curves at every place that any of them has."""
    by_place: dict[int, list[float]] = {}
    for points in curves:
        for point in points:
            by_place.setdefault(point.k, []).append(point.value)
    return [Point(place, float(np.mean(values)), np.nan, np.nan, 1) for place, values in sorted(by_place.items())]


def finish_post_hoc(figure: Figure, panels: Sequence[Axes]) -> None:
    """Axes of post-hoc accuracy, alike in all panels: from the lowest line on, since a band may reach far below."""
    from matplotlib.ticker import MultipleLocator

    lowest = min(float(np.min(line.get_ydata())) for panel in panels for line in panel.lines)
    last = {panel.get_subplotspec().colspan.start: panel for panel in panels}  # type: ignore[union-attr]
    for panel in panels:
        panel.set_ylim(max(10 * floor((lowest - 2) / 10), 0), 101.5)
        panel.yaxis.set_major_locator(MultipleLocator(20))
        panel.set_xlim(0.7, 10.3)
        panel.set_xticks([1, 2, 4, 6, 8, 10])
        panel.grid(axis="y")
        panel.set_axisbelow(True)
        panel.tick_params(labelbottom=panel in last.values())  # the lowest of its column
    figure.supxlabel("k, words that are kept", fontsize=8)
    figure.supylabel("texts that keep their class (%)", fontsize=8)


def legend_line(label: str, style: Mapping[str, Any]) -> Any:
    """A line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)
