"""Trainings with VMASK that were kept from an epoch early in the fall of beta: they deny no claim of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reproduction.claim import Cell, Claim
from reproduction.results import Results
from vmask.grid.store import TRAIN

BETA = 0.5
"""Half of what beta falls from in the paper's schedule. Above it a training was kept early."""
MASK = "vmask"


@dataclass(frozen=True)
class Early:
    """How many trainings were kept early.

    Attributes:
        by_model: title of a model -> trainings that were kept early, and all of them.
        cells: those with at least one that was kept early.
    """

    by_model: Mapping[str, tuple[int, int]]
    cells: tuple[Cell, ...]

    def sentence(self) -> str:
        """The count in words; empty where there is none."""
        if not self.cells:
            return ""
        early, every = (sum(counts) for counts in zip(*self.by_model.values(), strict=True))
        by_model = ", ".join(f"{model} {some} of {all_}" for model, (some, all_) in self.by_model.items())
        return (
            f"{early} of the {every} trainings with VMASK behind it ({by_model}) were kept from an epoch at which beta "
            f"was still above {BETA:g}, as the choice of the epoch does not wait for the end of the schedule."
        )


def early(results: Results, cells: Iterable[Cell], stage: str = TRAIN) -> Early:
    """Count the trainings with VMASK behind a stage of some cells, from the files of results."""
    by_model: dict[str, tuple[int, int]] = {}
    found: list[Cell] = []
    for cell in cells:
        trained = results.stage(*cell, MASK)
        kept = [kept_early(trained[seed]) for seed in results.stage(*cell, MASK, stage) if seed in trained]
        if kept:
            title = results.title(results.model(cell[1]))
            some, every = by_model.get(title, (0, 0))
            by_model[title] = (some + sum(kept), every + len(kept))
        if any(kept):
            found.append(cell)
    return Early(by_model, tuple(found))


def kept_early(record: Mapping[str, Any]) -> bool:
    """Whether beta was still above `BETA` at the epoch that a training was kept from, on its way down to less."""
    train = record.get("options", {}).get("train", {})
    end = train.get("beta_end")
    if end is None or end > BETA or train.get("beta_schedule") == "constant":
        return False
    return any(row["epoch"] == record["best_epoch"] and row["beta"] > BETA for row in record["history"])


def settled(claim: Claim, found: Early) -> Claim:
    """A claim about VMASK: what does not hold is only not shown where trainings behind it were kept early."""
    if claim.verdict not in ("does not hold", "not shown") or not found.cells:
        return claim
    reason = f"{claim.reason} {found.sentence()}".strip()
    return replace(claim, verdict="not shown", reason=reason)
