"""The layout of a cloud of words: no font is measured, so every machine gives the same bytes.

Widths are those of a common sans-serif face, and `textLength` holds the browser's own to them: so no word can lie on
another, whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        colour: its class in the style sheet.
        title: what is shown when the pointer rests on it.
        size: of the font.
        x: its middle.
        y: its baseline.
        width: of the word.
    """

    word: str
    colour: str
    title: str
    size: float
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Cloud:
    """A picture of words.

    Attributes:
        name: its class in the style sheet.
        width: of the picture.
        top: where the picture starts; what stays empty above and below is cut off.
        height: of what is left.
        words: the words in their places, the most important first.
    """

    name: str
    width: float
    top: float
    height: float
    words: tuple[Placed, ...]


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
        words: each with its class in the style sheet and its title, the most important first.
        width: of the picture.
        height: of the picture.
        largest: font size of the first word.
        smallest: font size of the last word.
    """
    placed: list[Placed] = []
    boxes: list[tuple[float, float, float, float]] = []
    for rank, (word, colour, title) in enumerate(words):
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
                placed.append(Placed(word, colour, title, size, x, y + size * 0.34, text_width(word, size)))
                break
    return placed


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cloud(
    name: str, words: Sequence[tuple[str, str, str]], width: float, height: float, largest: float, smallest: float
) -> Cloud:
    """A cloud; arguments as of `lay_out`, and a class of its own."""
    placed = lay_out(words, width, height, largest, smallest)
    top = min((one.y - one.size * 0.9 for one in placed), default=0.0) - GAP
    bottom = max((one.y + one.size * 0.35 for one in placed), default=height) + GAP
    return Cloud(name, width, round(top), round(bottom - top), tuple(placed))
