"""Predict perturbed texts from cached computations on their words."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.errors import ModelFolderError
from vmask.inference.contract import Doc
from vmask.inference.output import to_probabilities
from vmask.inference.perturb import Rows
from vmask.models.contract import Reader, ZeroReader


class CachedReader:
    """Predicts texts that consist of a few words, for which the model has cached all it can.

    Args:
        ids: (U,) ids of the words, ascending; the first is padding.
        reader: computes logits of texts.
        zero_reader: computes logits of a text with words zeroed.
        batch_rows: maximum number of texts computed at a time.
    """

    def __init__(self, ids: NDArray[np.int32], reader: Reader, zero_reader: ZeroReader | None, batch_rows: int) -> None:
        self.zero_reader = zero_reader
        self._reader = reader
        self._batch_rows = batch_rows
        self._place = np.zeros(int(ids[-1]) + 1, np.int32)
        self._place[ids] = np.arange(len(ids))

    @torch.no_grad()
    def answer(self, rows: Rows) -> NDArray[np.float32]:
        """(R, C) probabilities."""
        return checked_probabilities(self._reader(self._place[rows.ids], rows.lengths, self._batch_rows))

    @torch.no_grad()
    def answer_zeroed(self, doc: Doc, keep: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(R, C) probabilities of a text with the words where `keep` (R, W) is False zeroed."""
        assert self.zero_reader is not None
        return checked_probabilities(self.zero_reader(self._place[doc.ids], keep, self._batch_rows))


def checked_probabilities(logits: Tensor) -> NDArray[np.float32]:
    """(B, C) probabilities from logits (B, C).

    Raises:
        ModelFolderError: if they are not finite.
    """
    probabilities: NDArray[np.float32] = to_probabilities(logits.float()).cpu().numpy()
    if not np.isfinite(probabilities).all():
        raise ModelFolderError("The model's answers are no numbers: its weights are too large. Train it again.")
    return probabilities
