"""Predict perturbed texts from cached computations on their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.inference.contract import Doc
from vmask.inference.folding import fold
from vmask.inference.perturb import Rows
from vmask.models.contract import Reader, ZeroReader

if TYPE_CHECKING:
    from vmask.inference.predictor import TextPredictor


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


@torch.no_grad()
def cached_reader(
    predictor: TextPredictor, texts: Sequence[NDArray[np.int32]], stand_in: int | None, most: int | None = None
) -> CachedReader | None:
    """Reader with cached words of texts for all perturbations; None if the model does not support it.

    Args:
        predictor: the model.
        texts: the ids of each text.
        stand_in: the id that replaces hidden words, if there is one.
        most: the reader is for the texts themselves, and None if they have more than so many distinct words.
    """
    encoder, mask, edits = predictor.model.encoder, predictor.model.mask, predictor.model.edits
    if encoder.reads != "words" or not mask.word_level() or predictor.pad_length:
        return None
    others = np.array([predictor.pad] if stand_in is None else [predictor.pad, stand_in], np.int32)
    distinct = np.unique(np.concatenate([others, *texts]))
    if most is not None and len(distinct) > most:
        return None
    ids = torch.from_numpy(distinct).long().to(predictor.device)
    seen = fold(mask, encoder.vectors(ids), encoder.words(ids), None if edits is None else edits[ids])
    reader = encoder.reader(seen)
    if reader is None:
        return None
    zero_reader = encoder.zero_reader(seen) if most is None else None
    return CachedReader(distinct, reader, zero_reader, predictor.checked_output, predictor.batch_rows)
