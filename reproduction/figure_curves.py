"""Post-hoc accuracy over the number of words that the model sees: the paper's figure, and one with controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, zip_longest
from typing import TYPE_CHECKING, Any

from reproduction.available import WORDS, curve, datasets, models, pairs, shown
from reproduction.results import Results
from vmask.report.figures.curves import (
    BAND_SEEDS,
    COLUMNS,
    FLOOR_LINES,
    Point,
    draw_curve,
    finish_post_hoc,
    legend_line,
    make_panels,
    mean_curve,
    panel_rows,
)
from vmask.report.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Picture, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWN, GIVEN = "mask", "ranking"
"""What words are ranked by: the model's own mask, or a ranking of another model."""


@dataclass(frozen=True)
class Line:
    """How a curve is drawn.

    Attributes:
        mask: training method of the model that is asked.
        by: what ranks the words.
        label: in the legend.
        style: of the line, as matplotlib takes it.
        band: whether its interval is drawn.
    """

    mask: str
    by: str
    label: str
    style: Mapping[str, Any]
    band: bool = False


RANDOM, TFIDF, MAJORITY = (Line("vmask", by, label, style) for by, (label, style) in FLOOR_LINES.items())
PAPER = (
    Line("vmask", OWN, "VMASK", {"linestyle": "-", "linewidth": 1.6}, band=True),
    Line("iba", OWN, "IBA", {"linestyle": (0, (1, 1.3)), "linewidth": 1.6}, band=True),
)
CONTROLS = (
    Line("vmask", OWN, "VMASK, its own ranking", {"color": BLUE, "linewidth": 2.0}, band=True),
    Line("iba", OWN, "IBA, its own ranking", {"color": PURPLE, "linestyle": (0, (1, 1.3)), "linewidth": 1.4}),
    Line("random_mask", OWN, "random mask, its own ranking", {"color": RED, "linewidth": 0.9}),
    Line("base", GIVEN, "base, VMASK's ranking", {"color": ORANGE, "linewidth": 0.9}),
    Line("word_dropout", GIVEN, "word dropout, VMASK's ranking", {"color": GREEN, "linewidth": 0.9}),
    RANDOM,
    TFIDF,
    MAJORITY,
)


@styled()
def post_hoc(results: Results) -> Picture | None:
    """The paper's figure: VMASK and IBA, a panel for each dataset that has results; None where none has."""
    masks = tuple(line.mask for line in PAPER)
    found = datasets(results, WORDS, masks)
    if not found:
        return None
    columns = min(len(found), COLUMNS)
    figure, panels = make_panels([found[at : at + columns] for at in range(0, len(found), columns)], 1.62)
    colours = _model_colours(model for _, model in pairs(results, WORDS, masks))
    for dataset, panel in panels.items():
        names = models(results, dataset, WORDS, masks)
        for line in (RANDOM, MAJORITY):
            _draw(panel, mean_curve([curve(results, dataset, model, line.mask, line.by) for model in names]), line)
        for model in names:
            for line in PAPER:
                _draw(panel, curve(results, dataset, model, line.mask, line.by), line, colours[model])
        panel.set_title(results.title(dataset))
    finish_post_hoc(figure, list(panels.values()))
    of_models = [legend_line(shown(model), {"color": colour, "linewidth": 2.4}) for model, colour in colours.items()]
    of_lines = [legend_line(line.label, {"color": BLACK, **line.style}) for line in (*PAPER, RANDOM, MAJORITY)]
    # A legend is filled column by column; models stand in its first row, kinds of lines in its second.
    rows = zip_longest(of_models, of_lines, fillvalue=legend_line("", {"linestyle": "none"}))
    figure.legend(handles=[one for column in rows for one in column], loc="outside upper center",
                  ncols=max(len(of_models), len(of_lines)), columnspacing=1.4)  # fmt: skip
    caption = (
        "Share of test texts that keep their class when the model sees only their k most important words, ranked by "
        "the importance that its mask gives to words. Lines are means over seeds, bands 95% t intervals where there "
        "are three or more. Grey: what a model trained with VMASK keeps with k words at random, and what a constant "
        "answer would (means over the models of the panel)."
    )
    return Picture("post_hoc_accuracy", "Post-hoc accuracy of VMASK and IBA", caption, figure, 1)


@styled()
def controls(results: Results) -> Picture | None:
    """Is it the ranking or the training? All curves, a panel for each dataset and model; None where there are none."""
    masks = tuple(line.mask for line in CONTROLS)
    found = pairs(results, WORDS, masks)
    if not found:
        return None
    figure, panels = make_panels(panel_rows(found), 1.75)
    used = set()
    for (dataset, model), panel in panels.items():
        for line in reversed(CONTROLS):  # VMASK comes to lie on top
            if points := curve(results, dataset, model, line.mask, line.by):
                _draw(panel, points, line)
                used.add(line.label)
        panel.set_title(f"{results.title(dataset)}, {shown(model)}")
    finish_post_hoc(figure, list(panels.values()))
    handles = [legend_line(line.label, line.style) for line in CONTROLS if line.label in used]
    figure.legend(handles=handles, loc="outside upper center", ncols=int(figure.get_figwidth() / 1.9))
    caption = (
        "Post-hoc accuracy as before, with what it must be read beside. Models without an importance of words (base, "
        "word dropout) are asked about the words that VMASK of the same seed ranks highest: where they keep their "
        "class as often, it is the ranking that is good, whatever the model. A random mask gives words chances that "
        "were drawn before training and mean nothing. Black and grey: words by tf-idf, words at random and a constant "
        "answer, with the model trained with VMASK. Lines are means over seeds; the band is VMASK's 95% t interval "
        "where there are three seeds or more."
    )
    return Picture("post_hoc_controls", "Post-hoc accuracy beside its controls", caption, figure)


def _model_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each model: CNN and LSTM always have the same."""
    there = set(names)
    others = dict(zip(sorted(there - {"cnn", "lstm"}), cycle((GREEN, PURPLE, ORANGE, SKY)), strict=False))
    return {name: colour for name, colour in {"cnn": BLUE, "lstm": RED, **others}.items() if name in there}


def _draw(panel: Axes, points: Sequence[Point], line: Line, colour: str | None = None) -> None:
    style = {**line.style, **({} if colour is None else {"color": colour})}
    band = line.band and all(point.seeds >= BAND_SEEDS for point in points)
    draw_curve(panel, points, style, label=line.label, band=band, unit=100)
