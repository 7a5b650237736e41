"""The table of hyperparameters: what was tried on dev, how it went, what was chosen."""

from __future__ import annotations

from reproduction.context import Context
from reproduction.entries import NO_NUMBER
from reproduction.results import titled
from reproduction.signature import NONE, data
from reproduction.table import Entry, Row, Table
from vmask.report.grid.overview_tables import SEARCH_NOTE, most_trials, trial_columns, trials
from vmask.report.grid.results import made_by

RANGES = {
    "kernels": "kernels of the CNN",
    "hidden": "hidden states of the LSTM",
    "learning_rate": "learning rate",
    "clip": "norm for clipping",
}
"""What the paper says it tried, by the names of its numbers."""


def search_table(context: Context) -> Table:
    """Every trial with its dev accuracy; which one was chosen."""
    found = [
        (dataset, model, mask, search)
        for dataset in context.datasets
        for model in context.models
        for mask in context.methods
        if (search := context.results.searches.get((dataset, context.results.model(model), mask))) is not None
    ]
    records = [search for *_, search in found]
    most = most_trials(records)
    seeds = sorted({search["asked"]["seed"] for search in records})
    parts = [data(context, list(dict.fromkeys(dataset for dataset, *_ in found))), f"seed {', '.join(map(str, seeds))}"]
    return Table(
        name="search",
        title="Hyperparameters: what was tried, and its accuracy on dev",
        heads=("dataset", "model", "method"),
        columns=trial_columns(most),
        rows=[
            Row((context.column(dataset), context.model(model), titled(mask)), trials(search, most, Entry, NO_NUMBER))
            for dataset, model, mask, search in found
        ],
        signature="; ".join(filter(None, [*parts, made_by(records)])) if records else NONE,
        notes=(SEARCH_NOTE, *_paper(context)),
        unit="percent",
    )


def _paper(context: Context) -> list[str]:
    """What the paper says about its own search."""
    said = []
    for name, title in RANGES.items():
        ends = [context.number("text", f"{name}_{end}", "value") for end in ("lowest", "highest")]
        if ends[0] is not None and ends[1] is not None:
            said.append(f"{title} {ends[0]:g} to {ends[1]:g}")
    return [f"The paper tried by hand: {', '.join(said)}."] if said else []
