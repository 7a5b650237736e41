"""The error of a prediction that training lowers: of one label a text, or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from vmask.config import TrainConfig


@dataclass(frozen=True)
class SingleLabel:
    """Cross-entropy.

    Attributes:
        weight: (C,) weight of the texts of each class.
    """

    weight: Tensor

    @classmethod
    def of(cls, labels: NDArray[np.int64], dev: NDArray[np.int64], config: TrainConfig) -> SingleLabel:
        """The objective for training labels (N,), with weights for all classes of these and of dev."""
        counts = np.bincount(labels, minlength=int(max(labels.max(), dev.max())) + 1)
        if config.class_weight is None:
            return cls(torch.ones(len(counts)))
        return cls(torch.tensor(len(labels) / (len(counts) * np.maximum(counts, 1)), dtype=torch.float32))

    def to(self, device: torch.device) -> SingleLabel:
        """The same on another device."""
        return SingleLabel(self.weight.to(device))

    def error(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """() mean error of logits (B, C) for the classes (B,), by weight of class and of text (B,)."""
        if weights is None:
            return functional.cross_entropy(logits.float(), labels, self.weight)
        errors = functional.cross_entropy(logits.float(), labels, self.weight, reduction="none")
        return (errors * weights).sum() / (self.weight[labels] * weights).sum()

    def total_weight(self, labels: NDArray[Any], weights: Tensor | None = None) -> float:
        """Total weight of texts of these classes (B,)."""
        total = self.weight[labels]
        return float((total if weights is None else total * weights).sum())


@dataclass(frozen=True)
class MultiLabel:
    """Binary cross-entropy, summed over the labels: minus the log of the probability of exactly the text's labels.

    Attributes:
        weight: (C,) weight of the texts that have each label, beside those that do not.
    """

    weight: Tensor

    @classmethod
    def of(cls, labels: NDArray[np.float32], config: TrainConfig) -> MultiLabel:
        """The objective for training labels (N, C); `balanced` weighs those with a label as much as those without."""
        counts = labels.sum(0, dtype=np.float64)
        if config.class_weight is None:
            return cls(torch.ones(len(counts)))
        rest = len(labels) - counts
        return cls(torch.tensor(np.maximum(rest, 1) / np.maximum(counts, 1), dtype=torch.float32))

    def to(self, device: torch.device) -> MultiLabel:
        """The same on another device."""
        return MultiLabel(self.weight.to(device))

    def error(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """() mean over texts, by their weights (B,), of the error of logits (B, C) for the labels (B, C)."""
        errors = functional.binary_cross_entropy_with_logits(
            logits.float(), labels, pos_weight=self.weight, reduction="none"
        )
        of_texts = errors.sum(1)
        return of_texts.mean() if weights is None else (of_texts * weights).sum() / weights.sum()

    def total_weight(self, labels: NDArray[Any], weights: Tensor | None = None) -> float:
        """Total weight of texts with these labels (B, C)."""
        return float(len(labels) if weights is None else weights.sum())


def objective_of(labels: NDArray[Any], dev: NDArray[Any], config: TrainConfig) -> SingleLabel | MultiLabel:
    """The objective for labels of training and dev: (N,) classes, or (N, C) whether each text has each label."""
    return SingleLabel.of(labels, dev, config) if labels.ndim == 1 else MultiLabel.of(labels, config)
