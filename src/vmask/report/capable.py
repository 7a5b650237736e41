"""What a model can be asked besides predictions: which methods explain it, and whether it ranks words."""

from __future__ import annotations

from typing import Any

from vmask.errors import NoWordScores
from vmask.explain.contract import Explainer

SCORES = "mask_scores"
"""What a method needs of a model that explains by the model's own mask."""


def ranks(predictor: Any) -> bool:
    """Whether a model knows how much it sees of each word."""
    try:
        predictor.mask_scores([])
    except (NoWordScores, AttributeError):
        return False
    return True


def applies(kind: type[Explainer], predictor: Any) -> bool:
    """Whether a model has what a method needs."""
    if kind.needs == SCORES:
        return ranks(predictor)
    return not kind.needs or hasattr(predictor, kind.needs)
