"""From logits to probabilities: used by all predictions, gradients and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from vmask.inference.calibration import Calibration

ToProbabilities: TypeAlias = Callable[[Tensor], Tensor]
"""Maps logits (B, C) to the probabilities (B, C) of a model."""


def to_probabilities(logits: Tensor, calibration: Calibration | None = None) -> Tensor:
    """(B, C) probabilities from logits (B, C); each text has exactly one class."""
    if calibration is not None:
        logits = calibration.apply(logits)
    return torch.softmax(logits, 1)
