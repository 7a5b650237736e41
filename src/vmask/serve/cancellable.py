"""A model that looks up from its work: between slices of it, it asks whether anyone still waits for the answer."""

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
"""Positions of a slice: of a model of words, of an encoder on a CPU, on a GPU. An encoder of the size of MiniLM needs
about a second for it on one core. It is a number, not a time, so that the same question gets the same answer (to 1e-6,
as whatever else is computed beside it)."""


def slice_positions(predictor: Any) -> int:
    """How many positions a model computes between two looks."""
    if getattr(predictor, "quick", False):
        return QUICK_POSITIONS
    device = getattr(predictor, "device", None)
    return SLOW_POSITIONS if device is None or device.type == "cpu" else GPU_POSITIONS


class Watched:
    """A predictor that computes in slices and calls `check` before each. Its answers are the predictor's, to 1e-6.

    It also remembers words and probabilities of whole texts, which explainers and we both ask for.

    Args:
        predictor: the model; what is not here is asked of it.
        check: raises where the work is to end.
        positions: of a slice, at most; a single row may be longer.
    """

    def __init__(self, predictor: Any, check: Callable[[], None], positions: int | None = None) -> None:
        self._predictor = predictor
        self._check = check
        self._positions = positions or slice_positions(predictor)
        self._docs: dict[str, Doc] = {}
        self._known: dict[str, NDArray[np.float32]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def batched(self, rows: int) -> Watched:
        """The same, computing at most so many texts at a time."""
        return Watched(self._predictor.batched(rows), self._check, self._positions)

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words."""
        new = list(dict.fromkeys(text for text in texts if text not in self._docs))
        self._docs.update(zip(new, self._predictor.prepare(new), strict=True))
        return [self._docs[text] for text in texts]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""
        new = {doc.text: doc for doc in docs if self._docs.get(doc.text) is doc and doc.text not in self._known}
        asked = [*new.values(), *(doc for doc in docs if self._docs.get(doc.text) is not doc)]
        answers: list[NDArray[np.float32]] = []
        for part in _slices((_size(doc) for doc in asked), self._positions):
            self._check()
            answers.extend(self._predictor.predict_docs(asked[part]))
        self._known.update(zip(new, answers, strict=False))
        others = iter(answers[len(new) :])
        rows = [self._known[doc.text] if self._docs.get(doc.text) is doc else next(others) for doc in docs]
        return np.array(rows, np.float32).reshape(len(docs), len(self._predictor.labels))

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i)."""
        if not docs:
            return list(self._predictor.predict_kept(docs, keep, hide))
        found = [np.zeros((len(rows), len(self._predictor.labels)), np.float32) for rows in keep]
        parts = [
            (number, start, min(start + step, len(rows)), _size(doc))
            for number, (doc, rows) in enumerate(zip(docs, keep, strict=True))
            for step in [max(self._positions // _size(doc), 1)]
            for start in range(0, len(rows), step)
        ]
        for part in _slices(((stop - start) * size for _, start, stop, size in parts), self._positions):
            self._check()
            some = parts[part]
            asked = [docs[number] for number, *_ in some]
            answers = self._predictor.predict_kept(asked, [keep[n][start:stop] for n, start, stop, _ in some], hide)
            for (number, start, stop, _), rows in zip(some, answers, strict=True):
                found[number][start:stop] = rows
        return found

    def at_seam(self, docs: Sequence[Doc]) -> Iterator[AtSeam]:
        """What the classifier sees of the texts, in batches small enough to look up between them."""
        for part in _slices((_size(doc) for doc in docs), self._positions):
            self._check()
            for seam in self._predictor.at_seam(docs[part]):
                most = min(seam.most, max(self._positions // seam.z.shape[1], len(seam.rows)))
                yield dataclasses.replace(
                    seam, rows=seam.rows + part.start, answer=self._checked(seam.answer), most=most
                )

    def _checked(
        self, answer: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        def checked(z: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
            self._check()
            return answer(z, index, lengths)

        return checked


def _size(doc: Doc) -> int:
    """Positions of a text."""
    return max(len(doc.ids), len(doc.spans), 1)


def _slices(sizes: Iterable[int], most: int) -> Iterator[slice]:
    """Neighbours that together are no larger than `most`, or single ones that are."""
    start, total, number = 0, 0, -1
    for number, size in enumerate(sizes):
        if number > start and total + size > most:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if number >= 0:
        yield slice(start, number + 1)
