"""AOPC beside its normalised form, of three training methods: what the paper's table cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from reproduction.available import LOCAL, pairs, shown
from reproduction.results import Results, ScoreKey
from vmask.evaluation.statistics import Estimate
from vmask.report.figures.style import BLACK, BLUE, GREY, ORANGE, WIDE, Picture, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = {"base": (BLACK, "s"), "vmask": (BLUE, "o"), "word_dropout": (ORANGE, "D")}
"""Colour and mark of each training method."""
SCORES = (("lime", "aopc"), ("lime", "naopc"), ("shapley", "aopc"), ("shapley", "naopc"))
ROW = 0.36
"""Height of a dataset and model, in inches."""


@styled()
def faithfulness(results: Results) -> Picture | None:
    """A row for each dataset and model, a panel for each explainer and metric; None where nothing was explained."""
    from matplotlib.ticker import MaxNLocator

    rows = [one for one in pairs(results, LOCAL, METHODS) if any(_found(results, *one, *score) for score in SCORES)]
    if not rows:
        return None
    figure = new_figure(WIDE, len(rows) * ROW + 1.15, layout="constrained")
    axes: list[Axes] = list(figure.subplots(1, len(SCORES), sharey=True, squeeze=False).flat)
    values = {
        metric: [
            one.value
            for score in SCORES
            if score[1] == metric
            for row in rows
            for one in _found(results, *row, *score).values()
        ]
        for metric in ("aopc", "naopc")
    }
    for panel, (by, metric) in zip(axes, SCORES, strict=True):
        for place, (dataset, model) in enumerate(rows):
            found = _found(results, dataset, model, by, metric)
            for number, (mask, estimate) in enumerate(found.items()):
                _dot(panel, place + 0.24 * (number - (len(found) - 1) / 2), mask, estimate)
            if not found:
                panel.text(0.5, place, "not run", transform=panel.get_yaxis_transform(), va="center", ha="center",
                           color="#5c6470", fontsize=7)  # fmt: skip
        panel.set_title(f"{shown(by)}\n{metric.upper()} (%)")
        panel.grid(axis="x")
        panel.set_axisbelow(True)
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panel.tick_params(axis="y", length=0)
        for place in range(1, len(rows)):
            new = rows[place][0] != rows[place - 1][0]
            panel.axhline(place - 0.5, color="#a3abb6" if new else "#e3e6ea", linewidth=0.6)
        if all_values := values[metric]:
            panel.set_xlim(_limits(all_values))
    axes[0].set_yticks(range(len(rows)), [f"{results.title(dataset)} {shown(model)}" for dataset, model in rows])
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    hollow = any(
        one.how == "over texts" for row in rows for score in SCORES for one in _found(results, *row, *score).values()
    )
    figure.legend(handles=_handles(hollow), loc="outside lower center", ncols=5)
    caption = (
        "AOPC, the drop in probability as the five words that an explanation ranks highest are deleted, beside NAOPC "
        "(Edin et al. 2025), which deletes all words in turn and says where the drop lies between the worst (0) and "
        "the best (100) that any order of the words can do for that model. A model that is easily thrown off has a "
        "high AOPC whatever the explanation; NAOPC takes that out. Higher is better in both. Marks are means over "
        "seeds with 95% t intervals" + (", hollow ones a single seed with its interval over texts." if hollow else ".")
    )
    return Picture("aopc_naopc", "AOPC and its normalised form", caption, figure)


def _found(results: Results, dataset: str, model: str, by: str, metric: str) -> dict[str, Estimate]:
    """The score of every training method that has it."""
    found = {mask: results.score(dataset, model, mask, LOCAL, ScoreKey(metric, by=by)) for mask in METHODS}
    return {mask: one for mask, one in found.items() if one is not None}


def _dot(panel: Axes, place: float, mask: str, estimate: Estimate) -> None:
    colour, mark = METHODS[mask]
    filled = estimate.how != "over texts"
    value = 100 * estimate.value
    if not isnan(estimate.low):
        ends = (max(100 * estimate.low, -100), min(100 * estimate.high, 100))  # a t interval knows no limits
        panel.plot(ends, (place, place), color=colour, linewidth=1.1)
    panel.plot([value], [place], mark, color=colour, markerfacecolor=colour if filled else "white", markersize=4,
               markeredgewidth=1)  # fmt: skip


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an x axis, as wide as the marks ask for; an interval that is longer leaves it."""
    low, high = 100 * min(values), 100 * max(values)
    room = max(high - low, 10) * 0.3
    return max(low - room, -101), min(high + room, 101)


def _handles(hollow: bool) -> list[Any]:
    """What colours mean, and hollow marks where there are any."""
    from matplotlib.lines import Line2D

    seeds = (("several seeds", GREY), ("one seed", "white")) if hollow else ()
    return [
        Line2D([], [], color=colour, marker=mark, markersize=4, linewidth=1.1, label=shown(mask))
        for mask, (colour, mark) in METHODS.items()
    ] + [
        Line2D([], [], color=GREY, marker="o", markersize=4, linewidth=1.1, markerfacecolor=fill, label=label)
        for label, fill in seeds
    ]
