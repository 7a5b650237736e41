"""Wrap any model that predicts probabilities for explainers: a function, a scikit-learn pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import HIDES
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.inference.contract import MULTI_LABEL, BasePredictor, Doc
from vmask.text.segmenters import WIDE, find_segmenter
from vmask.text.words import readable, whole_words


class BlackBox(BasePredictor):
    """A model of which only the predictions are known. Words are hidden by rebuilding the text.

    Args:
        predict_proba: maps a list of N texts to (N, C) probabilities.
        labels: the classes, in the order of the columns; by default the numbers of the columns.
        unk_token: replaces a word that is hidden by `unk`.
        mask_token: replaces a word that is hidden by `mask`; None if the model has no such token.
        batch_size: maximum number of texts per call.
        segmenter: cuts scripts without spaces into words: `jieba`, `sudachi`, `pythainlp` or `icu`; with `none` each
            Chinese and Japanese character is a word.
        thresholds: for probabilities of labels of which a text may have several, the probability from which each is
            predicted; None if each text has one class.
    """

    def __init__(
        self,
        predict_proba: Callable[[list[str]], Any],
        labels: Sequence[Any] | None = None,
        unk_token: str = "UNKWORDZ",
        mask_token: str | None = None,
        batch_size: int = 512,
        segmenter: str = "none",
        thresholds: Sequence[float] | None = None,
    ) -> None:
        self.segmenter = find_segmenter(segmenter)
        self.predict_proba = predict_proba
        self.batch_size = batch_size
        if labels is not None:  # numpy numbers are not JSON values
            labels = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        self._labels = labels
        if thresholds is not None:
            self.task, self.thresholds = MULTI_LABEL, np.asarray(thresholds, np.float64)
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
        """The same model with another batch size."""
        clone = copy.copy(self)
        clone.batch_size = rows
        return clone

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words: runs of letters or digits with their apostrophes, and single marks."""
        no_ids = np.zeros(0, np.int32)
        strings = readable(texts)
        return [
            Doc(text, tuple(map(tuple, spans.tolist())), no_ids)
            for text, spans in zip(strings, whole_words(strings, self.segmenter), strict=True)
        ]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""
        answers = list(self._answers(doc.text for doc in docs))
        return np.array(answers, np.float32).reshape(len(docs), len(self.labels))

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i); equal texts are predicted once.

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
            np.array([number.setdefault(rebuilt(doc, row, stand_in), len(number)) for row in doc_keep], np.int64)
            for doc, doc_keep in zip(docs, keep, strict=True)
        ]
        answers = np.array(list(self._answers(iter(number))), np.float32).reshape(len(number), len(self.labels))
        return [answers[doc_rows] for doc_rows in rows]

    def _answers(self, texts: Iterator[str]) -> Iterator[NDArray[np.float32]]:
        while batch := list(islice(texts, self.batch_size)):
            yield from self._ask(batch)

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        """(N, C) probabilities, checked."""
        predicted = self.predict_proba(texts)
        wanted = "It must give a row of probabilities for every text, as predict_proba of scikit-learn does."
        try:
            answers = np.asarray(predicted, np.float32)
        except (TypeError, ValueError, RuntimeError) as error:  # a tensor with a gradient raises RuntimeError
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
    """The text with the words where `keep` (W,) is 0 replaced; the text between words stays.

    Adjacent words, as in `film.`, are separated by a space if one is hidden, so that the other remains a word; but not
    in scripts that are written without spaces.

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
    """Both strings, joined by a space if they would run together."""
    touch = left and right and not left[-1].isspace() and not right[0].isspace()
    touch = touch and not WIDE.match(left[-1]) and not WIDE.match(right[0])
    return f"{left} {right}" if touch else left + right
