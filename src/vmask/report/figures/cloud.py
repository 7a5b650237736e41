"""A cloud of words, the larger the higher a word ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from vmask.report.figures.style import font_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEEDS = 24
"""Seeds of the layout that are tried."""
GAP = 4
"""Pixels between words, and between them and the edge."""

Placed: TypeAlias = tuple[str, int, float, float]
"""A word, its font size, left end and baseline."""


@dataclass(frozen=True)
class Sheet:
    """What a cloud is laid out on; everything is in pixels.

    Attributes:
        width: of the cloud.
        height: of the cloud.
        largest: font size of the first word.
        smallest: font size of the last word.
        margin: around words for `wordcloud`: more than they need, since it writes them lower than where it has looked
            for room.
    """

    width: int
    height: int
    largest: int
    smallest: int
    margin: int


def draw_cloud(panel: Axes, words: Sequence[str], colours: Sequence[str], sheet: Sheet, inches: float) -> None:
    """Words where `wordcloud` puts them, written by matplotlib, so that they stay sharp at any size.

    Args:
        panel: where to draw; it has the proportions of the sheet.
        words: the most important first.
        colours: of each word.
        sheet: what they are laid out on.
        inches: width of the panel in print.
    """
    colour_of = dict(zip(words, colours, strict=True))
    for word, size, left, baseline in _layout(words, sheet):
        points = size * inches * 72 / sheet.width
        panel.text(left, baseline, word, fontsize=points, color=colour_of[word], ha="left", va="baseline")
    panel.set_xlim(0, sheet.width)
    panel.set_ylim(0, sheet.height)
    panel.set_xticks([])
    panel.set_yticks([])
    for spine in panel.spines.values():
        spine.set(visible=True, color="#e3e6ea")


def _layout(words: Sequence[str], sheet: Sheet) -> list[Placed]:
    """All words in their places: of several layouts the one that is largest, of those in which none touch."""
    layouts = [_seeded_layout(words, sheet, seed) for seed in range(SEEDS)]
    return min(layouts, key=lambda layout: (layout[0], -sum(size for _, size, _, _ in layout[1])))[1]


def _seeded_layout(words: Sequence[str], sheet: Sheet, seed: int) -> tuple[float, list[Placed]]:
    """A layout by `wordcloud`, and what is wrong with it."""
    font = font_of(words)
    truetype = import_module("PIL.ImageFont").truetype
    step = (sheet.largest - sheet.smallest) / max(len(words) - 1, 1)
    sizes = {word: sheet.largest - step * rank for rank, word in enumerate(words)}
    cloud = import_module("wordcloud").WordCloud(
        font_path=font, width=sheet.width, height=sheet.height, max_font_size=sheet.largest, min_font_size=8,
        margin=sheet.margin, prefer_horizontal=1.0, relative_scaling=1.0, random_state=seed,
        color_func=lambda *_, **__: "black",
    ).generate_from_frequencies(sizes)  # fmt: skip
    placed, boxes = [], []
    for (word, _), size, (top, left), _, _ in cloud.layout_:
        letters = truetype(font, size)
        placed.append((word, int(size), float(left), float(sheet.height - top - letters.getmetrics()[0])))
        boxes.append([a + b for a, b in zip(letters.getbbox(word), (left, top, left, top), strict=True)])
    return 1000 * (len(words) - len(placed)) + _overlaps(boxes, sheet), placed


def _overlaps(boxes: Sequence[Sequence[float]], sheet: Sheet) -> float:
    """How far words lie over each other or over the edge, in pixels."""
    pixels = 0.0
    for number, (left, top, right, bottom) in enumerate(boxes):
        pixels += max(GAP - left, 0) + max(GAP - top, 0)
        pixels += max(right + GAP - sheet.width, 0) + max(bottom + GAP - sheet.height, 0)
        for other in boxes[:number]:
            across = min(right, other[2]) - max(left, other[0]) + GAP
            upright = min(bottom, other[3]) - max(top, other[1]) + GAP
            pixels += min(across, upright) if across > 0 and upright > 0 else 0
    return pixels
