"""The section about how the training went: small pictures beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

from vmask.report.curve import small_curve_svg
from vmask.report.model.content import Training

DEV = {"accuracy": "Dev accuracy", "macro_f1": "Dev macro F1"}


def training_section(training: Training) -> str:
    """Curves of everything that the history has and that moved."""
    border = _border(training.epochs)
    pictures = "".join(
        f"<figure>{small_curve_svg(name, values, training.best_epoch, spread, border)}"
        f"<figcaption>{name}<small>{note}</small></figcaption></figure>"
        for name, note, values, spread in _curves(training)
    )
    stages = " The line between two epochs is where the mask comes in." if border else ""
    return (
        '<section id="training"><h2>How it learnt</h2><p>After every epoch, from left to right. The dot is epoch '
        f"{training.best_epoch} of {len(training.epochs)}, which was kept: the one with the best dev "
        f'{training.select.replace("_", " ")}.{stages}</p><div class="multiples">{pictures}</div></section>'
    )


def _curves(training: Training) -> Iterator[tuple[str, str, Sequence[float], Sequence[float] | None]]:
    """Name, what it is, values and spread of each curve."""

    def column(name: str) -> list[float]:
        """The values, NaN where an epoch has none; nothing where the one that was kept has none."""
        values = [row.get(name) for row in training.epochs]
        kept = values[training.best_epoch - 1]
        return [] if kept is None else [nan if value is None else float(value) for value in values]

    chosen = training.select
    for name in (chosen, *(one for one in DEV if one != chosen)):
        if values := column(f"dev_{name}"):
            yield DEV[name], "on held-out texts", values, None
    penalty = column("penalty")
    if values := column("loss"):
        yield "Loss", "with the penalty" if any(penalty) else "of the training texts", values, None
    if any(penalty):
        yield "Penalty", "of the mask, unweighted", penalty, None
        if values := column("beta"):
            yield "Beta", "weight of the penalty", values, None
    mean, spread = column("mask_mean"), column("mask_std")
    if mean and spread:
        yield "Mask", "mean and spread over words", mean, spread


def _border(epochs: Sequence[Mapping[str, Any]]) -> int:
    """The last epoch of a first stage; 0 where there is one stage."""
    stages = [row.get("stage", 1) for row in epochs]
    return stages.count(1) if len(set(stages)) > 1 else 0
