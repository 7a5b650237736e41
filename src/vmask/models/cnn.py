"""Convolution over windows of 3, 4 and 5 words, max over time (Kim 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models._window_max import window_max
from vmask.models.contract import WordEncoder


@dataclass(frozen=True)
class CNNOptions:
    """Options of `cnn`."""

    filters: int = option(100, "filters of each width")
    widths: tuple[int, ...] = option((3, 4, 5), "filter widths, in words")
    dropout: float = option(0.2, "dropout before the last layer")
    padding: Literal["wide", "narrow"] = option(
        "wide",
        "windows that reach over the ends of a text (every word meets every filter weight), or inside it alone",
    )
    count_padding: bool = option(False, "windows of padding count too, as released: the answer depends on the batch")

    def __post_init__(self) -> None:
        check_positive(self, "filters")
        if not self.widths or any(not isinstance(w, int) or w < 1 for w in self.widths):
            raise ConfigError(f"widths is {self.widths}; give one or more whole numbers above 0, e.g. 3,4,5.")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout is {self.dropout}; it must be at least 0 and below 1.")


@MODELS.register("cnn")
class CNN(WordEncoder):
    """One convolutional layer, ReLU, max over time, dropout, linear.

    Windows beyond the text do not count, so neither padding nor the neighbours in a batch change an answer.
    """

    Options = CNNOptions
    paper_code = {
        "model": {"padding": "narrow", "count_padding": True},
        "mask": {"hidden": 500},
        "train": {"epochs": 100, "patience": 0, "learning_rate": 0.01, "clip_scope": "head", "pad_to_max": True},
    }

    def __init__(self, embedding: nn.Embedding, classes: int, options: CNNOptions) -> None:
        super().__init__(embedding, classes, options)
        self.convolutions = nn.ModuleList(nn.Conv1d(self.dim, options.filters, w) for w in options.widths)
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(options.filters * len(options.widths), classes)

    @property
    def head(self) -> nn.Module:
        """The last layer."""
        return self.output

    def encode(self, x: Embedded, lengths: Tensor, masked: Masked | None) -> Tensor:
        """(B, C) logits of what is seen of the words."""
        table, index, scale = x.table, x.index, x.words.to(x.table.dtype)
        if masked is not None and masked.shift is not None:
            # Noise differs at every position, so no two positions share a vector.
            table = masked.apply(x.dense()).flatten(0, 1)
            index = torch.arange(len(table), device=table.device).view_as(index)
        elif masked is not None:
            scale = masked.scale  # padding is a vector of zeros, whatever its scale
        pooled = []
        for width, convolution in zip(self.options.widths, self.convolutions, strict=True):
            assert isinstance(convolution, nn.Conv1d)
            assert convolution.bias is not None
            reach = width - 1 if self.options.padding == "wide" else 0
            # A text shorter than the filter still fills one window, the rest of it zero.
            pads = (reach, max(reach, width - index.shape[1]))
            if self.options.count_padding:
                windows = torch.full_like(lengths, index.shape[1] + sum(pads) - width + 1)
            else:
                windows = (lengths + 2 * reach - width + 1).clamp_min(1)
            best = window_max(table, index, scale, convolution.weight, convolution.bias, windows, pads)
            pooled.append(torch.relu(best))
        logits: Tensor = self.output(self.dropout(torch.cat(pooled, 1)))
        return logits
