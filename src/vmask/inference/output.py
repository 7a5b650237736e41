"""From logits to probabilities: used by all predictions, gradients and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from vmask.config import MULTI_LABEL, SINGLE_LABEL
from vmask.inference.calibration import Calibration

ToProbabilities: TypeAlias = Callable[[Tensor], Tensor]
"""Maps logits (B, C) to the probabilities (B, C) of a model."""


def to_probabilities(logits: Tensor, calibration: Calibration | None = None, task: str = SINGLE_LABEL) -> Tensor:
    """(B, C) probabilities from logits (B, C): they sum to 1, or, with several labels a text, each stands alone."""
    if calibration is not None:
        logits = calibration.apply(logits)
    return torch.sigmoid(logits) if task == MULTI_LABEL else torch.softmax(logits, 1)
