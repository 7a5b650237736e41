"""Control: drops every word with the same chance in training, and learns no importance."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from vmask.config import option
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks.contract import Embedded, Masked, WordMask


@dataclass(frozen=True)
class WordDropoutOptions(BaselineOptions):
    """Options of `word_dropout`."""

    p: float = option(0.5, "chance that a word is dropped; 0.5 is what VMASK's prior does to every word")

    def __post_init__(self) -> None:
        if not 0 <= self.p < 1:
            raise ConfigError(f"p is {self.p}; it must be at least 0 and below 1.")


@MASKS.register("word_dropout")
class WordDropout(WordMask):
    """VMASK with one fixed chance for all words: draws in training, the expectation `1 - p` at inference."""

    Options = WordDropoutOptions
    penalised = False
    ranks = False

    def forward(self, x: Embedded) -> Masked:
        """Drop words of a batch in training, scale them all alike in eval."""
        keep = torch.full(x.words.shape, 1 - self.options.p, dtype=x.table.dtype, device=x.table.device)
        scale = torch.bernoulli(keep) if self.training else keep
        return self.seen(scale, x, torch.zeros_like(keep), keep.new_zeros(()))
