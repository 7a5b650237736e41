"""Clouds of the most important words, VMASK beside IBA."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.available import WORDS, pairs, shown
from reproduction.results import Results
from vmask.report.figures.cloud import Sheet, draw_cloud
from vmask.report.figures.labels import printed_word
from vmask.report.figures.style import BLUE, PURPLE, WIDE, Picture, new_figure, styled

WANTED = (("agnews", "cnn"), ("yelp", "lstm"), ("subj", "bert"))
"""Datasets and models of the paper's figure."""
SIDES = {"vmask": BLUE, "iba": PURPLE}
WORDS_SHOWN = 10
SHEET = Sheet(width=480, height=200, largest=52, smallest=22, margin=20)
PANEL = 0.49 * WIDE
"""Width of a cloud in print, in inches."""
ROW = PANEL * SHEET.height / SHEET.width + 0.26
"""Height of a row with its title, in inches."""


@styled()
def clouds(results: Results, which: str = "top") -> Picture | None:
    """The paper's figure, or our second version of it; None where no model has both sides.

    Args:
        results: all results.
        which: `top`, the words at the top of all, or `top_seen_5`, of those seen five times or more in training.
    """
    rows = nearest(results)
    if not rows:
        return None
    figure = new_figure(WIDE, len(rows) * ROW)
    seeds = set()
    for number, (dataset, model) in enumerate(rows):
        found = results.lowest_seed(dataset, model, WORDS, tuple(SIDES))
        assert found is not None
        seeds.add(found[0])
        for side, ((mask, colour), record) in enumerate(zip(SIDES.items(), found[1], strict=True)):
            words = [printed_word(str(row[0])) for row in record["importance"][which][:WORDS_SHOWN]]
            bottom = 1 - ((number + 1) * ROW - 0.04) / (len(rows) * ROW)
            panel = figure.add_axes(
                (0.005 + 0.5 * side, bottom, 0.49, PANEL * SHEET.height / SHEET.width / (len(rows) * ROW))
            )
            panel.set_title(f"{shown(model)}-{shown(mask)}, {results.title(dataset)}", pad=3)
            draw_cloud(panel, words, [colour] * len(words), SHEET, PANEL)
    of = "" if which == "top" else ", of those that stand five times or more in the training texts"
    caption = (
        f"The ten most important words by VMASK's mask (left) and IBA's (right){of}: the larger, the higher a word "
        f"ranks; places mean nothing. Seed {', '.join(map(str, sorted(seeds)))}.{_remark(results, rows)}"
    )
    if which == "top":
        return Picture("word_clouds", "Clouds of the ten most important words", caption, figure, 3)
    title = "Clouds of the ten most important words seen five times or more"
    return Picture("word_clouds_seen_5", title, caption, figure)


def nearest(results: Results) -> list[tuple[str, str]]:
    """Datasets and models whose clouds are drawn: the paper's, or in place of one that has no results another.

    That is another model of the same dataset, else another dataset of the same model, else nothing.
    """
    there = [one for one in pairs(results, WORDS) if _both(results, *one)]
    chosen: list[tuple[str, str]] = []
    wanted = _wanted(results)
    for dataset, model in wanted:
        fitting = sorted(
            (one for one in there if dataset in one or model in one),
            key=lambda one: (one != (dataset, model), one[0] != dataset),
        )
        chosen += [one for one in fitting if one not in chosen and (one == (dataset, model) or one not in wanted)][:1]
    return chosen


def _both(results: Results, dataset: str, model: str) -> bool:
    found = results.lowest_seed(dataset, model, WORDS, tuple(SIDES))
    return found is not None and all(record.get("importance") for record in found[1])


def _wanted(results: Results) -> list[tuple[str, str]]:
    return [(dataset, results.model(model)) for dataset, model in WANTED]


def _remark(results: Results, rows: Sequence[tuple[str, str]]) -> str:
    """What the paper shows otherwise."""
    wanted = _wanted(results)
    if list(rows) == wanted:
        return "" if wanted[-1][1].startswith("bert") else f" {shown(wanted[-1][1])} stands for the paper's BERT."
    paper = ", ".join(f"{shown(model)} on {shown(dataset)}" for dataset, model in WANTED)
    return f" The paper shows {paper}; here is what there are results of, nearest to that."
