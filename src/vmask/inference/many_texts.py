"""Predict thousands of texts, whose words recur: each word is computed once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmask.inference.cached_reader import cached_reader
from vmask.inference.perturb import Rows
from vmask.text.batches import pad_ids, sorted_buckets

if TYPE_CHECKING:
    from vmask.inference.predictor import TextPredictor

MANY_TEXTS = 2_048
"""Texts from which on it pays off to compute each of their words once for all of them."""
POSITIONS, WORDS = 1 << 19, 1 << 15
"""Positions of the texts whose words are computed once, and how many distinct words they may have, so that memory is
bounded."""


def predict(predictor: TextPredictor, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities; equal texts are read once."""
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    ids = predictor.ids_of(list(place))
    probabilities = _predict_ids(predictor, ids) if predictor.model.encoder.reads_many else predictor.predict_ids(ids)
    return probabilities if len(place) == len(texts) else probabilities[[place[text] for text in texts]]


def _predict_ids(predictor: TextPredictor, ids: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
    """(N, C) probabilities of texts as ids, some of them at a time."""
    parts = [np.zeros((0, len(predictor.labels)), np.float32)]
    start = size = 0
    for stop, text in enumerate(ids, 1):
        size += len(text)
        if size >= POSITIONS or stop == len(ids):
            parts.append(_predict_some(predictor, ids[start:stop]))
            start, size = stop, 0
    return np.concatenate(parts)


def _predict_some(predictor: TextPredictor, ids: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
    """(N, C) probabilities, from cached computations on the words if they are many times used."""
    reader = cached_reader(predictor, ids, None, WORDS) if len(ids) >= MANY_TEXTS else None
    if reader is None:
        return predictor.predict_ids(ids)
    probabilities = np.zeros((len(ids), len(predictor.labels)), np.float32)
    lengths = np.array([len(text) for text in ids], np.int64)
    for chosen in sorted_buckets(lengths, POSITIONS, MANY_TEXTS):
        padded = pad_ids([ids[i] for i in chosen], pad=predictor.pad)
        probabilities[chosen] = reader.answer(Rows(padded, lengths[chosen]))
    return probabilities
