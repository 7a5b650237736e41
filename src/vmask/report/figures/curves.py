"""Post-hoc accuracy over the number of words that a model sees: points, lines, axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask.report.figures.style import BLACK, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOORS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("words at random", {"color": GREY, "linestyle": (0, (4, 2)), "linewidth": 0.9}),
    "tfidf": ("words by tf-idf", {"color": BLACK, "linestyle": (0, (1, 1)), "linewidth": 0.9}),
    "majority": ("most common class", {"color": GREY, "linewidth": 0.9}),
}
"""What a ranking is drawn beside: name in the legend and style of each line."""


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


def draw_curve(panel: Axes, points: Sequence[Point], label: str, style: Mapping[str, Any], band: bool = False) -> None:
    """A line through points, with their intervals where a band is asked for; nothing where there are none."""
    if not points:
        return
    k = [point.k for point in points]
    panel.plot(k, [100 * point.value for point in points], label=label, **style)
    if band:
        low, high = ([100 * getattr(point, end) for point in points] for end in ("low", "high"))
        panel.fill_between(k, low, high, color=style["color"], alpha=0.16, linewidth=0)


def finish(figure: Figure, panels: Sequence[Axes]) -> None:
    """Axes of all panels alike: they begin at the lowest line, since a band may reach far below."""
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


def handle(label: str, style: Mapping[str, Any]) -> Any:
    """A line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)
