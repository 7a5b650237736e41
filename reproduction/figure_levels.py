"""Levels of AOPC, ours beside the paper's: as they are, and through a second softmax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import e, exp, log, sqrt
from statistics import fmean
from typing import NamedTuple

from reproduction.available import LOCAL
from reproduction.published import Published
from reproduction.results import DATASETS, MODELS, Results, ScoreKey
from vmask.report.figures.style import BLUE, GREY, WIDE, Picture, new_figure, styled

MARKS = {"cnn": "o", "lstm": "s", "bert": "^"}
NOT_BERT = ("cnn", "lstm")
SECOND = "second softmax"
TICKS = (2, 5, 10, 20, 50, 100)


class Level(NamedTuple):
    """An AOPC of the paper and ours, in percent.

    Attributes:
        model: the paper's.
        classes: of the dataset.
        published: the paper's.
        plain: ours as it is.
        second: ours where probabilities pass through a softmax once more.
        floor: ours of words in random order.
    """

    model: str
    classes: int
    published: float
    plain: float
    second: float
    floor: float

    @property
    def most(self) -> float:
        """The largest drop that is possible behind a second softmax, in percent."""
        return 100 * (e - 1) / (e + self.classes - 1)


def aopc_levels(results: Results, published: Published) -> Iterator[Level]:
    """Every AOPC that the paper prints and that we have in both readings, mean over seeds."""
    for by in ("lime", "shapley"):
        for model in MODELS:
            for mask in ("base", "vmask"):
                for dataset in DATASETS:
                    there, classes = (
                        published.number("aopc", by, model, mask, dataset),
                        published.number("datasets", dataset, "classes"),
                    )
                    keys = (ScoreKey("aopc", by), ScoreKey("aopc", by, part=SECOND), ScoreKey("aopc", "random"))
                    ours = [results.scored(dataset, model, mask, LOCAL, key).values() for key in keys]
                    if there and classes and all(ours):
                        plain, second, floor = (100 * fmean(values) for values in ours)
                        yield Level(model, int(classes), there, plain, second, floor)


def fit(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The geometric mean of the first over the second, and the root mean square of the logarithm of their ratio."""
    logs = [log(first / second) for first, second in pairs]
    return exp(fmean(logs)), sqrt(fmean(one**2 for one in logs))


@styled()
def second_softmax(results: Results, published: Published | None) -> Picture | None:
    """Ours over the paper's, in two panels; None where nothing was measured in both readings."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    levels = [] if published is None else [one for one in aopc_levels(results, published) if min(one[2:5]) > 0]
    fitted = [one for one in levels if one.model in NOT_BERT]
    if not fitted:
        return None
    figure = new_figure(WIDE, 3.4, layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    shown = ("as they are", "plain", GREY), ("through a second softmax", "second", BLUE)
    told = []
    for panel, (title, reading, colour) in zip(panels, shown, strict=True):
        ratio, error = fit([(getattr(one, reading), one.published) for one in fitted])
        told.append(f"{title} {ratio:.2f} times the paper's on average (rms log error {error:.2f})")
        for model, mark in MARKS.items():
            mine = [one for one in levels if one.model == model]
            label = results.title(results.model(model))
            panel.plot([one.published for one in mine], [getattr(one, reading) for one in mine], mark, color=colour,
                       markersize=4, markerfacecolor="white" if model == "bert" else colour, label=label)  # fmt: skip
        panel.set_xscale("log")
        panel.set_yscale("log")
        for axis in (panel.xaxis, panel.yaxis):  # powers of ten as formulas would be the default
            axis.set_major_locator(FixedLocator(TICKS))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_locator(NullLocator())
        panel.axline((10, 10), (20, 20), color="#a3abb6", linewidth=0.8)
        panel.set_title(f"AOPC {title}")
        panel.set_xlabel("the paper's (%)")
        panel.grid(True)
        panel.legend(loc="upper left")
    panels[0].set_ylabel("ours (%)")
    below = sum(one.published < one.floor for one in fitted)
    beyond = [
        sum(one.published > one.most for one in levels if (one.model == "bert") == bert) for bert in (False, True)
    ]
    caption = (
        f"Every AOPC that the paper prints and that was measured here, {len(fitted)} of CNN and LSTM and "
        f"{len(levels) - len(fitted)} of the encoder. Of CNN and LSTM ours are {told[0]}, and {told[1]}; nothing is "
        f"fitted. {below} of their published numbers lie below what words in random order give here. Behind a second "
        "softmax a drop can be at most 46.2, 30.0, 25.6 and 22.3 points for 2, 4, 5 and 6 classes: "
        f"{beyond[0]} of the paper's numbers for CNN and LSTM exceed that, and {beyond[1]} for BERT. The released LSTM "
        "ends in a softmax, so an evaluation that adds one would take two; no evaluation code was released, and this "
        "stays a hypothesis about levels. Hollow marks are the encoder."
    )
    return Picture("aopc_levels", "Levels of AOPC, and a second softmax", caption, figure)
