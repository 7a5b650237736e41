"""Convolution over windows of 3, 4 and 5 words, max over time (Kim 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models._window_max import pooled, project, window_max
from vmask.models._window_tables import ROWS, WindowTables
from vmask.models.contract import Reader, WordEncoder, ZeroReader
from vmask.text.batches import sorted_buckets

READER_TOKENS = 4096
"""Positions that a reader computes at a time, so that the results fit the CPU cache."""
MOST_BITS = 8
"""Maximum width of a filter whose patterns are tabulated."""


@dataclass(frozen=True)
class CNNOptions:
    """Options of `cnn`."""

    filters: int = option(100, "filters of each width", most=100_000)
    widths: tuple[int, ...] = option((3, 4, 5), "filter widths, in words", most=1_000)
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
    reads_many = True
    paper_code = {
        "model": {"padding": "narrow", "count_padding": True},
        "mask": {"hidden": 500},
        "data": {"vocabulary": "paper"},
        "train": {
            "epochs": 100,
            "patience": 0,
            "learning_rate": 0.01,
            "clip": 1.0,
            "clip_scope": "head",
            "pad_to_max": True,
        },
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
        best = []
        for width, convolution in self._filters():
            pads, windows = self._windows(width, index.shape[1], lengths)
            assert convolution.bias is not None
            response = window_max(table, index, scale, convolution.weight, convolution.bias, windows, pads)
            best.append(torch.relu(response))
        logits: Tensor = self.output(self.dropout(torch.cat(best, 1)))
        return logits

    def reader(self, seen: Tensor) -> Reader | None:
        """Every word is projected once by every offset of every filter; a text is gathers, adds and a maximum."""
        if self.options.count_padding:
            return None
        projections, bias = self._projections(seen)

        def read(index: NDArray[np.int32], lengths: NDArray[np.int64], batch_rows: int) -> Tensor:
            logits = seen.new_empty(len(index), self.output.out_features)
            for rows in sorted_buckets(lengths, READER_TOKENS, batch_rows):
                words = torch.from_numpy(index[rows, : max(int(lengths[rows[-1]]), 1)]).to(seen.device)
                sizes = torch.from_numpy(lengths[rows]).to(seen.device)
                best = []
                for width, projected in projections:
                    pads, windows = self._windows(width, words.shape[1], sizes)
                    best.append(pooled(projected, words, width, windows, pads))
                logits[torch.from_numpy(rows)] = self.output(torch.relu_(torch.cat(best, 1) + bias))
            return logits

        return read

    def zero_reader(self, seen: Tensor) -> ZeroReader | None:
        """The responses of neighbouring windows are tabulated for every pattern of the words under them."""
        if self.options.count_padding or max(self.options.widths) > MOST_BITS:
            return None
        projections, bias = self._projections(seen)

        def read(words: NDArray[np.int32], keep: NDArray[np.bool_], batch_rows: int) -> Tensor:
            word_index = torch.from_numpy(words).to(seen.device)
            size = torch.tensor([len(words)])
            tables = [
                WindowTables(projected, word_index, width, self._windows(width, len(words), size)[0])
                for width, projected in projections
            ]
            logits = []
            for rows in torch.split(torch.from_numpy(keep).to(seen.device), min(ROWS, batch_rows)):
                best = torch.cat([table.pooled(rows) for table in tables], 1)
                logits.append(self.output(best.add_(bias).relu_()))
            return torch.cat(logits)

        return read

    def _projections(self, seen: Tensor) -> tuple[list[tuple[int, Tensor]], Tensor]:
        """For every width the words (U * k, F) by every offset of the filters, and the bias of all filters."""
        bias = torch.cat([layer.bias for _, layer in self._filters() if layer.bias is not None])
        return [(width, project(seen, layer.weight)) for width, layer in self._filters()], bias

    def _filters(self) -> Iterator[tuple[int, nn.Conv1d]]:
        for width, convolution in zip(self.options.widths, self.convolutions, strict=True):
            assert isinstance(convolution, nn.Conv1d)
            yield width, convolution

    def _windows(self, width: int, longest: int, lengths: Tensor) -> tuple[tuple[int, int], Tensor]:
        """Zeros in front of and behind texts of up to `longest` words, and how many windows (B,) of each count."""
        reach = width - 1 if self.options.padding == "wide" else 0
        # A text shorter than the filter still fills one window, the rest of it zero.
        pads = (reach, max(reach, width - longest))
        if self.options.count_padding:
            return pads, torch.full_like(lengths, longest + sum(pads) - width + 1)
        return pads, (lengths + 2 * reach - width + 1).clamp_min(1)
