"""Learns for every word how much of it is seen, by one layer over its vector."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vmask.config import option
from vmask.masks import MASKS
from vmask.masks.contract import Embedded, Masked, WordMask, at_words, mean_over_words, spread


@dataclass(frozen=True)
class GateOptions:
    """Options of `gate`."""

    start: float = option(1.0, "bias that the layer starts from: the higher, the more is seen of every word")


@MASKS.register("gate")
class Gate(WordMask):
    """`sigmoid(w x + b)` of every word; the penalty is its mean, so that words are hidden which are of no use."""

    Options = GateOptions
    recipe = {"beta": 0.1}

    def __init__(self, dim: int, options: GateOptions) -> None:
        super().__init__(dim, options)
        self.layer = nn.Linear(dim, 1)
        nn.init.constant_(self.layer.bias, options.start)

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) how much is seen of each word."""
        return torch.sigmoid(self.layer(table).squeeze(-1))

    def forward(self, x: Embedded) -> Masked:
        """The same in training and after: nothing is drawn."""
        gates = self.scores_of(x.table)
        seen = spread(gates, x)
        return Masked(at_words(seen, x, 1.0), None, at_words(seen, x, 0.0), mean_over_words(gates, x))
