"""Learns to select k words of every text (L2X, trained jointly as in the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks._gates import Activation, ScoreNet
from vmask.masks.contract import Embedded, Masked, WordMask, spread


@dataclass(frozen=True)
class L2XOptions(BaselineOptions):
    """Options of `l2x`."""

    k: int = option(10, "words selected of a text; all of a shorter text")
    tau: float = option(0.5, "temperature of the Gumbel-softmax draws")
    mode: Literal["khot", "soft"] = option("khot", "select k words, or weigh every word by its own score")
    normalise: bool = option(False, "with `soft`: the weights of a text sum to its number of words")
    hidden: int = option(100, "hidden units of the scoring network", most=100_000)
    activation: Activation = option("tanh", "activation of the scoring network")

    def __post_init__(self) -> None:
        check_positive(self, "k", "tau", "hidden")
        if self.normalise and self.mode == "khot":
            raise ConfigError("normalise has no effect with mode=khot. Set mode=soft, or leave normalise out.")


@MASKS.register("l2x")
class L2X(WordMask):
    """Learning to Explain (Chen et al. 2018) as a mask layer (appendix C of the paper).

    `khot`: k Gumbel-softmax draws over the positions of a text, joined by their maximum; at inference the k words with
    the highest scores. `soft`: the scores themselves.
    """

    Options = L2XOptions
    penalised = False

    def __init__(self, dim: int, options: L2XOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden, options.activation)

    @classmethod
    def is_soft(cls, options: L2XOptions) -> bool:
        """A selection is 0 and 1."""
        return options.mode == "soft"

    def word_level(self) -> bool:
        """A selection of k depends on the other words of the text, plain soft weights do not."""
        return self.options.mode == "soft" and not self.options.normalise

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) sigmoid of the selection logit: the order in which words are selected."""
        return torch.sigmoid(self.net(table))

    def forward(self, x: Embedded) -> Masked:
        """Select or weigh the words of a batch."""
        logits = self.net(x.table)
        at_position = spread(logits, x)
        weights = torch.sigmoid(at_position)
        # A finite floor: a row without words would turn -inf into NaN.
        floor = torch.where(x.words, at_position, torch.finfo(logits.dtype).min / 4)
        if self.options.mode == "soft":
            share = torch.softmax(floor, 1) * x.words.sum(1, keepdim=True)
            scale = share if self.options.normalise else weights
        else:
            scale = self._draw(floor) if self.training else self._select(floor, x)
        return self.seen(scale, x, weights.detach(), logits.new_zeros(()))

    def _draw(self, floor: Tensor) -> Tensor:
        """(B, T) relaxed k-hot: the maximum of k relaxed one-hot draws."""
        uniform = torch.rand((self.options.k, *floor.shape), dtype=floor.dtype, device=floor.device)
        gumbel = -torch.log(-torch.log(uniform.clamp_(1e-20, 1 - 1e-7)))
        return torch.softmax((floor + gumbel) / self.options.tau, -1).amax(0)

    def _select(self, floor: Tensor, x: Embedded) -> Tensor:
        """(B, T) 1 at the k words with the highest logits, ties to the earlier position."""
        order = floor.argsort(dim=1, descending=True, stable=True)
        rank = torch.empty_like(order).scatter_(
            1, order, torch.arange(floor.shape[1], device=floor.device).expand_as(order)
        )
        selected: Tensor = (rank < self.options.k) & x.words
        return selected.to(floor.dtype)
