"""Texts with their words on coloured grounds, for print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vmask.explain.highlight import letters, printable, shade, text_pieces
from vmask.report.figures.style import WIDE, fonts, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vmask.explain.contract import Explanation

SIZE, SMALL = 8.5, 7.0
"""Font sizes of texts and of what stands beside them, in points."""
LINE = 14.0
"""Points from one line to the next."""
INDENT = 48.0
"""Points that names of methods have at the left."""
GAP = 10.0
"""Points between two texts."""
SOFT = "#5c6470"


Runs = Sequence[tuple[str, float]]
"""A text in order: words with their strength, and what stands between them with 0."""


@dataclass(frozen=True)
class ShownText:
    """A text of the figure: what stands above it, and the text as each method or model sees it, by name."""

    head: str
    views: Mapping[str, Runs]


def draw_texts(texts: Sequence[ShownText], signs: Sequence[bool], indent: float = INDENT) -> Figure:
    """Texts below each other, each once for every view, and what the colours mean.

    Args:
        texts: in their order.
        signs: for which colours there is a legend: False where no word speaks against a class, True where some may.
        indent: points that names of views have at the left.
    """
    figure = new_figure(WIDE, 1.0)
    panel = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    panel.axis("off")
    y = LINE
    for text in texts:
        panel.text(2, y, printable(text.head), fontsize=SMALL, color=SOFT, va="baseline")
        y += LINE
        for name, runs in text.views.items():
            panel.text(2, y, name, fontsize=SMALL, color=SOFT, va="baseline")
            y = _draw_text(panel, runs, y, indent) + LINE
        y += GAP - LINE / 2
    for signed in signs:
        y = _draw_legend(panel, signed, y, indent) + LINE
    figure.set_size_inches(WIDE, y / 72)
    panel.set_xlim(0, WIDE * 72)
    panel.set_ylim(y, 0)
    return figure


def text_runs(explanation: Explanation) -> list[tuple[str, float]]:
    """An explained text, in order."""
    return [(piece.text, piece.strength) for piece in text_pieces(explanation)]


def _pieces(runs: Runs) -> Iterator[tuple[str, float]]:
    """What no line is broken within: words on their grounds, other words, spaces."""
    for text, strength in runs:
        for piece in [printable(text)] if strength else re.findall(r"\s+|\S+", printable(text)):
            yield piece, strength


def _draw_text(panel: Axes, runs: Runs, y: float, indent: float) -> float:
    """A text in lines as wide as the figure; gives the baseline of its last line."""
    x, right = indent, WIDE * 72 - 4
    for piece, strength in _pieces(runs):
        width = _width(panel, piece)
        if x > indent and x + width > right and piece.strip():
            x, y = indent, y + LINE
        if not piece.strip() and x == indent:
            continue  # no line begins with a space
        if strength:
            _draw_background(panel, x, y, width, strength)
        panel.text(x, y, piece, fontsize=SIZE, color=letters(strength), va="baseline", ha="left", zorder=3)
        x += width
    return y


def _draw_background(panel: Axes, x: float, y: float, width: float, strength: float) -> None:
    from matplotlib.patches import Rectangle

    colour = tuple(part / 255 for part in shade(strength))
    panel.add_patch(Rectangle((x - 1, y - SIZE), width + 2, SIZE * 1.32, facecolor=colour, linewidth=0, zorder=2))


def _draw_legend(panel: Axes, signed: bool, y: float, x: float) -> float:
    """A strip of grounds, with what either end means."""
    left, right = ("against the class", "for the class") if signed else ("matters less", "matters most")
    steps: tuple[float, ...] = (-1, -0.6, -0.25, 0.25, 0.6, 1) if signed else (0.25, 0.6, 1)
    panel.text(x, y, left, fontsize=SMALL, color=SOFT, va="baseline")
    x += _width(panel, left, SMALL) + 8
    for step in steps:
        _draw_background(panel, x, y, 16, step)
        sign = ("+" if step > 0 else "−") if signed else ""
        panel.text(x + 8, y, sign, fontsize=SMALL, color=letters(step), va="baseline", ha="center", zorder=3)
        x += 18
    panel.text(x + 6, y, right, fontsize=SMALL, color=SOFT, va="baseline")
    return y


def _width(panel: Axes, text: str, size: float = SIZE) -> float:
    """Width of a text, in points."""
    from matplotlib.font_manager import FontProperties

    figure: Any = panel.get_figure()
    renderer = figure.canvas.get_renderer()
    pixels, _, _ = renderer.get_text_width_height_descent(text, FontProperties(family=fonts(), size=size), False)
    return float(pixels) * 72 / float(figure.dpi)
