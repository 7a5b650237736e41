"""From logits to probabilities: the one function that all predictions, gradients and exports go through."""

from __future__ import annotations

import torch
from torch import Tensor


def to_probabilities(logits: Tensor) -> Tensor:
    """(B, C) probabilities of the classes, of which each text has one, from logits (B, C)."""
    return torch.softmax(logits, 1)
