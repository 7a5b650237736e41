"""Texts with the three words that matter most, base beside VMASK: the paper's tables of examples as pictures."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.available import shown
from reproduction.examples import (
    INTRODUCTION,
    LEGEND,
    RULE,
    SIDES,
    TABLE,
    Example,
    all_examples,
    source,
)
from reproduction.results import Results
from vmask.report.figures.style import Picture, styled
from vmask.report.figures.texts import Runs, ShownText, draw_texts
from vmask.report.grid.examples import FAINTEST, Piece, superscript

NAMES = {INTRODUCTION: "examples_introduction", TABLE: "examples_lime"}
"""Tables -> names of their pictures."""
INDENT = 78.0
"""Points for the names of models."""


@styled()
def texts(results: Results, group: str) -> Picture | None:
    """A table of examples as a picture; None where it has no texts."""
    found = [one for one in all_examples(results) if one.group == group]
    if not found:
        return None
    figure = draw_texts([_shown(one) for one in found], [False], INDENT)
    caption = f"{LEGEND} The deeper the colour, the higher the score. Above each text its class. {RULE}"
    return Picture(NAMES[group], f"Explained texts: {group[0].lower()}{group[1:]}", caption, figure)


def _shown(one: Example) -> ShownText:
    sides = zip(SIDES, (one.base, one.vmask), strict=True)
    views = {f"{shown(one.model)}-{shown(mask)}": _runs(pieces) for mask, pieces in sides}
    return ShownText(f"{one.label}  ·  {source(one)}", views)


def _runs(pieces: Sequence[Piece]) -> Runs:
    return [
        (piece.text + superscript(piece.rank), max(piece.strength, FAINTEST)) if piece.rank else (piece.text, 0.0)
        for piece in pieces
    ]
