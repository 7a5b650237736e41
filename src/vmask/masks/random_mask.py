"""Control: VMASK with a frozen, random inference network, so that words get chances that mean nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from vmask.config import check_positive, option
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks._gates import ScoreNet, sample_keep
from vmask.masks.contract import Embedded, Masked, WordMask, spread


@dataclass(frozen=True)
class RandomMaskOptions(BaselineOptions):
    """Options of `random_mask`."""

    hidden: int = option(100, "hidden units of the frozen network", most=100_000)
    spread: float = option(2.0, "standard deviation of the log odds over the words of the training texts")

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "spread")


@MASKS.register("random_mask")
class RandomMask(WordMask):
    """What is left of VMASK when nothing is learnt: the classifier adapts to chances drawn once, at the start."""

    Options = RandomMaskOptions
    penalised = False

    def __init__(self, dim: int, options: RandomMaskOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden).requires_grad_(False)
        self.centre: Tensor
        self.width: Tensor
        self.register_buffer("centre", torch.zeros(()))
        self.register_buffer("width", torch.ones(()))

    def prepare(self, batches: Iterable[Embedded]) -> None:
        """Measure the raw logits over the training texts: an untrained network says 0.5 for every word otherwise."""
        count, total, squares = 0, 0.0, 0.0
        with torch.no_grad():
            for x in batches:
                raw = spread(self.net(x.table), x)[x.words].cpu().double()  # not every device has float64
                count += raw.numel()
                total += float(raw.sum())
                squares += float(raw.square().sum())
        if count:
            mean = total / count
            self.centre.fill_(mean)
            self.width.fill_(max(squares / count - mean**2, 1e-12) ** 0.5)

    def _logits(self, table: Tensor) -> Tensor:
        logits: Tensor = (self.net(table) - self.centre) / self.width * self.options.spread
        return logits

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) the frozen chance that each word is kept."""
        return torch.sigmoid(self._logits(table))

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch: a draw in training, the frozen chance in eval."""
        logits = self._logits(x.table)
        chance = spread(torch.sigmoid(logits), x)
        scale = sample_keep(logits, x, tau=1.0) if self.training else chance
        return self.seen(scale, x, chance, logits.new_zeros(()))
