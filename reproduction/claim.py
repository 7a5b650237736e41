"""A claim with the effects that it is about: what all claims share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from reproduction.effect import Cell, Effect, Values, Verdict
from reproduction.results import DATASETS, MODELS, Results, ScoreKey
from vmask._core.wording import plural

ClaimVerdict = Verdict | Literal["holds in part", "contradicted in part"]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, or one of our own.

    Attributes:
        name: short, for machines.
        sentence: what the paper says, in our words.
        effects: what the claim is about, a part each, with a verdict each.
        evidence: more lines: controls, numbers of single cells.
        of_paper: whether the paper makes it.
    """

    name: str
    sentence: str
    effects: tuple[Effect, ...]
    evidence: tuple[str, ...] = ()
    of_paper: bool = True

    @property
    def run(self) -> tuple[Effect, ...]:
        """The effects for which there are results."""
        return tuple(effect for effect in self.effects if effect.values)

    @property
    def verdict(self) -> ClaimVerdict:
        """That of its parts, where they agree."""
        verdicts = {effect.verdict for effect in self.run}
        if not verdicts:
            return "not run"
        if len(verdicts) == 1:
            return verdicts.pop()
        return "holds in part" if "holds" in verdicts else "contradicted in part"

    def lines(self) -> tuple[str, ...]:
        """Its effects in words, then the evidence."""
        if not self.run:
            return ("not run",)
        return (*(f"{effect.title}: {effect.words()}" for effect in self.run), *self.evidence)

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For each effect: its title, itself with its interval and its cells, the paper's, the verdict, the power."""
        return [
            (
                effect.title,
                f"{effect.here()}, {plural(len(effect.values), 'cell')}",
                effect.there(),
                f"{effect.verdict}, {effect.reason}" if effect.reason else effect.verdict,
                effect.strength(),
            )
            for effect in self.run
        ] or [("", "not run", "", "not run", "")]

    def to_dict(self) -> dict[str, Any]:
        """For machines: the numbers of every effect too."""
        effects = [
            {
                "title": effect.title,
                "value": effect.mean.value,
                "low": effect.mean.low,
                "high": effect.mean.high,
                "interval": effect.mean.how,
                "paper": effect.in_paper,
                "verdict": effect.verdict,
                "reason": effect.reason,
                "power": effect.power(),
                "detectable": effect.detectable(),
                "cells": {" ".join(cell): mean for cell, mean in effect.means.items()},
            }
            for effect in self.run
        ]
        about = {"name": self.name, "sentence": self.sentence, "of_paper": self.of_paper, "verdict": self.verdict}
        return {**about, "effects": effects, "evidence": list(self.evidence)}


HEADS = ("claim", "effect", "here (95% interval), of datasets and models", "the paper", "verdict", "power")


def claim_rows(claims: Sequence[Claim]) -> list[tuple[str, ...]]:
    """All claims as rows under `HEADS`; the sentence stands in the first row of its claim."""
    return [
        (claim.sentence if number == 0 else "", *row) for claim in claims for number, row in enumerate(claim.rows())
    ]


def cells_of(datasets: Sequence[str] = DATASETS, models: Sequence[str] = MODELS) -> list[Cell]:
    """Every dataset with every model."""
    return [(dataset, model) for model in models for dataset in datasets]


def scored(results: Results, mask: str, stage: str, key: ScoreKey) -> Callable[[Cell], Values]:
    """A score of every seed of a cell, as a function of the cell."""
    return lambda cell: results.scored(*cell, mask, stage, key)


def listed(results: Results, values: Mapping[Cell, Sequence[float]], scale: float = 100, digits: int = 1) -> str:
    """Means of cells in words."""
    shown = [f"{cell_title(results, cell)} {scale * fmean(one):.{digits}f}" for cell, one in values.items()]
    return ", ".join(shown) or "not run"


def cell_title(results: Results, cell: Cell) -> str:
    """A cell by the names of what was run: the model that stands for the paper's, the data that stand in for its."""
    dataset, model = cell
    return f"{results.title(results.model(model))} {results.title(dataset)}"
