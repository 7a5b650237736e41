"""The tables about data: the datasets, and how their texts become words."""

from __future__ import annotations

from math import nan
from typing import Any

from reproduction.bands import NEAR, judge_count
from reproduction.context import SPLITS, Context
from reproduction.signature import NONE, data
from reproduction.table import Entry, Row, Table
from vmask.report.grid.table import exact

COUNTS = f"Counts are ok where they are the published ones after the paper's rounding, close within {NEAR:.0%}."


def datasets_table(context: Context) -> Table:
    """Table 2: classes, length and sizes."""

    def entries(dataset: str, facts: dict[str, Any]) -> list[Entry]:
        ours = {"classes": facts.get("classes"), "length": facts.get("average_length"), **facts.get("rows", {})}
        return [_counted(context, "datasets", dataset, name, ours.get(name)) for name in ("classes", "length", *SPLITS)]

    return _by_dataset(context, "datasets", "The datasets", 2, ("classes", "words", "train", "dev", "test"), entries)


def preprocessing_table(context: Context) -> Table:
    """Table 7: known words, the count that a word must exceed, and the length that texts are cut to."""

    def entries(dataset: str, facts: dict[str, Any]) -> list[Entry]:
        ours = {"vocabulary": facts.get("words_kept"), "threshold": facts.get("threshold")}
        ours["length"] = facts.get("max_words")
        return [_counted(context, "preprocessing", dataset, name, count) for name, count in ours.items()]

    note = "Words are those of the train split that the count lets in, whether or not there is a vector for them."
    return _by_dataset(
        context, "preprocessing", "Pre-processing", 7, ("words known", "threshold", "length"), entries, note
    )


def _counted(context: Context, table: str, dataset: str, name: str, ours: float | None) -> Entry:
    published = context.number(table, dataset, name)
    if published is None:
        return Entry(exact(ours))
    step = context.size_step(dataset, name) if name in SPLITS else 1
    band = (published - step / 2, published + step / 2)
    verdict = judge_count(nan if ours is None else ours, published, step)
    differs = () if ours is None else context.data_differs(dataset)
    return Entry(exact(ours), published, band, verdict, differs)


def _by_dataset(
    context: Context, name: str, title: str, number: int, columns: tuple[str, ...], entries: Any, note: str = ""
) -> Table:
    known = [dataset for dataset in context.datasets if dataset in context.results.datasets]
    told = [
        f"{context.column(dataset)}: {' '.join(context.results.datasets[dataset]['notes'])}"
        for dataset in known
        if context.results.datasets[dataset]["notes"]
    ]
    return Table(
        name=name,
        title=title,
        heads=("dataset",),
        columns=columns,
        rows=[
            Row((context.column(dataset),), tuple(entries(dataset, dict(context.results.datasets.get(dataset, {})))))
            for dataset in context.datasets
        ],
        signature=data(context, known) or NONE,
        notes=(COUNTS, *filter(None, [note]), *told),
        digits=0,
        number=number,
    )
