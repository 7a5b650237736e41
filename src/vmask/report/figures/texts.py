"""Texts with their words on coloured grounds, for print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vmask.report.figures.style import WIDE, canvas
from vmask.report.highlight import letters, printable, shade

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
ROOM = 10.0
"""Points between two texts."""
SOFT = "#5c6470"


@dataclass(frozen=True)
class Shown:
    """A text of the figure.

    Attributes:
        head: what the model says of it.
        views: name of a method -> its explanation.
    """

    head: str
    views: dict[str, Explanation]


def draw_texts(texts: Sequence[Shown]) -> Figure:
    """Texts below each other, each once for every method, and what the colours mean."""
    figure = canvas(WIDE, 1.0)
    panel = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    panel.axis("off")
    y = LINE
    for text in texts:
        panel.text(2, y, printable(text.head), fontsize=SMALL, color=SOFT, va="baseline")
        y += LINE
        for name, explanation in text.views.items():
            panel.text(2, y, name, fontsize=SMALL, color=SOFT, va="baseline")
            y = _write(panel, explanation, y) + LINE
        y += ROOM - LINE / 2
    signs = {one.signed for text in texts for one in text.views.values()}
    for signed in sorted(signs):
        y = _legend(panel, signed, y) + LINE
    figure.set_size_inches(WIDE, y / 72)
    panel.set_xlim(0, WIDE * 72)
    panel.set_ylim(y, 0)
    return figure


def _pieces(explanation: Explanation) -> Iterator[tuple[str, float | None]]:
    """The text in order: words with their strength, and what stands between them."""
    at, text = 0, printable(explanation.text)
    for (start, end), strength in zip(explanation.spans, explanation.strengths(), strict=True):
        if start > at:
            yield text[at:start], None
        yield text[start:end], strength
        at = end
    if at < len(text):
        yield text[at:], None


def _write(panel: Axes, explanation: Explanation, y: float) -> float:
    """A text in lines as wide as the figure; gives the baseline of its last line."""
    x, right = INDENT, WIDE * 72 - 4
    for piece, strength in _pieces(explanation):
        wide = _width(panel, piece)
        if x > INDENT and x + wide > right and piece.strip():
            x, y = INDENT, y + LINE
        if not piece.strip() and x == INDENT:
            continue  # no line begins with a space
        if strength:
            _ground(panel, x, y, wide, strength)
        colour = "#1a1a1a" if not strength else letters(strength)
        panel.text(x, y, piece, fontsize=SIZE, color=colour, va="baseline", ha="left", zorder=3)
        x += wide
    return y


def _ground(panel: Axes, x: float, y: float, wide: float, strength: float) -> None:
    from matplotlib.patches import Rectangle

    colour = tuple(part / 255 for part in shade(strength))
    panel.add_patch(Rectangle((x - 1, y - SIZE), wide + 2, SIZE * 1.32, facecolor=colour, linewidth=0, zorder=2))


def _legend(panel: Axes, signed: bool, y: float) -> float:
    """A strip of grounds, with what either end means."""
    left, right = ("against the class", "for the class") if signed else ("matters less", "matters most")
    steps: tuple[float, ...] = (-1, -0.6, -0.25, 0.25, 0.6, 1) if signed else (0.25, 0.6, 1)
    x = INDENT
    panel.text(x, y, left, fontsize=SMALL, color=SOFT, va="baseline")
    x += _width(panel, left, SMALL) + 8
    for step in steps:
        _ground(panel, x, y, 16, step)
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
    pixels, _, _ = renderer.get_text_width_height_descent(text, FontProperties(family="DejaVu Sans", size=size), False)
    return float(pixels) * 72 / float(figure.dpi)
