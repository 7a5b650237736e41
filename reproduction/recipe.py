"""Schedules and masks of VMASK beside each other, by the rule that `recipe.yaml` states."""

from __future__ import annotations

from math import nan, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

from reproduction.results import titled
from reproduction.table import Entry, Row, Table
from reproduction.variants import cells_in_order, made_by
from vmask.evaluation.statistics import Estimate
from vmask.grid.store import CELLS, Store

DEFAULT = "default"
PAIRS = 12
"""Three datasets, two models, two seeds. Nothing is chosen before all are there."""
Pair: TypeAlias = tuple[str, str, int]
"""Dataset, model and seed, which variants have in common."""


def recipe_table(folder: Path) -> Table | None:
    """Dev accuracy of every variant, the mean over the epochs that compete; None where there are no results.

    The last columns have the mean over all pairs, the mean difference to the default with its standard error, and the
    spread of the mask at the epoch that was kept. Test accuracies are in the files too, but are not looked at.
    """
    records = [record for record in Store(folder).records(CELLS) if record["status"] == "done"]
    variants = list(dict.fromkeys(record["cell"]["variant"] for record in records))
    if DEFAULT not in variants:
        return None
    scores = {name: scores_of([r for r in records if r["cell"]["variant"] == name]) for name in variants}
    chosen = choose(scores) if all(len(mine) == PAIRS for mine in scores.values()) else ""
    cells = cells_in_order(records)
    rows = []
    for name in sorted(variants, key=lambda name: (name != DEFAULT, name)):
        mine = [record for record in records if record["cell"]["variant"] == name]
        by_cell = [[score for pair, score in scores[name].items() if pair[:2] == cell] for cell in cells]
        entries = [
            Entry(Estimate(fmean(values), nan, nan, len(values), "mean over seeds"))
            if values
            else Entry(verdict="not run")
            for values in by_cell
        ]
        spread = fmean(record["history"][record["best_epoch"] - 1]["mask_std"] for record in mine)
        complete = scores[name].keys() == scores[DEFAULT].keys()
        entries.append(Entry(text=f"{fmean(scores[name].values()):.2f}" if complete else "not run"))
        entries.append(Entry(text=_difference(scores[name], scores[DEFAULT]) if complete and name != DEFAULT else ""))
        entries.append(Entry(text=f"{spread:.2f}"))
        rows.append(Row((f"{name}, chosen" if name == chosen else name,), tuple(entries)))
    seeds = sorted({record["cell"]["seed"] for record in records})
    return Table(
        name="recipe",
        title="VMASK's schedule and mask, compared on dev",
        heads=("variant",),
        columns=(
            *(f"{titled(dataset)} {titled(model)}" for dataset, model in cells),
            *("mean", "difference to the default (standard error)", "spread of the mask"),
        ),
        rows=rows,
        signature=(
            f"dev accuracy in percent, mean over the epochs that compete; seeds {', '.join(map(str, seeds))}; "
            f"{made_by(records)}"
        ),
        digits=1,
    )


def scores_of(records: list[dict[str, Any]]) -> dict[Pair, float]:
    """Mean dev accuracy in percent of the epochs that compete, for each pair."""
    return {
        (record["cell"]["dataset"], record["cell"]["model"], record["cell"]["seed"]): 100
        * fmean(row["dev_accuracy"] for row in record["history"] if row["competes"])
        for record in records
    }


def choose(scores: dict[str, dict[Pair, float]]) -> str:
    """The default, or the best of the variants that are better by more than a standard error of the differences."""
    compared = {name: _mean_and_error(mine, scores[DEFAULT]) for name, mine in scores.items() if name != DEFAULT}
    better = {name: mean for name, (mean, error) in compared.items() if mean > error}
    return max(better, key=lambda name: better[name]) if better else DEFAULT


def _mean_and_error(mine: dict[Pair, float], default: dict[Pair, float]) -> tuple[float, float]:
    differences = [mine[pair] - default[pair] for pair in default]
    return fmean(differences), stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else float("inf")


def _difference(mine: dict[Pair, float], default: dict[Pair, float]) -> str:
    mean, error = _mean_and_error(mine, default)
    return f"{mean:+.2f} ({error:.2f})"
