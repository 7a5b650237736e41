"""A text with the words marked that an explanation ranks highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vmask.explain.highlight import css

MARKED = 3
"""Words of a text that are marked."""
FAINTEST = 0.2
"""Strength of the weakest mark, so that it is seen."""


@dataclass(frozen=True)
class Piece:
    """A part of a text.

    Attributes:
        text: as it stands there.
        rank: 1, 2, … for the words that matter most, else 0.
        strength: score by the highest of the text, from 0 to 1; 0 for what is not marked.
    """

    text: str
    rank: int = 0
    strength: float = 0.0

    @property
    def style(self) -> str:
        """CSS of a mark: the higher the score, the deeper its colour."""
        return css(max(self.strength, FAINTEST))


def marked(text: str, spans: Sequence[Sequence[int]], scores: Sequence[float], most: int = MARKED) -> tuple[Piece, ...]:
    """A text in pieces, with the words of the highest scores marked: of equal ones the first, and none up to 0.

    Args:
        text: as it is.
        spans: (N, 2) where its words begin and end.
        scores: (N,) one for each word.
        most: how many words are marked.

    >>> [piece.text for piece in marked("a fine, fine day", [(0, 1), (2, 6), (8, 12), (13, 16)], [0, 2, 2, 1])]
    ['a ', 'fine', ', ', 'fine', ' ', 'day']
    """
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    ranks = {place: rank for rank, place in enumerate(order[:most], 1) if scores[place] > 0}
    pieces, at = [], 0
    for place in sorted(ranks):
        start, end = spans[place]
        if at < start:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[start:end], ranks[place], scores[place] / scores[order[0]]))
        at = end
    return (*pieces, Piece(text[at:])) if at < len(text) else tuple(pieces)


def superscript(rank: int) -> str:
    """A rank as a small raised number."""
    return "⁰¹²³⁴⁵⁶⁷⁸⁹"[rank]
