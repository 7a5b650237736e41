"""Any model that gives probabilities of texts, as the explainers need it: a function, a scikit-learn pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import HIDES
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.inference.contract import BasePredictor, Doc
from vmask.text.words import readable, whole_words


class BlackBox(BasePredictor):
    """A model of which nothing is known but its answers. Words are hidden by rebuilding the text.

    Args:
        predict_proba: from a list of N texts to (N, C) probabilities.
        labels: the classes, in the order of the columns; by default the numbers of the columns.
        unk_token: what stands for a word that is hidden by `unk`.
        mask_token: what stands for a word that is hidden by `mask`; None where the model has no such token.
        batch_size: texts that the function is given at a time.
    """

    def __init__(
        self,
        predict_proba: Callable[[list[str]], Any],
        labels: Sequence[Any] | None = None,
        unk_token: str = "UNKWORDZ",
        mask_token: str | None = None,
        batch_size: int = 512,
    ) -> None:
        self.predict_proba = predict_proba
        self.batch_size = batch_size
        if labels is not None:  # a number of numpy's is none of JSON's
            labels = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        self._labels = labels
        self._stand_in = {"remove": "", "unk": unk_token, "mask": mask_token}
        self.hides = tuple(hide for hide in HIDES if self._stand_in.get(hide) is not None)

    @property
    def labels(self) -> Sequence[Any]:
        """The classes, in the order of the probabilities."""
        if self._labels is None:
            self._ask([""])
        assert self._labels is not None
        return self._labels

    def batched(self, rows: int) -> BlackBox:
        """The same model, given at most so many texts at a time."""
        other = copy.copy(self)
        other.batch_size = rows
        return other

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words: runs of letters or digits with their apostrophes, and single marks."""
        none = np.zeros(0, np.int32)
        whole = readable(texts)
        return [
            Doc(text, tuple(map(tuple, spans.tolist())), none)
            for text, spans in zip(whole, whole_words(whole), strict=True)
        ]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""
        answers = list(self._answers(doc.text for doc in docs))
        return np.array(answers, np.float32).reshape(len(docs), len(self.labels))

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i); equal texts are asked for once.

        Raises:
            ConfigError: for a way of hiding that cannot be done by rebuilding a text.
        """
        if hide not in HIDES:
            raise UnknownName("way of hiding", hide, HIDES)
        stand_in = self._stand_in.get(hide)
        if stand_in is None:
            known = "a mask_token" if hide == "mask" else "its vectors"
            raise ConfigError(f"hide={hide} needs {known}, which this function does not have. Use hide=remove or unk.")
        if not len(docs):
            return []
        number: dict[str, int] = {}
        rows = [
            np.array([number.setdefault(rebuilt(doc, row, stand_in), len(number)) for row in one], np.int64)
            for doc, one in zip(docs, keep, strict=True)
        ]
        answers = np.array(list(self._answers(iter(number))), np.float32).reshape(len(number), len(self.labels))
        return [answers[one] for one in rows]

    def _answers(self, texts: Iterator[str]) -> Iterator[NDArray[np.float32]]:
        while some := list(islice(texts, self.batch_size)):
            yield from self._ask(some)

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        given = self.predict_proba(texts)
        wanted = "It must give a row of probabilities for every text, as predict_proba of scikit-learn does."
        try:
            answers = np.asarray(given, np.float32)
        except (TypeError, ValueError, RuntimeError) as error:  # a tensor with a gradient is a RuntimeError
            raise DataError(
                f"The function answered {len(texts)} texts by no array of numbers: {error}. {wanted}"
            ) from None
        if answers.ndim != 2 or len(answers) != len(texts) or not answers.shape[1]:
            raise DataError(f"The function answered {len(texts)} texts by an array of shape {answers.shape}. {wanted}")
        if self._labels is None:
            self._labels = tuple(range(answers.shape[1]))
        if answers.shape[1] != len(self._labels):
            raise DataError(f"The function gave {answers.shape[1]} probabilities for {len(self._labels)} labels.")
        if not np.isfinite(answers).all():
            raise DataError(
                f"The function gave an answer that is no number, {answers[~np.isfinite(answers)][0]}. {wanted}"
            )
        return answers


def rebuilt(doc: Doc, keep: NDArray[Any], stand_in: str) -> str:
    """The text with the words where `keep` (W,) is 0 replaced; what stands between words stays.

    Words that touch, as `film.` does, are set apart where one of them is hidden, so that the other stays a word.

    >>> doc = Doc("A well-made film.", ((0, 1), (2, 6), (6, 7), (7, 11), (12, 16), (16, 17)), np.zeros(0, np.int32))
    >>> rebuilt(doc, np.array([1, 1, 0, 1, 1, 0]), "UNKWORDZ")
    'A well UNKWORDZ made film UNKWORDZ'
    >>> rebuilt(doc, np.array([1, 1, 0, 1, 1, 0]), "")
    'A well made film'
    """
    out, at = "", 0
    for (start, end), kept in zip(doc.spans, keep.tolist(), strict=True):
        if not kept:
            out = _apart(_apart(out, doc.text[at:start]), stand_in)
            at = end
    return _apart(out, doc.text[at:])


def _apart(left: str, right: str) -> str:
    """Both, with a space between where they would run into one another."""
    touch = left and right and not left[-1].isspace() and not right[0].isspace()
    return f"{left} {right}" if touch else left + right
