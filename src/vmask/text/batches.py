"""Batches of texts of similar length, padded to the longest, with a list of their distinct words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.text.vocabulary import PAD

POOL_BATCHES = 50
"""Batches that are sorted by length together: enough for tight buckets, few enough to mix the texts."""

TIGHT_ROWS = 64
"""Rows below which a smaller batch is not faster."""


@dataclass(frozen=True)
class Batch:
    """Texts as tensors.

    Attributes:
        ids: (B, T) ids of words or pieces, padding after the end of a text.
        lengths: (B,) number of ids of each text.
        distinct: (U,) the distinct ids, ascending.
        index: (B, T) index into `distinct` at each position.
        labels: (B,) class of each text; or (B, C) whether it has each label, 0 or 1; or None.
    """

    ids: Tensor
    lengths: Tensor
    distinct: Tensor
    index: Tensor
    labels: Tensor | None = None

    @property
    def attend(self) -> Tensor:
        """(B, T) True inside the texts, False at padding."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths.unsqueeze(1)

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        if device.type == "cpu":
            return self
        labels = None if self.labels is None else self.labels.to(device)
        return Batch(
            self.ids.to(device),
            self.lengths.to(device),
            self.distinct.to(device),
            self.index.to(device),
            labels,
        )


def collate(
    ids: Sequence[NDArray[np.int32]],
    labels: NDArray[Any] | Sequence[int] | None = None,
    length: int = 0,
    pad: int = PAD,
) -> Batch:
    """Pad the texts with the id `pad` to the longest of them, or to `length` if that is more."""
    lengths = np.array([len(text) for text in ids], dtype=np.int64)
    padded = pad_ids(ids, length, pad).astype(np.int64)
    return make_batch(padded, lengths, None if labels is None else np.asarray(labels))


def pad_ids(ids: Sequence[NDArray[np.int32]], length: int = 0, pad: int = PAD) -> NDArray[np.int32]:
    """(B, T) the texts, padded with the id `pad` to the longest of them, or to `length` if that is more."""
    longest = max(length, 1, *map(len, ids))
    padded = np.full((len(ids), longest), pad, dtype=np.int32)
    for row, text in enumerate(ids):
        padded[row, : len(text)] = text
    return padded


def make_batch(padded: NDArray[np.int64], lengths: NDArray[np.int64], labels: NDArray[Any] | None = None) -> Batch:
    """A batch from padded ids (B, T) and lengths (B,)."""
    distinct, index = np.unique(padded, return_inverse=True)
    return Batch(
        ids=torch.from_numpy(padded),
        lengths=torch.from_numpy(lengths),
        distinct=torch.from_numpy(distinct),
        index=torch.from_numpy(index.reshape(padded.shape)),
        labels=None if labels is None else torch.from_numpy(labels),
    )


def shuffled_buckets(
    lengths: NDArray[np.int64], batch_size: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Row numbers of the batches of an epoch: random batches of texts of similar length, in random order."""
    order = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), batch_size * POOL_BATCHES):
        pool = order[start : start + batch_size * POOL_BATCHES]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def random_batches(lengths: NDArray[np.int64], batch_size: int, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Row numbers of the batches of an epoch: texts of any length, in random order."""
    order = random.permutation(len(lengths))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def sorted_buckets(
    lengths: NDArray[np.int64], max_tokens: int = 16_384, max_rows: int = 512, tight: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Row numbers of batches of similar length for inference.

    Args:
        lengths: (N,) lengths of the rows.
        max_tokens: largest number of padded positions of a batch.
        max_rows: largest number of rows of a batch.
        tight: make a smaller batch rather than pad by more than an eighth, for models that are slow per position.
    """
    order = np.argsort(lengths, kind="stable")
    ascending = np.maximum(lengths[order], 1)
    start = 0
    while start < len(order):
        longest = ascending[start : start + max_rows]  # of a batch that ends with this row
        count = np.arange(1, len(longest) + 1)
        fits = longest * count <= max_tokens
        if tight:
            fits &= (longest * 8 <= longest[0] * 9) | (count <= TIGHT_ROWS)
        stop = start + max(int(np.count_nonzero(fits)), 1)  # ascending, so those that fit come first
        yield order[start:stop]
        start = stop
