"""What every explanation is: the words of a text, where they stand in it, and how much each matters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.text import Text


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
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    ids: NDArray[np.int32]
    unseen: int = 0
    owners: NDArray[np.int32] | None = None
    merging: str = ""

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
    """All that explainers and metrics may know of a model."""

    @property
    def labels(self) -> Sequence[Any]:
        """The classes, in the order of the probabilities."""

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words."""

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""


class MaskScores(Predictor, Protocol):
    """A predictor that can also say how much of each word its mask lets through."""

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Importance of every word of every text, in [0, 1]."""


class Explainer(Protocol):
    """A method that explains predictions."""

    def explain(
        self, predictor: Any, docs: Sequence[Doc], targets: Sequence[int] | None = None
    ) -> Iterator[Explanation]:
        """Explain every text; for the predicted class where `targets` is None."""


@dataclass(frozen=True)
class Explanation:
    """Which words of a text matter for one class.

    Attributes:
        text: the text.
        words: its words as they stand in it.
        spans: (start, end) of every word in `text`.
        scores: importance of every word.
        target: the class that is explained.
        probability: what the model gives that class.
        method: how the scores were made.
        options: options of the method.
        unseen: words behind the model's length limit.
    """

    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    scores: tuple[float, ...]
    target: Any
    probability: float
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    unseen: int = 0

    def top(self, k: int) -> list[tuple[str, float]]:
        """The k words with the highest scores, ties to the earlier position."""
        order = sorted(range(len(self.words)), key=lambda i: (-self.scores[i], i))
        return [(self.words[i], self.scores[i]) for i in order[:k]]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "text": self.text,
            "label": self.target,
            "probability": self.probability,
            "method": self.method,
            "options": dict(self.options),
            "unseen": self.unseen,
            "words": [
                {"word": word, "start": start, "end": end, "score": score}
                for word, (start, end), score in zip(self.words, self.spans, self.scores, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` was called on."""
        words = value["words"]
        return cls(
            text=value["text"],
            words=tuple(w["word"] for w in words),
            spans=tuple((w["start"], w["end"]) for w in words),
            scores=tuple(w["score"] for w in words),
            target=value["label"],
            probability=value["probability"],
            method=value["method"],
            options=dict(value["options"]),
            unseen=value["unseen"],
        )

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def strengths(self) -> list[float]:
        """How strongly to colour each word: 0 up to the median of the text, 1 at its highest score.

        Masks of one text often lie close together, so the eye needs the contrast within the text.
        """
        middle, high = median(self.scores or [0.0]), max(self.scores, default=0.0)
        return [max(score - middle, 0.0) / (high - middle) if high > middle else 0.0 for score in self.scores]

    def to_rich(self) -> Text:
        """The text for a terminal, words coloured by importance."""
        from vmask.report.highlight import rich_text

        return rich_text(self)

    def _repr_html_(self) -> str:
        """The text for a notebook, words coloured by importance."""
        from vmask.report.highlight import html_text

        return html_text(self)
