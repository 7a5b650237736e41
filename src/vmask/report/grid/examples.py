"""Texts with the words marked that every method's explanations rank highest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from vmask.report.grid.formats import markdown_text
from vmask.report.grid.marked_text import Piece, marked, superscript
from vmask.report.grid.results import GridResults, Record, Setting

FACTS = ("text", "label", "predicted", "spans")
"""Fields of an explained text; the others are explanations."""
TEXTS = 2
"""Texts of a dataset and model that are shown."""
LEGEND = (
    "Marked are the three words that speak most for the predicted class; the first of them has the number 1. The texts "
    "are the first of the sample that files keep, of the lowest seed; nobody picked them."
)


@dataclass(frozen=True)
class View:
    """A text as one model sees it.

    Attributes:
        method: training method, and its variant.
        by: the explainer.
        predicted: the class that the model predicts.
        pieces: the text, with the words that matter most marked.
    """

    method: str
    by: str
    predicted: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Example:
    """A text as all the methods see it.

    Attributes:
        dataset: where it is from.
        model: the kind of models.
        label: its class.
        views: one for each method and explainer.
    """

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
    found = []
    for (dataset, model), members in groupby(sorted(sources, key=lambda one: one[0]), key=lambda one: one[0][:2]):
        records = list(members)
        texts = dict.fromkeys(example["text"] for _, record in records for example in record["examples"])
        for text in list(texts)[:TEXTS]:
            views = tuple(view for setting, record in records for view in _views(setting, record, text))
            labels = (one["label"] for _, record in records for one in record["examples"] if one["text"] == text)
            found.append(Example(dataset, model, str(next(labels)), views))
    return found


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
