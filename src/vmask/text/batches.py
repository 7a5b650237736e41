"""Batches: texts of like length together, padded to the longest, each distinct word listed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.text.vocabulary import PAD

POOL_BATCHES = 50
"""Batches that are sorted by length together: enough for tight buckets, few enough for random company."""

TIGHT_ROWS = 64
"""Rows below which a smaller batch saves nothing."""


@dataclass(frozen=True)
class Batch:
    """Texts as tensors.

    Attributes:
        ids: (B, T) ids of words or pieces, padding after the end of a text.
        lengths: (B,) ids of each text.
        distinct: (U,) the ids that occur, ascending.
        index: (B, T) row of `distinct` at every position.
        labels: (B,) class of each text, or None.
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
    labels: Sequence[int] | NDArray[np.int64] | None = None,
    length: int = 0,
    pad: int = PAD,
) -> Batch:
    """Pad the texts with the id `pad` to the longest of them, or to `length` where that is more."""
    lengths = np.array([len(one) for one in ids], dtype=np.int64)
    longest = max(int(lengths.max(initial=0)), length, 1)
    padded = np.full((len(ids), longest), pad, dtype=np.int64)
    for row, one in enumerate(ids):
        padded[row, : len(one)] = one
    return distinct_of(padded, lengths, None if labels is None else np.asarray(labels, dtype=np.int64))


def distinct_of(
    padded: NDArray[np.int64], lengths: NDArray[np.int64], labels: NDArray[np.int64] | None = None
) -> Batch:
    """A batch of padded ids (B, T), its distinct ids listed."""
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
    """Row numbers of one epoch's batches: random batches of texts of like length, in random order."""
    order = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), batch_size * POOL_BATCHES):
        pool = order[start : start + batch_size * POOL_BATCHES]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def sorted_buckets(
    lengths: NDArray[np.int64], max_tokens: int = 16_384, max_rows: int = 512, tight: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Row numbers in batches of like length for inference, each of at most `max_tokens` padded positions.

    Args:
        lengths: (N,) of the rows.
        max_tokens: padded positions of a batch, at most.
        max_rows: rows of a batch, at most.
        tight: rather have a smaller batch than pad by more than an eighth, for models that cost much by position.
    """
    order = np.argsort(lengths, kind="stable")
    ascending = np.maximum(lengths[order], 1)
    start = 0
    while start < len(order):
        some = ascending[start : start + max_rows]
        count = np.arange(1, len(some) + 1)
        fits = some * count <= max_tokens
        if tight:
            fits &= (some * 8 <= some[0] * 9) | (count <= TIGHT_ROWS)
        stop = start + max(int(np.count_nonzero(fits)), 1)  # ascending, so those that fit come first
        yield order[start:stop]
        start = stop
