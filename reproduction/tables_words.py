"""The tables about single words: by SP-LIME, by VMASK's importance, and how that goes with frequency."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reproduction.bands import Band, correlation_band
from reproduction.context import Cell, Context
from reproduction.entries import NO_NUMBER, entry
from reproduction.results import ScoreKey, titled
from reproduction.signature import signature
from reproduction.table import Entry, Row, Table
from vmask.evaluation.statistics import Estimate
from vmask.report.grid.results import over_seeds

LOCAL, WORDS = "local", "words"
SHOWN, TOP = 3, 10
"""Words that SP-LIME lists for a model, and words at the top of an importance."""
LISTED = "imdb"
"""The dataset whose words by SP-LIME the paper lists."""
EXPLAINED = ("base", "vmask")
RANKING = ("vmask", "iba")
PLOTTED = ("lstm", "yelp")
"""The model and the dataset of the paper's plot of importance and frequency."""
HIGH, ABOUT = 0.8, 0.05
"""Importance of a word that matters, and what 'about 0.5' allows on each side."""
CORRELATIONS = {"pearson": "Pearson", "log": "Pearson, log counts", "spearman": "Spearman"}

Ranked = Sequence[Sequence[Any]]
"""Words with a number and more each, highest first."""


def sp_lime_table(context: Context) -> Table:
    """Table 6: the words with the largest sums of LIME scores, for each class and in absolute value."""
    published = context.rows("sp_lime")
    rows = []
    cells = context.cells(EXPLAINED)
    for cell in cells:
        dataset, model, mask = cell
        words = published.get(model, {}).get(mask, ()) if dataset == LISTED else ()
        if dataset == LISTED or _sums(context, cell):
            heads = (context.column(dataset), context.model(model), titled(mask))
            rows.append(Row(heads, _sp_lime(context, cell, words)))
    return Table(
        name="sp_lime",
        title="The three words with the largest sums of LIME scores",
        heads=("dataset", "model", "method"),
        columns=("signed, by class", "absolute", "paper"),
        rows=rows,
        signature=signature(context, cells, LOCAL),
        notes=(
            "Words of the lowest seed. Signed sums are of the texts that the model puts into the class; absolute ones "
            "of all. The paper does not say which it has; its words are almost all of the positive class.",
            f"'{NO_NUMBER}': the paper has words of {titled(LISTED)} alone. Of other datasets, what was run is listed.",
            *context.notes(cells),
        ),
        number=6,
        unit="words",
    )


def _sums(context: Context, cell: Cell) -> Mapping[str, Any]:
    """Sums of LIME scores of the lowest seed that has them."""
    for record in context.used([cell], LOCAL):
        found: Mapping[str, Any] = record.get("splime", {}).get("lime", {})
        if found:
            return found
    return {}


def _sp_lime(context: Context, cell: Cell, published: Sequence[str]) -> tuple[Entry, Entry, Entry]:
    found = _sums(context, cell)
    paper = Entry(text=", ".join(published) or NO_NUMBER)
    if not found:
        return Entry(), Entry(), paper
    differs = context.differs(*cell)
    order: list[str] = context.results.datasets.get(cell[0], {}).get("labels", [])
    by_class = sorted(found["by_class"].items(), key=lambda one: order.index(one[0]) if one[0] in order else len(order))
    told = "; ".join(f"{label}: {_listed(words)}" for label, words in by_class)
    tops = {row[0] for _, words in by_class for row in words[:SHOWN]}
    return (
        Entry(text=told, differs=differs, note=_shared(tops, published)),
        Entry(
            text=_listed(found["absolute"]),
            differs=differs,
            note=_shared({row[0] for row in found["absolute"][:SHOWN]}, published),
        ),
        paper,
    )


def _listed(words: Ranked) -> str:
    return ", ".join(str(row[0]) for row in words[:SHOWN])


def _shared(ours: set[Any], published: Sequence[str]) -> str:
    return f"{sum(word in ours for word in published)} of the paper's {len(published)}" if published else ""


def importance_table(context: Context) -> Table:
    """What figure 4 says in numbers: how important the top words are to VMASK, and the most frequent ones."""
    of_top = context.number("text", "sentiment_importance", "value")
    of_frequent = context.number("text", "frequent_importance", "value")
    top = f"importance of the {TOP} top words"
    frequent = f"importance of the {TOP} most frequent words"
    measures: dict[str, tuple[Callable[[Mapping[str, Any]], float], float | None, Band | None]] = {
        top: (lambda one: _mean(one["top"]), of_top, None if of_top is None else (of_top, 1.0)),
        f"share of the {TOP} top words above {HIGH}": (_share_high, None, None),
        frequent: (
            lambda one: _mean(one["frequent"]),
            of_frequent,
            None if of_frequent is None else (of_frequent - ABOUT, of_frequent + ABOUT),
        ),
    }
    rows = []
    for model in context.models:
        for title, (measure, published, band) in measures.items():
            entries = []
            for dataset in context.datasets:
                plotted = (model, dataset) == PLOTTED
                ours = _over_seeds(context, (dataset, model, "vmask"), measure)
                differs = context.differs(dataset, model, "vmask")
                entries.append(entry(ours, *((published, band) if plotted else (None, None)), differs))
            rows.append(Row((context.model(model), title), tuple(entries)))
    cells = context.cells(("vmask",))
    return Table(
        name="importance",
        title="Importance of words to VMASK",
        heads=("model", "measure"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells, WORDS),
        notes=(
            "The paper plots LSTM on Yelp: sentiment words above 0.8, frequent ones around 0.5 (here 0.45 to 0.55).",
            *context.notes(cells),
            *context.failed(cells, WORDS),
        ),
        digits=2,
    )


def _mean(words: Ranked) -> float:
    return sum(float(row[1]) for row in words[:TOP]) / max(len(words[:TOP]), 1)


def _share_high(importance: Mapping[str, Any]) -> float:
    scores = [float(row[1]) for row in importance["top"][:TOP]]
    return sum(score > HIGH for score in scores) / max(len(scores), 1)


def _over_seeds(context: Context, cell: Cell, measure: Callable[[Mapping[str, Any]], float]) -> Estimate | None:
    records = context.results.stage(*cell, WORDS)
    return over_seeds(
        {seed: measure(one["importance"]) for seed, one in sorted(records.items()) if one.get("importance")}
    )


def top_words_table(context: Context) -> Table:
    """Figures 4 and 5 in words: the most important ones, and what the most frequent ones are worth."""
    cells = [cell for cell in context.cells(RANKING) if _importance(context, cell) is not None]
    rows = []
    for cell in cells:
        found = _importance(context, cell)
        assert found is not None
        entries = tuple(
            Entry(text=", ".join(f"{row[0]} {row[1]:.2f}" for row in found[name][:TOP]), differs=context.differs(*cell))
            for name in ("top", "frequent")
        )
        rows.append(Row((context.column(cell[0]), context.model(cell[1]), titled(cell[2])), entries))
    return Table(
        name="top_words",
        title="The ten most important and the ten most frequent words, with their importance",
        heads=("dataset", "model", "method"),
        columns=("most important", "most frequent"),
        rows=rows,
        signature=signature(context, cells, WORDS),
        notes=(
            "Words of the lowest seed; datasets and models that were run. The paper has plots and word clouds.",
            *context.notes(cells),
        ),
        unit="words",
    )


def _importance(context: Context, cell: Cell) -> Mapping[str, Any] | None:
    """Of the lowest seed."""
    found = (record.get("importance") for record in context.used([cell], WORDS))
    return next(filter(None, found), None)


def correlation_table(context: Context) -> Table:
    """Table 11: correlation of a word's importance to VMASK with its frequency."""
    rows = []
    for model in context.models:
        for part, title in CORRELATIONS.items():
            entries = tuple(_correlation(context, (dataset, model, "vmask"), part) for dataset in context.datasets)
            rows.append(Row((context.model(model), title), entries))
    cells = context.cells(("vmask",))
    return Table(
        name="correlation",
        title="Correlation of a word's importance to VMASK with its frequency",
        heads=("model", "correlation"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells, WORDS),
        notes=(
            "The paper has Pearson's of raw counts, which a few frequent words decide; the band is 95%, by Fisher's "
            "z with the paper's number of words. Where there is one seed the interval is over words.",
            *context.notes(cells),
            *context.failed(cells, WORDS),
        ),
        digits=3,
        number=11,
    )


def _correlation(context: Context, cell: Cell, part: str) -> Entry:
    dataset, model, _ = cell
    ours = context.results.score(*cell, WORDS, ScoreKey("frequency_correlation", "mask", part=part))
    if ours is not None and ours.how == "over texts":
        ours = dataclasses.replace(ours, how="over words")
    published = context.number("correlation", model, dataset) if part == "pearson" else None
    words = context.number("preprocessing", dataset, "vocabulary")
    band = None if published is None or words is None else correlation_band(published, words)
    return entry(ours, published, band, context.differs(*cell))
