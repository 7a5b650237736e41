"""The line under a table that says what its numbers are of: data, vectors, hiding, K, n, seeds, code, machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reproduction.context import SPLITS, Cell, Context
from reproduction.results import in_order, titled
from vmask.report.grid.results import among, count_seeds, made_by

NONE = "Nothing of this was run."
SETTINGS = {"lime": ("samples",), "shapley": ("permutations",)}
"""Options of explainers that their numbers depend on most."""


def signature(context: Context, cells: Sequence[Cell], stage: str = "train") -> str:
    """What the numbers of these cells are of, as their records tell it."""
    records = context.used(cells, stage)
    if not records:
        return NONE
    names = {record["cell"]["dataset"] for record in records}
    trained = context.used(cells) if stage != "train" else records
    parts = [
        data(context, in_order(names)),
        _vectors(trained),
        _epochs(trained),
        *_measured(records),
        count_seeds([list(context.results.stage(*cell, stage)) for cell in cells]),
        made_by(records),
    ]
    return "; ".join(filter(None, parts))


def data(context: Context, datasets: Sequence[str]) -> str:
    """Datasets with their sizes and the beginning of their fingerprints."""
    found = []
    for dataset in datasets:
        facts = context.results.datasets.get(dataset)
        if facts is not None:
            sizes = "/".join(f"{facts['rows'].get(split, 0):,}" for split in SPLITS)
            found.append(f"{context.column(dataset)} {facts['fingerprint'][:8]} {sizes}")
    return f"data {', '.join(found)}" if found else ""


def _vectors(records: Iterable[Mapping[str, Any]]) -> str:
    used = []
    for record in records:
        digests = record["vectors"]["files"]
        names = [f"{name} {digests[name][:8]}" if name in digests else name for name in record["vectors"]["of"] or ()]
        if names:
            used.append(" + ".join(names))
    return f"vectors {among(used)}" if used else ""


def _epochs(records: Sequence[Mapping[str, Any]]) -> str:
    """How long was trained at most, with the models and datasets for which it is another number."""
    asked = [(record["options"]["train"]["epochs"], record["cell"]) for record in records]
    if not asked:  # a stage whose training is not among the results
        return ""
    usual = Counter(epochs for epochs, _ in asked).most_common(1)[0][0]
    others: dict[str, int] = {}
    for epochs, cell in asked:
        if epochs != usual:
            always = all(one == epochs for one, other in asked if other["model"] == cell["model"])
            others[titled(cell["model"] if always else cell["dataset"])] = epochs
    told = ", ".join(f"{name} {epochs}" for name, epochs in others.items())
    return f"at most {usual} epochs{f' ({told})' if told else ''}"


def _measured(records: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """How words were hidden, how many, in how many texts, and how texts were explained."""
    measured = [record for record in records if "measured" in record]
    if not measured:
        return
    hidden = among(", ".join(record["measured"]["hide"]) for record in measured)
    yield f"words hidden by {hidden}"
    k = among(options["k"] for record in measured for options in record["metrics"].values() if "k" in options)
    if k:
        yield f"K {k}"
    for name, settings in SETTINGS.items():
        chosen = [record["measured"]["explainers"].get(name) for record in measured]
        told = among(" ".join(f"{options[one]:,} {one}" for one in settings) for options in chosen if options)
        if told:
            yield f"{titled(name)} of {told}"
    yield f"n {_by_dataset(measured)} texts"


def _by_dataset(records: Sequence[Mapping[str, Any]]) -> str:
    """How many texts were measured, dataset by dataset where it is not the same everywhere."""
    counts: dict[str, list[int]] = {}
    for record in records:
        counts.setdefault(record["cell"]["dataset"], []).append(record["measured"]["n"])
    each = {dataset: among(counts[dataset]) for dataset in in_order(counts)}
    if len(set(each.values())) == 1:
        return next(iter(each.values()))
    return ", ".join(f"{titled(dataset)} {count}" for dataset, count in each.items())
