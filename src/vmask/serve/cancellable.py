"""A predictor that computes in slices and checks between them whether its work is still wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vmask.inference.contract import Doc
from vmask.inference.gradients import AtSeam

QUICK_POSITIONS, SLOW_POSITIONS, GPU_POSITIONS = 65_536, 1024, 65_536
"""Token positions of a slice: for a word model, for an encoder on a CPU, on a GPU. An encoder of the size of MiniLM
takes about a second for one on one core. The limit is a number of positions and not a time, so that equal requests get
equal answers (to 1e-6, as sums in another order round differently)."""


def slice_positions(predictor: Any) -> int:
    """Return how many token positions a predictor computes between two checks."""
    if getattr(predictor, "quick", False):
        return QUICK_POSITIONS
    device = getattr(predictor, "device", None)
    return SLOW_POSITIONS if device is None or device.type == "cpu" else GPU_POSITIONS


class CancellablePredictor:
    """A predictor that calls `check` before each slice of work. Its answers equal those of the predictor, to 1e-6.

    It also caches the words and probabilities of whole texts, which explainers and the server both ask for.

    Args:
        predictor: the model; attributes that are not defined here are looked up there.
        check: raises an exception if the work is cancelled.
        positions: token positions of a slice, at most; a single row may be longer.
    """

    def __init__(self, predictor: Any, check: Callable[[], None], positions: int | None = None) -> None:
        self._predictor = predictor
        self._check = check
        self._positions = positions or slice_positions(predictor)
        self._docs: dict[str, Doc] = {}
        self._probabilities: dict[str, NDArray[np.float32]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def batched(self, rows: int) -> CancellablePredictor:
        """Return the same predictor, computing at most `rows` texts at a time."""
        return CancellablePredictor(self._predictor.batched(rows), self._check, self._positions)

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words."""
        new_texts = list(dict.fromkeys(text for text in texts if text not in self._docs))
        self._docs.update(zip(new_texts, self._predictor.prepare(new_texts), strict=True))
        return [self._docs[text] for text in texts]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """Return probabilities of shape (N, C)."""
        new_docs = {doc.text: doc for doc in docs if self._is_whole_text(doc) and doc.text not in self._probabilities}
        to_compute = [*new_docs.values(), *(doc for doc in docs if not self._is_whole_text(doc))]
        rows: list[NDArray[np.float32]] = []
        for part in _slices((_size(doc) for doc in to_compute), self._positions):
            self._check()
            rows.extend(self._predictor.predict_docs(to_compute[part]))
        self._probabilities.update(zip(new_docs, rows, strict=False))
        other_rows = iter(rows[len(new_docs) :])
        answers = [self._probabilities[doc.text] if self._is_whole_text(doc) else next(other_rows) for doc in docs]
        return np.array(answers, np.float32).reshape(len(docs), len(self._predictor.labels))

    def _is_whole_text(self, doc: Doc) -> bool:
        """Whether a document is one that `prepare` returned, so that its text identifies it."""
        return self._docs.get(doc.text) is doc

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """Return probabilities (S_i, C) of each text under its rows of `keep` (S_i, W_i)."""
        if not docs:
            return list(self._predictor.predict_kept(docs, keep, hide))
        probabilities = [np.zeros((len(rows), len(self._predictor.labels)), np.float32) for rows in keep]
        parts = [
            (number, start, min(start + step, len(rows)), _size(doc))
            for number, (doc, rows) in enumerate(zip(docs, keep, strict=True))
            for step in [max(self._positions // _size(doc), 1)]
            for start in range(0, len(rows), step)
        ]
        for part in _slices(((stop - start) * size for _, start, stop, size in parts), self._positions):
            self._check()
            batch = parts[part]
            batch_docs = [docs[number] for number, *_ in batch]
            batch_keep = [keep[number][start:stop] for number, start, stop, _ in batch]
            answers = self._predictor.predict_kept(batch_docs, batch_keep, hide)
            for (number, start, stop, _), rows in zip(batch, answers, strict=True):
                probabilities[number][start:stop] = rows
        return probabilities

    def at_seam(self, docs: Sequence[Doc]) -> Iterator[AtSeam]:
        """Yield the inputs of the classifier, in batches small enough to check between them."""
        for part in _slices((_size(doc) for doc in docs), self._positions):
            self._check()
            for seam in self._predictor.at_seam(docs[part]):
                most = min(seam.most, max(self._positions // seam.z.shape[1], len(seam.rows)))
                yield dataclasses.replace(
                    seam, rows=seam.rows + part.start, answer=self._with_check(seam.answer), most=most
                )

    def _with_check(
        self, answer: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        def checked_answer(z: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
            self._check()
            return answer(z, index, lengths)

        return checked_answer


def _size(doc: Doc) -> int:
    """Return the number of token positions of a text."""
    return max(len(doc.ids), len(doc.spans), 1)


def _slices(sizes: Iterable[int], max_size: int) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum to at most `max_size`, or of a single larger item."""
    start, total, number = 0, 0, -1
    for number, size in enumerate(sizes):
        if number > start and total + size > max_size:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if number >= 0:
        yield slice(start, number + 1)
