"""Predict perturbed texts from cached computations on their words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.inference.contract import Doc
from vmask.inference.perturb import Rows
from vmask.models.contract import Reader, ZeroReader


class CachedReader:
    """Predicts texts that consist of a few words, for which the model has cached all it can.

    Args:
        ids: (U,) ids of the words, ascending; the first is padding.
        reader: computes logits of texts.
        zero_reader: computes logits of a text with words zeroed.
        output: maps logits to probabilities (R, C).
        batch_rows: maximum number of texts computed at a time.
    """

    def __init__(
        self,
        ids: NDArray[np.int32],
        reader: Reader,
        zero_reader: ZeroReader | None,
        output: Callable[[Tensor], NDArray[np.float32]],
        batch_rows: int,
    ) -> None:
        self.zero_reader = zero_reader
        self._output = output
        self._reader = reader
        self._batch_rows = batch_rows
        self._place = np.zeros(int(ids[-1]) + 1, np.int32)
        self._place[ids] = np.arange(len(ids))

    @torch.no_grad()
    def answer(self, rows: Rows) -> NDArray[np.float32]:
        """(R, C) probabilities."""
        return self._output(self._reader(self._place[rows.ids], rows.lengths, self._batch_rows))

    @torch.no_grad()
    def answer_zeroed(self, doc: Doc, keep: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(R, C) probabilities of a text with the words where `keep` (R, W) is False zeroed."""
        assert self.zero_reader is not None
        return self._output(self.zero_reader(self._place[doc.ids], keep, self._batch_rows))
