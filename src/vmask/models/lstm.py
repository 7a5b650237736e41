"""One unidirectional LSTM layer, max over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models._prefixes import steps
from vmask.models.contract import Reader, WordEncoder, max_over_time


@dataclass(frozen=True)
class LSTMOptions:
    """Options of `lstm`."""

    hidden: int = option(100, "hidden units", most=10_000)
    dropout: float = option(0.2, "dropout before the last layer")
    embedding_dropout: float = option(0.0, "dropout of the word vectors in front of the mask")
    squash: bool = option(False, "tanh before and after the maximum over time, as released")
    count_padding: bool = option(False, "time steps of padding count too, as released: the answer depends on the batch")
    initialisation: Literal["torch", "xavier"] = option(
        "torch", "first weights of the layer: uniform as torch draws them, or normal (Xavier, gain sqrt 6) as released"
    )
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
        "model": {
            "embedding_dropout": 0.2,
            "squash": True,
            "count_padding": True,
            "double_softmax": True,
            "initialisation": "xavier",
        },
        "mask": {"hidden": 300},
        "data": {"vocabulary": "paper", "unknown_width": 0.05},
        "train": {"epochs": 100, "patience": 0, "batch_size": 64, "clip": 1.0, "pad_to_max": True},
    }

    def __init__(self, embedding: nn.Embedding, classes: int, options: LSTMOptions) -> None:
        super().__init__(embedding, classes, options)
        self.lstm = nn.LSTM(self.dim, options.hidden, batch_first=True)
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(options.hidden, classes)
        if options.initialisation == "xavier":
            for weight in self.lstm.all_weights[0][:2]:  # of the input and of the state, without biases
                nn.init.xavier_normal_(weight, gain=sqrt(6))

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

    def reader(self, seen: Tensor) -> Reader | None:
        """Every word goes through the input weights once, and a beginning that texts share is read once."""
        if self.options.count_padding:
            return None
        from_input, from_hidden, *biases = self.lstm.all_weights[0]
        inputs = torch.addmm(biases[0] + biases[1], seen, from_input.t())  # (U, 4 H)
        recurrent = from_hidden.t().contiguous()

        def read(index: NDArray[np.int32], lengths: NDArray[np.int64], batch_rows: int) -> Tensor:
            pooled = seen.new_zeros(len(index), self.lstm.hidden_size)
            for start in range(0, len(index), batch_rows):
                some = slice(start, start + batch_rows)
                self._read(inputs, recurrent, index[some], lengths[some], pooled[some])
            if self.options.squash:
                pooled = torch.tanh(torch.tanh(pooled))
            logits: Tensor = self.output(pooled)
            return logits

        return read

    def _read(
        self,
        inputs: Tensor,
        recurrent: Tensor,
        index: NDArray[np.int32],
        lengths: NDArray[np.int64],
        pooled: Tensor,
    ) -> None:
        """Put the largest value of every hidden unit over the texts (R, T) into `pooled` (R, H)."""
        size = pooled.shape[1]
        hidden, cell = pooled.new_zeros(1, size), pooled.new_zeros(1, size)
        best = pooled.new_full((1, size), -torch.inf)
        for step in steps(index, lengths):
            words, parents, ended, ends = (
                torch.from_numpy(part).to(pooled.device) for part in (step.words, step.parents, step.ended, step.ends)
            )
            gates = torch.addmm(inputs.index_select(0, words), hidden.index_select(0, parents), recurrent)
            gates[:, : 2 * size].sigmoid_()  # input and forget gate
            gates[:, 2 * size : 3 * size].tanh_()
            gates[:, 3 * size :].sigmoid_()
            into, forget, new, out = gates.chunk(4, 1)
            cell = cell.index_select(0, parents).mul_(forget).addcmul_(into, new)
            hidden = torch.tanh(cell).mul_(out)
            best = torch.maximum(best.index_select(0, parents), hidden)
            pooled.index_copy_(0, ended, best.index_select(0, ends))
