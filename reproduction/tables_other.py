"""Tables of what was measured besides: by other metrics and explainers than the paper's, such as another package's."""

from __future__ import annotations

from reproduction.context import Context
from reproduction.entries import entry
from reproduction.results import ScoreKey, titled
from reproduction.signature import signature
from reproduction.table import Row, Table
from reproduction.tables_local import EXPLAINERS, FLOOR, LOCAL, WORDS
from vmask.grid.store import TRAIN

SHOWN = {LOCAL: ("aopc", "naopc"), WORDS: ("post_hoc_accuracy", "frequency_correlation")}
"""Metrics by stage that other tables show."""


def other_tables(context: Context) -> list[Table]:
    """A table for every stage that has numbers which no other table shows; the headlines of its metrics."""
    stages = {stage for *_, stage in context.results.records if stage != TRAIN}
    return [table for stage in sorted(stages) if (table := _other_table(context, stage)).rows]


def _other_table(context: Context, stage: str) -> Table:
    cells = context.cells(context.methods)
    records = context.used(cells, stage)
    keys = dict.fromkeys(
        ScoreKey(one["metric"], one["by"], one["hide"], one["part"])
        for record in records
        for one in record["scores"]
        if one.get("headline") and not _shown(stage, one["metric"], one["by"])
    )
    rows = []
    for key in keys:
        metric, by = f"{key.metric} {key.part}".strip(), ", ".join(filter(None, (titled(key.by), key.hide)))
        for model in context.models:
            for mask in context.methods:
                found = [context.results.score(dataset, model, mask, stage, key) for dataset in context.datasets]
                if any(one is not None for one in found):
                    rows.append(Row((metric, by, context.model(model), titled(mask)), tuple(map(entry, found))))
    return Table(
        name=f"other_{stage}",
        title=f"Other measurements: {stage}",
        heads=("metric", "by", "model", "method"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells, stage),
        notes=tuple(context.failed(cells, stage)),
        digits=3,
    )


def _shown(stage: str, metric: str, by: str) -> bool:
    """Whether another table has it."""
    return metric in SHOWN.get(stage, ()) and (stage != LOCAL or by in (*EXPLAINERS, FLOOR))
