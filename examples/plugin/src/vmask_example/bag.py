"""The mean of a text's word vectors, and one linear layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from vmask.config import option
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models.contract import WordEncoder


@dataclass(frozen=True)
class BagOptions:
    """Options of `bag`."""

    dropout: float = option(0.0, "dropout before the last layer")


@MODELS.register("bag")
class Bag(WordEncoder):
    """A bag of word vectors."""

    Options = BagOptions

    def __init__(self, embedding: nn.Embedding, classes: int, options: BagOptions) -> None:
        super().__init__(embedding, classes, options)
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(self.dim, classes)

    @property
    def head(self) -> nn.Module:
        """The last layer."""
        return self.output

    def encode(self, x: Embedded, lengths: Tensor, masked: Masked | None) -> Tensor:
        """(B, C) logits of what is seen of the words; padding is a vector of zeros."""
        seen = x.dense() if masked is None else masked.apply(x.dense())
        mean = (seen * x.words.unsqueeze(-1)).sum(1) / lengths.clamp_min(1).unsqueeze(-1)
        logits: Tensor = self.output(self.dropout(mean))
        return logits
