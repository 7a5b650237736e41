"""All that explanations and metrics may know of a model, and a text as the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SINGLE_LABEL = "single_label"
"""The task in which every text has one class, and probabilities sum to 1."""


@dataclass(frozen=True)
class Doc:
    """A text, cut into words once.

    Attributes:
        text: as it was given.
        spans: (start, end) of every word in `text`.
        ids: what the model reads: word ids, one a span; or the pieces of an encoder's tokenizer.
        unseen: words behind the length limit, which the model does not see.
        owners: (n, 2) position in `ids` and number of a word that it is a piece of; None where ids are words.
        merging: how pieces were made into words; empty where ids are words.
        segments: (start, end) of each of several texts that are read together; empty where it is one text.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    ids: NDArray[np.int32]
    unseen: int = 0
    owners: NDArray[np.int32] | None = None
    merging: str = ""
    segments: tuple[tuple[int, int], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words as they stand in the text."""
        return tuple(self.text[start:end] for start, end in self.spans)

    def kept_ids(self, keep: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The ids without those of the words where `keep` (W,) is False: a hidden word takes all its pieces along.

        Special tokens that the tokenizer added belong to no word and stay.
        """
        if self.owners is None:
            return self.ids[keep]
        position, word = self.owners.T
        return np.delete(self.ids, position[~keep[word]])


class Predictor(Protocol):
    """All that explainers and metrics may know of a model; `BasePredictor` has the answers of the simplest."""

    @property
    def labels(self) -> Sequence[Any]:
        """The classes, in the order of the probabilities."""

    @property
    def task(self) -> str:
        """What its probabilities are of: `single_label`, classes of which each text has one."""

    @property
    def hides(self) -> Sequence[str]:
        """The ways of hiding words that it has, of `vmask.config.HIDES`."""

    @property
    def ranks_words(self) -> bool:
        """Whether it gives words an importance of its own: `mask_scores`."""

    @property
    def has_gradients(self) -> bool:
        """Whether gradients can be taken at what it sees of words: `at_seam`."""

    def batched(self, rows: int) -> Predictor:
        """The same model, computing at most so many texts at a time."""

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words."""

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i), many perturbations at once."""


class BasePredictor:
    """A predictor's answers where it has nothing more to offer; derive from it and override what it can.

    Attributes:
        task: what its probabilities are of.
        hides: the ways of hiding words that it has.
        ranks_words: whether it gives words an importance of its own.
        has_gradients: whether gradients can be taken at what it sees of words.
        quick: whether thousands of perturbations are a matter of a second.
    """

    task: str = SINGLE_LABEL
    hides: Sequence[str] = ("remove",)
    ranks_words: bool = False
    has_gradients: bool = False
    quick: bool = False


class MaskScores(Predictor, Protocol):
    """A predictor that can also say how much of each word its mask lets through."""

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Importance of every word of every text, in [0, 1]."""
