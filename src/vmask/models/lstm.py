"""One unidirectional LSTM layer, max over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models.contract import WordEncoder, max_over_time


@dataclass(frozen=True)
class LSTMOptions:
    """Options of `lstm`."""

    hidden: int = option(100, "hidden units")
    dropout: float = option(0.2, "dropout before the last layer")
    embedding_dropout: float = option(0.0, "dropout of the word vectors in front of the mask")
    squash: bool = option(False, "tanh before and after the maximum over time, as released")
    count_padding: bool = option(False, "time steps of padding count too, as released: the answer depends on the batch")
    double_softmax: bool = option(False, "softmax before the cross-entropy that has its own, as released")

    def __post_init__(self) -> None:
        check_positive(self, "hidden")
        for name in ("dropout", "embedding_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1.")


@MODELS.register("lstm")
class LSTM(WordEncoder):
    """A single LSTM layer read from left to right, max over the real time steps, dropout, linear."""

    Options = LSTMOptions
    paper_code = {
        "model": {"embedding_dropout": 0.2, "squash": True, "count_padding": True, "double_softmax": True},
        "mask": {"hidden": 300},
        "train": {"epochs": 100, "patience": 0, "batch_size": 64, "pad_to_max": True},
    }

    def __init__(self, embedding: nn.Embedding, classes: int, options: LSTMOptions) -> None:
        super().__init__(embedding, classes, options)
        self.lstm = nn.LSTM(self.dim, options.hidden, batch_first=True)
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(options.hidden, classes)

    @property
    def head(self) -> nn.Module:
        """The last layer."""
        return self.output

    def dropped(self, x: Embedded) -> Embedded:
        """The vectors after dropout; a word's vector is dropped alike wherever it stands in the batch."""
        rate = self.options.embedding_dropout
        return replace(x, table=functional.dropout(x.table, rate)) if rate else x

    def encode(self, x: Embedded, lengths: Tensor, masked: Masked | None) -> Tensor:
        """(B, C) logits of what is seen of the words."""
        z = x.dense() if masked is None else masked.apply(x.dense())
        states, _ = self.lstm(z)  # padding stands behind the text, so it cannot reach back into it
        if self.options.squash:
            states = torch.tanh(states)
        if self.options.count_padding:
            counted = torch.ones_like(x.words)
        else:
            counted = torch.arange(states.shape[1], device=states.device) < lengths.unsqueeze(1)
        pooled = max_over_time(states, counted)
        if self.options.squash:
            pooled = torch.tanh(pooled)
        logits: Tensor = self.output(self.dropout(pooled))
        return torch.softmax(logits, 1) if self.options.double_softmax and self.training else logits
