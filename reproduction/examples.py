"""Texts with the three words that matter most to the base model and to VMASK: the paper's two tables of examples.

Nobody picks them by how they look. Of the texts whose explanations a result file keeps, which are the first of the
sample that are not too long, those count that base and VMASK of the same seed (the lowest that both have) both classify
rightly; of these the first are shown, in the order of the sample, short ones before long ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from reproduction.available import LOCAL, datasets, models, shown
from reproduction.results import Results
from vmask.report.grid.examples import FAINTEST, Piece, marked, superscript

SIDES = ("base", "vmask")
PREFERRED = ("imdb", "sst2")
"""Datasets in whose texts the paper shows explanations, then any other."""
SHORT, SHORTEST = 40, 15
"""Words of a short text: in the table of explanations, and in the introduction."""
INTRODUCTION, TABLE = "As in the paper's introduction", "Explanations by LIME"
RULE = (
    "Not picked by how they look: for each model the first texts of the sample that base and VMASK, trained with the "
    "same seed, both classify rightly, short ones before long ones; in the introduction's table the second is the "
    "first of another class."
)
LEGEND = (
    "Marked are the three words that speak most for the predicted class; the first of them has the number 1. Words "
    "that do not speak for it are never marked."
)


@dataclass(frozen=True)
class Example:
    """A text as two models see it.

    Attributes:
        group: the table that it belongs to.
        dataset: where it is from.
        model: the kind of both models.
        seed: of both.
        by: the explainer.
        label: its class, which both predict.
        base: the text in pieces, with the words that matter to the base model marked.
        vmask: likewise, of the model trained with VMASK.
    """

    group: str
    dataset: str
    model: str
    seed: int
    by: str
    label: str
    base: tuple[Piece, ...]
    vmask: tuple[Piece, ...]


def all_examples(results: Results) -> list[Example]:
    """The texts of both tables; empty where no texts were explained."""
    return [*introduction(results), *examples(results)]


def introduction(results: Results) -> list[Example]:
    """Two short texts, where there are such of different classes, by LIME and by SampleShapley.

    The first model that has both explanations counts, on SST-2 if it is there: texts of IMDB are not as short.
    """
    by = ("lime", "shapley")
    for dataset in _preferred(results, PREFERRED[::-1]):
        for model in models(results, dataset, LOCAL):
            seed, found = _right(results, dataset, model, by)
            found = _short_first(found, SHORTEST)
            others = [pair for pair in found[1:] if pair[0]["label"] != found[0][0]["label"]]
            chosen = [*found[:1], *(others or found[1:])[:1]]
            if chosen:
                return [_example(INTRODUCTION, dataset, model, seed, how, pair) for pair in chosen for how in by]
    return []


def examples(results: Results, by: str = "lime", most: int = 3) -> list[Example]:
    """For each model up to `most` texts of one dataset, IMDB if it is there, else SST-2, else the first that is."""
    shown_texts: dict[str, list[Example]] = {}
    for dataset in _preferred(results, PREFERRED):
        for model in models(results, dataset, LOCAL):
            seed, found = _right(results, dataset, model, (by,))
            if found and model not in shown_texts:
                chosen = _short_first(found, SHORT)[:most]
                shown_texts[model] = [_example(TABLE, dataset, model, seed, by, pair) for pair in chosen]
    return [one for texts in shown_texts.values() for one in texts]


def examples_view(found: Sequence[Example]) -> dict[str, Any]:
    """What the template shows of the texts: a group for each table, with what the marks mean."""
    groups = [
        (group, [{"rows": list(_sides(one)), "label": one.label, "source": source(one)} for one in members])
        for group, members in groupby(found, key=lambda one: one.group)
    ]
    return {
        "groups": groups,
        "legend_marks": [Piece("", rank, strength) for rank, strength in ((1, 1.0), (2, 0.6), (3, FAINTEST))],
        "legend": f"{LEGEND} The deeper the colour, the higher the score. {RULE}",
    }


def examples_markdown(found: Sequence[Example]) -> str:
    """The texts as tables of Markdown: the words in bold, with their rank behind."""
    parts = [f"{LEGEND} {RULE}"]
    for group, members in groupby(found, key=lambda one: one.group):
        rows = [
            f"| {' | '.join((_plain(name), text, _plain(one.label), _plain(source(one))))} |"
            for one in members
            for name, pieces in _sides(one)
            for text in ["".join(_mark_markdown(piece) if piece.rank else _plain(piece.text) for piece in pieces)]
        ]
        parts.append(f"### {group}")
        parts.append("\n".join(["| model | text | class | from |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _preferred(results: Results, first: Sequence[str]) -> list[str]:
    """Datasets with explained texts, some before all others."""
    there = datasets(results, LOCAL)
    return [*(one for one in first if one in there), *(one for one in there if one not in first)]


def _right(
    results: Results, dataset: str, model: str, by: Sequence[str]
) -> tuple[int, list[tuple[Mapping[str, Any], Mapping[str, Any]]]]:
    """The seed, and the texts that both models have right, as both explain them by all the explainers."""
    found = results.lowest_seed(dataset, model, LOCAL, SIDES)
    if found is None:
        return 0, []
    seed, (base, vmask) = found
    others = {one["text"]: one for one in vmask["examples"] if one["predicted"] == one["label"]}
    pairs = [(one, others.get(one["text"])) for one in base["examples"] if one["predicted"] == one["label"]]
    return seed, [
        (one, other) for one, other in pairs if other is not None and all(how in one and how in other for how in by)
    ]


def _short_first(found: Sequence[Any], short: int) -> list[Any]:
    return sorted(found, key=lambda pair: len(pair[0]["spans"]) > short)


def _example(group: str, dataset: str, model: str, seed: int, by: str, pair: Sequence[Mapping[str, Any]]) -> Example:
    base, vmask = (marked(one["text"], one["spans"], one[by]) for one in pair)
    return Example(group, dataset, model, seed, by, pair[0]["label"], base, vmask)


def _sides(one: Example) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    """Both models by name, each with the text as it sees it."""
    for mask, pieces in zip(SIDES, (one.base, one.vmask), strict=True):
        yield f"{shown(one.model)}-{shown(mask)}", pieces


def source(one: Example) -> str:
    """Where an example is from, and how its words were scored."""
    return f"{shown(one.dataset)}, {shown(one.by)}, seed {one.seed}"


def _mark_markdown(piece: Piece) -> str:
    bold = ("**", "**") if piece.text[0].isalnum() and piece.text[-1].isalnum() else ("<b>", "</b>")
    return f"{bold[0]}{_plain(piece.text)}{bold[1]}{superscript(piece.rank)}"


def _plain(text: str) -> str:
    """A text that Markdown shows as it is, in one line of a table."""
    text = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", text)
