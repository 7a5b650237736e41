"""A cloud of words as SVG, laid out here: no font is measured, so every machine gives the same bytes.

Widths are those of a common sans-serif face, and `textLength` holds the browser's own to them: so no word can lie on
another, whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin
from unicodedata import east_asian_width

NARROW, WIDE = "fijlrtI.,:;!'|()[] ", "mwMW@%"
"""Letters that are much narrower or wider than others."""
GAP = 3.0
"""Pixels between words."""
TALL = 1.12
"""Height of a word, by its font size."""
TURNS, PER_TURN = 60, 48
"""How far the search for a free place goes, and in how many steps each round of it."""


@dataclass(frozen=True)
class Placed:
    """A word in its place.

    Attributes:
        word: the word.
        kind: its class in the style sheet.
        said: what it says when the pointer rests on it.
        size: of the font.
        x: its middle.
        y: its baseline.
        width: of the word.
    """

    word: str
    kind: str
    said: str
    size: float
    x: float
    y: float
    width: float


def text_width(text: str, size: float) -> float:
    """About as wide as a text is in a sans-serif face."""
    ems = 0.0
    for char in text:
        if east_asian_width(char) in "WF":
            ems += 1.0
        elif char in NARROW:
            ems += 0.35
        elif char in WIDE:
            ems += 0.92
        else:
            ems += 0.71 if char.isupper() else 0.61
    return ems * size


def lay_out(
    words: Sequence[tuple[str, str, str]], width: float, height: float, largest: float, smallest: float
) -> list[Placed]:
    """Words on a spiral from the middle, the first the largest; one that finds no place is left out.

    Args:
        words: each with its class in the style sheet and what it says, the most important first.
        width: of the picture.
        height: of the picture.
        largest: font size of the first word.
        smallest: font size of the last word.
    """
    placed: list[Placed] = []
    boxes: list[tuple[float, float, float, float]] = []
    for rank, (word, kind, said) in enumerate(words):
        share = rank / max(len(words) - 1, 1)
        size = largest - (largest - smallest) * share**0.6  # the first few stand out
        size = min(size, size * (width - 4 * GAP) / max(text_width(word, size), 1.0))
        half_width, half_height = text_width(word, size) / 2 + GAP, size * TALL / 2 + GAP / 2
        for step in range(TURNS * PER_TURN):
            turn, far = 2 * pi * step / PER_TURN, step / (TURNS * PER_TURN)
            x, y = width / 2 * (1 + far * cos(turn)), height / 2 * (1 + far * sin(turn))
            box = (x - half_width, y - half_height, x + half_width, y + half_height)
            if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
                continue
            if not any(_overlap(box, other) for other in boxes):
                boxes.append(box)
                placed.append(Placed(word, kind, said, size, x, y + size * 0.34, text_width(word, size)))
                break
    return placed


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cloud_svg(
    words: Sequence[tuple[str, str, str]], width: int, height: int, largest: float, smallest: float, name: str
) -> str:
    """The picture; arguments as of `lay_out`, and a class of its own."""
    placed = lay_out(words, width, height, largest, smallest)
    if placed:  # cut off what stayed empty above and below
        top = min(one.y - one.size * 0.9 for one in placed) - GAP
        bottom = max(one.y + one.size * 0.35 for one in placed) + GAP
    else:
        top, bottom = 0.0, float(height)
    texts = "".join(
        f'<text x="{one.x:.1f}" y="{one.y:.1f}" font-size="{one.size:.1f}" textLength="{one.width:.1f}" '
        f'lengthAdjust="spacingAndGlyphs" class="{one.kind}"><title>{escape(one.said)}</title>{escape(one.word)}</text>'
        for one in placed
    )
    first = escape(", ".join(one.word for one in placed[:10]))
    return (
        f'<svg viewBox="0 {top:.0f} {width} {bottom - top:.0f}" role="img" class="cloud {name}" '
        f'aria-label="A cloud of words, the largest: {first}">{texts}</svg>'
    )
