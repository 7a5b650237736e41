"""The interface of models for explainers and metrics, and a text as a model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vmask.config import MULTI_LABEL as MULTI_LABEL
from vmask.config import SINGLE_LABEL as SINGLE_LABEL


@dataclass(frozen=True)
class Doc:
    """A tokenized text.

    Attributes:
        text: the original text.
        spans: (start, end) of every word in `text`.
        ids: input of the model: word ids, one per span; or pieces of an encoder's tokenizer.
        unseen: number of words beyond the length limit, which the model does not see.
        owners: (n, 2) position in `ids` and number of a word that it is a piece of; None if ids are words.
        merging: how pieces were joined to words; empty if ids are words.
        segments: (start, end) of each of several texts that are read together; empty for a single text.
        hidden: (W,) True at words of which the model sees nothing but that a word stands there; None if at none.
        text_ids: `ids` as they stand in the text, before all hidden ones became the same; None if none are hidden.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    ids: NDArray[np.int32]
    unseen: int = 0
    owners: NDArray[np.int32] | None = None
    merging: str = ""
    segments: tuple[tuple[int, int], ...] = ()
    hidden: NDArray[np.bool_] | None = None
    text_ids: NDArray[np.int32] | None = None

    def visible_part(self) -> Doc:
        """The text with its visible words alone as words; hidden ones keep their places in `ids`."""
        if self.hidden is None:
            return self
        spans = tuple(span for span, hidden in zip(self.spans, self.hidden, strict=True) if not hidden)
        places = np.arange(len(self.ids), dtype=np.int32)
        owners = np.stack([places, places], 1) if self.owners is None else self.owners
        owners = owners[~self.hidden[owners[:, 1]]]
        numbers = (np.cumsum(~self.hidden) - 1).astype(np.int32)
        owners = np.stack([owners[:, 0], numbers[owners[:, 1]]], 1)
        return replace(self, spans=spans, owners=owners, hidden=None, text_ids=None)

    @property
    def words(self) -> tuple[str, ...]:
        """The words as written in the text."""
        return tuple(self.text[start:end] for start, end in self.spans)

    def kept_ids(self, keep: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The ids without the words where `keep` (W,) is False, with all their pieces.

        Special tokens of the tokenizer belong to no word and stay.
        """
        if self.owners is None:
            return self.ids[keep]
        position, word = self.owners.T
        return np.delete(self.ids, position[~keep[word]])


class Predictor(Protocol):
    """The interface of models for explainers and metrics; `BasePredictor` has the defaults."""

    @property
    def labels(self) -> Sequence[Any]:
        """The classes, in the order of the probabilities."""

    @property
    def task(self) -> str:
        """How many labels a text has.

        `single_label`: exactly one, and probabilities sum to 1. `multi_label`: any number, each of which is decided on
        its own, by a probability and a threshold.
        """

    @property
    def thresholds(self) -> NDArray[np.float64] | None:
        """(C,) the probability from which each label is predicted, of a `multi_label` task; else None."""

    @property
    def hides(self) -> Sequence[str]:
        """Supported ways of hiding words, of `vmask.config.HIDES`."""

    @property
    def ranks_words(self) -> bool:
        """Whether it has its own importance of words: `mask_scores`."""

    @property
    def has_gradients(self) -> bool:
        """Whether gradients at the seam are available: `at_seam`."""

    def batched(self, rows: int) -> Predictor:
        """The same model with this maximum number of texts computed at a time."""

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words."""

    def predict_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, C) probabilities of texts, as `predict_docs` of `prepare`."""

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i), many perturbations at once."""


class BasePredictor:
    """Defaults of a predictor with the fewest capabilities; derive from it and override them.

    Attributes:
        task: the task.
        thresholds: (C,) probability from which each label is predicted, of a `multi_label` task; else None.
        hides: supported ways of hiding words.
        ranks_words: whether it has its own importance of words.
        has_gradients: whether gradients at the seam are available.
        quick: whether thousands of perturbations take about a second.
    """

    task: str = SINGLE_LABEL
    thresholds: NDArray[np.float64] | None = None
    hides: Sequence[str] = ("remove",)
    ranks_words: bool = False
    has_gradients: bool = False
    quick: bool = False

    def predict_texts(self: Predictor, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, C) probabilities of texts."""
        return self.predict_docs(self.prepare(texts))


class MaskScores(Predictor, Protocol):
    """A predictor that also has the mask scores of words."""

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Importance of every word of every text, in [0, 1]."""
