"""Texts with the words marked that every method's explanations rank highest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from vmask.explain.highlight import css
from vmask.report.grid.formats import markdown_text
from vmask.report.grid.results import GridResults, Record, Setting

MARKED = 3
"""Words of a text that are marked."""
FAINTEST = 0.2
"""Strength of the weakest mark, so that it is seen."""
FACTS = ("text", "label", "predicted", "spans")
"""Fields of an explained text; the others are explanations."""
TEXTS = 2
"""Texts of a dataset and model that are shown."""
LEGEND = (
    "Marked are the three words that speak most for the predicted class; the first of them has the number 1. The texts "
    "are the first of the sample that files keep, of the lowest seed; nobody picked them."
)


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


@dataclass(frozen=True)
class View:
    """A text as one model sees it: its training method, the explainer, the predicted class, the text in pieces."""

    method: str
    by: str
    predicted: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Example:
    """A text of a dataset with its class, in a view for each method and explainer of one kind of model."""

    dataset: str
    model: str
    label: str
    views: tuple[View, ...]


def explained_examples(results: GridResults) -> list[Example]:
    """The first texts of every dataset and model that has explained ones; empty where none has."""
    sources = [
        (setting, min(records.items())[1])
        for (setting, _), records in results.records.items()
        if any(record.get("examples") for record in records.values())
    ]
    examples = []
    sources.sort(key=lambda source: source[0])
    for (dataset, model), members in groupby(sources, key=lambda source: source[0][:2]):
        records = list(members)
        texts = dict.fromkeys(example["text"] for _, record in records for example in record["examples"])
        for text in list(texts)[:TEXTS]:
            views = tuple(view for setting, record in records for view in _views(setting, record, text))
            labels = (
                example["label"] for _, record in records for example in record["examples"] if example["text"] == text
            )
            examples.append(Example(dataset, model, str(next(labels)), views))
    return examples


def _views(setting: Setting, record: Record, text: str) -> Iterator[View]:
    for example in record["examples"]:
        if example["text"] == text:
            for by in sorted(set(example).difference(FACTS)):
                pieces = marked(text, example["spans"], example[by])
                method = f"{setting.mask} {setting.variant}".rstrip()
                yield View(method, by, str(example["predicted"]), pieces)


def examples_markdown(examples: list[Example]) -> str:
    """The texts as tables of Markdown: the words in bold, with their rank behind."""
    parts = [LEGEND]
    for example in examples:
        lines = [
            f"**{markdown_text(example.dataset)}, {markdown_text(example.model)}**, "
            f"class {markdown_text(example.label)}:\n",
            "| method | by | predicts | text |",
            "|---|---|---|---|",
        ]
        for view in example.views:
            heads = " | ".join(map(markdown_text, (view.method, view.by, view.predicted)))
            lines.append(f"| {heads} | {''.join(map(_markdown_piece, view.pieces))} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _markdown_piece(piece: Piece) -> str:
    """A piece in one line, which keeps the spaces at its ends."""
    ends = (" " if piece.text[:1].isspace() else "", " " if piece.text[-1:].isspace() else "")
    text = markdown_text(piece.text)
    if not text:
        return ends[0]
    shown = f"<b>{text}</b>{superscript(piece.rank)}" if piece.rank else text
    return f"{ends[0]}{shown}{ends[1]}"
