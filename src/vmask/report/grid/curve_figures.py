"""Curves of a grid as figures: a panel for each dataset and model, a line for each method and variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask.metrics.contract import FLOORS
from vmask.report.figures.curves import FLOORS as FLOOR_LINES
from vmask.report.figures.curves import Point, handle
from vmask.report.figures.panels import by_dataset, make_panels
from vmask.report.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Picture, styled
from vmask.report.grid.curves import LEARNING, Curve, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLACK, BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
STYLES = ("-", (0, (4, 1.5)), (0, (1, 1.3)), (0, (5, 1, 1, 1)))
"""Of lines: seven colours, then the same with another dash."""
ENOUGH = 3
"""Seeds that a band asks for: the t interval of two is twelve standard deviations wide and would cover all."""
IN_A_ROW = 1.75
"""Inches of an entry of the legend."""
PANEL = 1.75
"""Height of a panel in inches."""


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
    figure, panels = make_panels(by_dataset(pairs), PANEL, share_y=False, legend=0.3)
    own = [line for line in curves.lines if line.by not in FLOORS]
    looks = _looks(own, methods)
    floors = list(dict.fromkeys(line.by for line in curves.lines if line.by in FLOORS))
    for (dataset, model), panel in panels.items():
        inside = [line for line in curves.lines if line.setting[:2] == (dataset, model)]
        for floor in floors:
            _draw(panel, _mean([line.points for line in inside if line.by == floor]), _floor(floor)[1], band=False)
        for line in inside:
            if line.by not in FLOORS:
                _draw(panel, line.points, looks[_label(line, own)], band=len(own) <= 3 * len(pairs))
        _finish(panel, f"{dataset}, {model}")
    figure.supxlabel(curves.axis, fontsize=8)
    figure.supylabel(curves.value, fontsize=8)
    handles = [handle(label, look) for label, look in looks.items()]
    handles += [handle(*_floor(floor)) for floor in floors]
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, int(figure.get_figwidth() / IN_A_ROW)))
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


def _draw(panel: Axes, points: Sequence[Point], style: dict[str, Any], band: bool) -> None:
    places = [point.k for point in points]
    panel.plot(places, [point.value for point in points], **style)
    if band and points and all(point.seeds >= ENOUGH for point in points):
        low, high = [point.low for point in points], [point.high for point in points]
        panel.fill_between(places, low, high, color=style["color"], alpha=0.16, linewidth=0)


def _finish(panel: Axes, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.set_title(title)
    panel.grid(axis="y")
    panel.set_axisbelow(True)
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(4))


def _mean(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The mean of curves at every place that any of them has."""
    by_place: dict[int, list[float]] = {}
    for points in curves:
        for point in points:
            by_place.setdefault(point.k, []).append(point.value)
    return [Point(at, float(np.mean(values)), np.nan, np.nan, 1) for at, values in sorted(by_place.items())]
