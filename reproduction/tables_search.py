"""The table of hyperparameters: what was tried on dev, how it went, what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproduction.context import Context
from reproduction.entries import NO_NUMBER, exact
from reproduction.results import titled
from reproduction.signature import NONE, data, made
from reproduction.table import Entry, Row, Table

DEFAULT = "default"
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
    most = max((len(search["trials"]) for *_, search in found), default=1)
    records = [search for *_, search in found]
    seeds = sorted({search["asked"]["seed"] for search in records})
    parts = [data(context, list(dict.fromkeys(dataset for dataset, *_ in found))), f"seed {', '.join(map(str, seeds))}"]
    return Table(
        name="search",
        title="Hyperparameters: what was tried, and its accuracy on dev",
        heads=("dataset", "model", "method"),
        columns=(*(f"trial {number}" for number in range(1, most + 1)), "chosen"),
        rows=[
            Row((context.column(dataset), context.model(model), titled(mask)), _trials(search, most))
            for dataset, model, mask, search in found
        ],
        signature="; ".join(filter(None, [*parts, made(records)])) if records else NONE,
        notes=(
            "Accuracy of the best epoch on dev, of one training each, with a seed that no other training has; the "
            "highest is chosen, ties to the earlier. Test texts are not looked at. A model that is not listed had one "
            "set of options.",
            *_paper(context),
        ),
        unit="percent",
    )


def _trials(search: Mapping[str, Any], most: int) -> tuple[Entry, ...]:
    trials = search["trials"]
    tried = [Entry(exact(100 * one["dev_accuracy"]), note=_options(one["options"])) for one in trials]
    missing = [Entry(text=NO_NUMBER)] * (most - len(trials))
    chosen = trials[search["chosen"]]["options"]
    return (*tried, *missing, Entry(text=f"{search['chosen'] + 1}: {_options(chosen)}"))


def _options(options: Mapping[str, Any]) -> str:
    told = {name.partition("__")[2] or name: value for name, value in options.items()}
    return ", ".join(f"{name} {f'{v:g}' if isinstance(v, float) else v}" for name, v in told.items()) or DEFAULT


def _paper(context: Context) -> list[str]:
    """What the paper says about its own search."""
    said = []
    for name, title in RANGES.items():
        ends = [context.number("text", f"{name}_{end}", "value") for end in ("lowest", "highest")]
        if ends[0] is not None and ends[1] is not None:
            said.append(f"{title} {ends[0]:g} to {ends[1]:g}")
    return [f"The paper tried by hand: {', '.join(said)}."] if said else []
