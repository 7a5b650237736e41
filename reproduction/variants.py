"""Variants of one method beside each other, such as word vectors, by what they reach on dev and what they cost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reproduction.results import in_order, titled
from reproduction.table import Entry, Row, Table
from vmask.evaluation.statistics import seeds_interval
from vmask.grid.store import CELLS, Store


def variants_table(folder: Path) -> Table | None:
    """Dev accuracy of every variant in every cell, their mean, and seconds an epoch; None where there are none.

    Test accuracies are in the files too, but are not shown here: variants are chosen on dev.
    """
    records = [one for one in Store(folder).records(CELLS) if one["status"] == "done" and one["cell"]["variant"]]
    if not records:
        return None
    cells = cells_in_order(records)
    rows = []
    for variant in dict.fromkeys(one["cell"]["variant"] for one in records):
        mine = [one for one in records if one["cell"]["variant"] == variant]
        by_cell = {
            cell: [100 * one["dev_accuracy"] for one in mine if (one["cell"]["dataset"], one["cell"]["model"]) == cell]
            for cell in cells
        }
        means = [sum(values) / len(values) for values in by_cell.values() if values]
        complete = len(means) == len(cells)
        entries = [Entry(seeds_interval(values)) if values else Entry(verdict="not run") for values in by_cell.values()]
        entries.append(Entry(text=f"{sum(means) / len(means):.2f}" if complete else "not run"))
        seconds = [one["seconds_per_epoch"] for one in mine]
        coverage = [100 * one["vectors"]["coverage"]["tokens"] for one in mine if one["vectors"]["coverage"]]
        entries.append(Entry(text=f"{sum(coverage) / len(coverage):.1f}" if coverage else ""))
        entries.append(Entry(text=f"{sum(seconds) / len(seconds):.2f}"))
        rows.append(Row((f"{variant}, {_size(variant)}-d",), tuple(entries)))
    seeds = sorted({one["cell"]["seed"] for one in records})
    return Table(
        name="vectors",
        title="Word vectors, compared on dev with models without a mask",
        heads=("vectors",),
        columns=(*(f"{titled(d)} {titled(m)}" for d, m in cells), "mean", "% of text known", "s an epoch"),
        rows=sorted(rows, key=lambda row: row.heads),
        signature=f"dev accuracy in percent; seeds {', '.join(map(str, seeds))}; {made_by(records)}",
        digits=1,
    )


def cells_in_order(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Datasets, in the paper's order, with their models."""
    names = in_order(one["cell"]["dataset"] for one in records)
    cells = {(one["cell"]["dataset"], one["cell"]["model"]) for one in records}
    return sorted(cells, key=lambda cell: (names.index(cell[0]), cell[1]))


def _size(variant: str) -> int:
    """Length of the vectors, of the numbers in their names."""
    return sum(int(one) for one in re.findall(r"\d+", variant))


def made_by(records: list[dict[str, Any]]) -> str:
    """The versions and commits that made the records."""
    versions = sorted({one["facts"]["versions"]["vmask"] for one in records})
    commits = sorted({one["facts"]["commit"] for one in records})
    return f"vmask {', '.join(versions)} ({', '.join(commits)})"
