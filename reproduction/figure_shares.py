"""Accuracy over the share of visible running words: a panel for each dataset and model, base as a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reproduction.curves import BASE, BUDGETS, METHODS, RIVAL, SELECT, Curves, Panel
from reproduction.results import titled
from vmask.report.figures.curves import BAND_SEEDS, legend_line, make_panels
from vmask.report.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Picture, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
STYLES: Mapping[str, Mapping[str, Any]] = {
    SELECT: {"color": BLUE, "marker": "o", "linewidth": 1.9, "markersize": 4.5, "zorder": 5},
    RIVAL: {"color": RED, "marker": "s", "linewidth": 1.3, "markersize": 3.5, "zorder": 4},
    "linear": {"color": ORANGE, "marker": "^", "linewidth": 0.9, "markersize": 3.5},
    "vmask": {"color": PURPLE, "marker": "D", "linewidth": 0.9, "markersize": 3},
    "frequency": {"color": GREEN, "marker": "v", "linewidth": 0.9, "markersize": 3.5, "linestyle": (0, (4, 2))},
    "random": {"color": GREY, "marker": "x", "linewidth": 0.9, "markersize": 3.5, "linestyle": (0, (1, 1.3))},
}
"""How each method is drawn; markers tell apart what colours may not."""
FLOORS = ("frequency", "random")
"""Orders of words that know nothing of the classes."""
ALL_WORDS: Mapping[str, Any] = {"color": BLACK, "linewidth": 0.9}


@styled()
def shares(curves: Curves | None) -> Picture | None:
    """The figure; None where nothing was run."""
    from matplotlib.ticker import MaxNLocator

    found = [] if curves is None else [panel for panel in curves.panels if _drawn(curves, panel)]
    if curves is None or not found:
        return None
    rows = [found[at : at + COLUMNS] for at in range(0, len(found), COLUMNS)]
    figure, panels = make_panels(rows, 2.1, share_y=False, legend=0.7)
    for panel, axes in panels.items():
        for method in _drawn(curves, panel):
            _draw(axes, curves, panel, method)
        if (base := curves.accuracy(panel, BASE)) is not None:
            axes.axhline(100 * base.value, zorder=1, **ALL_WORDS)
        _set_bottom(axes, curves, panel)
        axes.set_title(f"{titled(panel[0])}, {titled(panel[1])}")
        axes.set_xlim(0, 100 * max(BUDGETS) + 6)
        axes.set_xticks([100 * budget for budget in sorted(BUDGETS)])
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
    figure.supxlabel("visible running words of the test texts (%)", fontsize=8)
    figure.supylabel("test accuracy (%)", fontsize=8)
    used = {method for panel in found for method in _drawn(curves, panel)}
    lines = [legend_line(METHODS[method], style) for method, style in STYLES.items() if method in used]
    lines.append(legend_line("all words (base)", ALL_WORDS))
    figure.legend(handles=lines, loc="outside upper center", ncols=4, columnspacing=1.4)
    caption = (
        "Test accuracy of models that see only a share of the running words. The mask select learns which words these "
        "are; the others are base models that were trained on the words that a ranking leaves. Points stand at the "
        "share that was measured on the test texts. Lines are means over seeds, bars 95% t intervals where there are "
        f"{BAND_SEEDS} seeds or more. Scales differ from panel to panel, and leave out the lowest points of words at "
        "random and of the most frequent words: their lines go on below, and the table has their numbers."
    )
    return Picture("visible_shares", "Accuracy over the share of visible running words", caption, figure)


def _set_bottom(axes: Axes, curves: Curves, panel: Panel) -> None:
    """Begin the scale a fifth of its range below what ranks words by their use: the floors would press it together."""
    ranked = [method for method in METHODS if method not in FLOORS]
    found = [curves.accuracy(panel, method, budget) for method in ranked for budget in BUDGETS]
    lowest, top = min((100 * one.value for one in found if one is not None), default=0.0), axes.get_ylim()[1]
    axes.set_ylim(bottom=max(axes.get_ylim()[0], lowest - (top - lowest) / 5))


def _drawn(curves: Curves, panel: Panel) -> list[str]:
    """Methods that have a point in a panel, select last: it comes to lie on top."""
    return [one for one in reversed(METHODS) if any(curves.of(panel, one, budget) for budget in BUDGETS)]


def _draw(axes: Axes, curves: Curves, panel: Panel, method: str) -> None:
    xs, ys, half = [], [], []
    for budget in sorted(BUDGETS):
        if (accuracy := curves.accuracy(panel, method, budget)) is None:
            continue
        share = curves.share(panel, method, budget)
        xs.append(100 * (budget if share is None else share))
        ys.append(100 * accuracy.value)
        many = len(curves.of(panel, method, budget)) >= BAND_SEEDS
        half.append(50 * (accuracy.high - accuracy.low) if many else 0.0)
    style = STYLES[method]
    axes.plot(xs, ys, **style)
    bars = [(x, y, one) for x, y, one in zip(xs, ys, half, strict=True) if one > 0]  # NaN is not above 0
    if bars:
        x, y, one = zip(*bars, strict=True)
        axes.errorbar(x, y, yerr=one, fmt="none", ecolor=style["color"], elinewidth=0.8, capsize=2, zorder=3)
