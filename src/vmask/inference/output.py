"""From logits to probabilities: used by all predictions, gradients and exports."""

from __future__ import annotations

import torch
from torch import Tensor


def to_probabilities(logits: Tensor) -> Tensor:
    """(B, C) probabilities from logits (B, C); each text has exactly one class."""
    return torch.softmax(logits, 1)
