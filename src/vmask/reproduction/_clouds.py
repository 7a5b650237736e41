"""Clouds of the most important words, VMASK beside IBA."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from vmask.reproduction._found import WORDS, lowest, named, pairs, shown
from vmask.reproduction._style import BLUE, PURPLE, WIDE, Picture, canvas, styled
from vmask.reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WANTED = (("agnews", "cnn"), ("yelp", "lstm"), ("subj", "bert"))
"""Datasets and models of the paper's figure."""
SIDES = {"vmask": BLUE, "iba": PURPLE}
WORDS_SHOWN = 10
WIDTH, HEIGHT = 480, 200
"""Of a cloud, in pixels."""
LARGEST, SMALLEST = 52, 22
"""Font sizes of the first and of the last word, in pixels."""
PANEL = 0.49 * WIDE
"""Width of a cloud in print, in inches."""
ROW = PANEL * HEIGHT / WIDTH + 0.26
"""Height of a row with its title, in inches."""
TRIES = 24
"""Seeds of the layout that are tried."""
MARGIN = 20
"""Pixels around words for `wordcloud`: many, since it writes them lower than where it has looked for room."""
GAP = 4
"""Pixels between words, and between them and the edge."""

Placed: TypeAlias = tuple[str, int, float, float]
"""A word, its font size, left end and baseline."""


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
    figure = canvas(WIDE, len(rows) * ROW)
    seeds = set()
    for number, (dataset, model) in enumerate(rows):
        found = lowest(results, dataset, model, WORDS, tuple(SIDES))
        assert found is not None
        seeds.add(found[0])
        for side, ((mask, colour), record) in enumerate(zip(SIDES.items(), found[1], strict=True)):
            words = [named(str(row[0])) for row in record["importance"][which][:WORDS_SHOWN]]
            bottom = 1 - ((number + 1) * ROW - 0.04) / (len(rows) * ROW)
            panel = figure.add_axes((0.005 + 0.5 * side, bottom, 0.49, PANEL * HEIGHT / WIDTH / (len(rows) * ROW)))
            panel.set_title(f"{shown(model)}-{shown(mask)}, {shown(dataset)}", pad=3)
            _draw(panel, words, colour)
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
    found = lowest(results, dataset, model, WORDS, tuple(SIDES))
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


def _draw(panel: Axes, words: Sequence[str], colour: str) -> None:
    """Words where `wordcloud` puts them, written by matplotlib, so that they stay sharp at any size."""
    for word, size, left, baseline in _layout(words):
        panel.text(left, baseline, word, fontsize=size * PANEL * 72 / WIDTH, color=colour, ha="left", va="baseline")
    panel.set_xlim(0, WIDTH)
    panel.set_ylim(0, HEIGHT)
    panel.set_xticks([])
    panel.set_yticks([])
    for spine in panel.spines.values():
        spine.set(visible=True, color="#e3e6ea")


def _layout(words: Sequence[str]) -> list[Placed]:
    """All words in their places: of several layouts the one that is largest, of those in which none touch."""
    tried = [_try(words, seed) for seed in range(TRIES)]
    return min(tried, key=lambda one: (one[0], -sum(size for _, size, _, _ in one[1])))[1]


def _try(words: Sequence[str], seed: int) -> tuple[float, list[Placed]]:
    """A layout by `wordcloud`, and what is wrong with it."""
    from matplotlib.font_manager import FontProperties, findfont

    font = findfont(FontProperties(family="DejaVu Sans"))
    truetype = import_module("PIL.ImageFont").truetype
    step = (LARGEST - SMALLEST) / max(len(words) - 1, 1)
    sizes = {word: LARGEST - step * rank for rank, word in enumerate(words)}
    cloud = import_module("wordcloud").WordCloud(
        font_path=font, width=WIDTH, height=HEIGHT, max_font_size=LARGEST, min_font_size=8, margin=MARGIN,
        prefer_horizontal=1.0, relative_scaling=1.0, random_state=seed, color_func=lambda *_, **__: "black",
    ).generate_from_frequencies(sizes)  # fmt: skip
    placed, boxes = [], []
    for (word, _), size, (top, left), _, _ in cloud.layout_:
        letters = truetype(font, size)
        placed.append((word, int(size), float(left), float(HEIGHT - top - letters.getmetrics()[0])))
        boxes.append([a + b for a, b in zip(letters.getbbox(word), (left, top, left, top), strict=True)])
    return 1000 * (len(words) - len(placed)) + _touching(boxes), placed


def _touching(boxes: Sequence[Sequence[float]]) -> float:
    """How far words lie over each other or over the edge, in pixels."""
    wrong = 0.0
    for number, (left, top, right, bottom) in enumerate(boxes):
        wrong += max(GAP - left, 0) + max(GAP - top, 0) + max(right + GAP - WIDTH, 0) + max(bottom + GAP - HEIGHT, 0)
        for other in boxes[:number]:
            across = min(right, other[2]) - max(left, other[0]) + GAP
            upright = min(bottom, other[3]) - max(top, other[1]) + GAP
            wrong += min(across, upright) if across > 0 and upright > 0 else 0
    return wrong
