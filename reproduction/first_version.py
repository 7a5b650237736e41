"""VMASK before its choice of the epoch knew of the schedule, beside today's: what was chosen, and what was said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from reproduction.claim import Claim, cell_title
from reproduction.results import MODELS, Results, in_order
from reproduction.table import Entry, Row, Table

FILE = Path(__file__).with_name("first_version.json")
"""What the trainings of VMASK's first version were, and the verdicts of that time; `commit` has the whole of them."""
MASK, FIRST, NOW = "vmask", "first version", "now"


@cache
def first_version() -> dict[str, Any]:
    """The file: `trainings`, `claims`, `commit`."""
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


def chosen_epochs_table(results: Results) -> Table | None:
    """Beta and spread of the mask at the chosen epoch, of the first version and of today's; None without today's."""
    rows = []
    for dataset in in_order(dataset for dataset, _ in results.ran):
        for model in MODELS:
            name = results.model(model)
            before = [row for row in first_version()["trainings"] if (row["dataset"], row["model"]) == (dataset, name)]
            now = [_chosen(record) for record in results.stage(dataset, model, MASK).values()]
            if not now:
                continue
            for version, trainings in ((FIRST, before), (NOW, now)):
                if trainings:
                    heads = (cell_title(results, (dataset, model)), version)
                    rows.append(Row(heads, tuple(Entry(text=text) for text in _summary(trainings))))
    if not rows:
        return None
    return Table(
        name="chosen_epochs",
        title="VMASK's chosen epochs, of its first version and now",
        heads=("cell", "VMASK"),
        columns=("trainings", "beta at the chosen epoch", "chosen before beta ended", "spread of the mask"),
        rows=rows,
        signature=f"the first version is of commit {first_version()['commit']}",
        notes=(
            "Beta: mean and highest. Spread: mean and lowest standard deviation of E[R] over the running words of dev.",
        ),
    )


def _chosen(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the chosen epoch of a training was."""
    row = next(row for row in record["history"] if row["epoch"] == record["best_epoch"])
    ended = min(one["beta"] for one in record["history"])
    return {"beta": row["beta"], "mask_std": row["mask_std"], "beta_ended": row.get("competes", row["beta"] <= ended)}


def _summary(trainings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    betas, spreads = ([row[key] for row in trainings] for key in ("beta", "mask_std"))
    early = sum(not row.get("beta_ended", row["beta"] <= 0.011) for row in trainings)
    return (
        str(len(trainings)),
        f"{fmean(betas):.2f} (highest {max(betas):.2f})",
        str(early),
        f"{fmean(spreads):.2f} (lowest {min(spreads):.2f})",
    )


def verdicts_table(claims: Sequence[Claim]) -> Table:
    """What was said of each claim of the paper by the first version and its rule, and what is said now."""
    before = {claim["name"]: claim for claim in first_version()["claims"]}
    rows = []
    for claim in claims:
        if claim.of_paper:
            old = before.get(claim.name, {"verdict": "", "effects": []})
            texts = (
                "; ".join(old["effects"]),
                old["verdict"],
                "; ".join(row[1] for row in claim.rows()),
                claim.verdict,
            )
            rows.append(Row((claim.sentence,), tuple(Entry(text=text) for text in texts)))
    return Table(
        name="verdicts",
        title="The claims before and after",
        heads=("claim",),
        columns=("first version: effect", "first version: verdict", "now: effect", "now: verdict"),
        rows=rows,
        signature=f"the first version is of commit {first_version()['commit']}",
        notes=("The rule was another one too: a claim about every cell had no effect, and a cell could decide alone.",),
    )
