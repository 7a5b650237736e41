"""The contract of explainers, and what an explanation is: the words of a text, their spans and their scores."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vmask.config import NoOptions, to_dict
from vmask.errors import short
from vmask.inference.contract import Doc, Predictor
from vmask.inference.decisions import leading, thresholds_of

if TYPE_CHECKING:
    from rich.text import Text


MAX_CELLS = 4_000_000
"""Maximum of words times perturbations in memory."""
_CAPABILITIES = {"mask_scores": "ranks_words", "at_seam": "has_gradients"}
"""Optional methods of a predictor, and the attribute that says whether it has them."""


class Explainer:
    """A method that explains predictions.

    Args:
        options: an instance of the method's `Options`; None for its defaults.

    Attributes:
        Options: dataclass of the method's own options (keywords of `explain` in Python, `--method.…` on the command
            line).
        hides: whether it queries the model with words hidden, so that the option `hide` matters.
        draws: whether it is random, so that the seed matters.
        signed: whether a negative score is evidence against the class; else scores only say how important a word is.
        needs: name of an optional method of `Predictor` that it needs.
        version: version of its numbers; raised when they change on purpose, to distinguish older results.
        name: name recorded in explanations; by default the name of its file.
        of_pieces: for words of several pieces, how a word's score is computed from theirs.
    """

    Options: ClassVar[type[Any]] = NoOptions
    hides: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    signed: ClassVar[bool] = True
    needs: ClassVar[str] = ""
    of_pieces: ClassVar[str] = "of all its pieces together"
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "explain_some" in cls.__dict__ and "explain_batch" not in cls.__dict__:
            message = f"{cls.__qualname__}.explain_some is now called explain_batch; the old name will go."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            cls.explain_batch = cls.__dict__["explain_some"]  # type: ignore[method-assign]

    @classmethod
    def applies_to(cls, predictor: Any) -> bool:
        """Whether a model has what the method needs."""
        if cls.needs in _CAPABILITIES:
            return bool(getattr(predictor, _CAPABILITIES[cls.needs]))
        return not cls.needs or hasattr(predictor, cls.needs)

    def __init__(self, options: Any = None) -> None:
        self.options = self.Options() if options is None else options
        self.name = type(self).__module__.rpartition(".")[2]

    def explain(
        self,
        predictor: Any,
        docs: Sequence[Doc],
        targets: Sequence[int] | None = None,
        seed: int = 0,
        hide: str = "remove",
    ) -> Iterator[Explanation]:
        """Explain every text, in their order, in batches that fit in memory.

        Args:
            predictor: the model.
            docs: the texts.
            targets: number of the class to explain for each text; by default the predicted one, or with several labels
                a text the leading one, see `vmask.inference.decisions`.
            seed: random seed; random numbers derive from the seed and the text, not from the other texts.
            hide: how words are hidden, one of `HIDES`, for methods that hide words.
        """
        # A method that hides words asks about the visible ones alone: nothing depends on the others.
        asked = [doc.visible_part() for doc in docs] if self.hides else docs
        if targets is None and len(asked) and (thresholds := thresholds_of(predictor)) is not None:
            targets = leading(predictor.predict_docs(asked), thresholds).tolist()
        for doc, explanation in zip(docs, self._explained(predictor, asked, targets, seed, hide), strict=True):
            yield explanation if doc.hidden is None else explanation.with_hidden(doc)

    def _explained(
        self, predictor: Any, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain every text, in batches that fit in memory."""
        start, cells = 0, 0
        for end, doc in enumerate(docs):
            size = self.rows(len(doc.spans)) * max(len(doc.spans), 1)
            if end > start and cells + size > MAX_CELLS:
                batch_targets = None if targets is None else targets[start:end]
                yield from self.explain_batch(predictor, docs[start:end], batch_targets, seed, hide)
                start, cells = end, 0
            cells += size
        if start < len(docs):
            batch_targets = None if targets is None else targets[start:]
            yield from self.explain_batch(predictor, docs[start:], batch_targets, seed, hide)

    def rows(self, words: int) -> int:
        """Number of perturbations of a text of this many words that are in memory at a time."""
        return 1

    def explain_batch(
        self, predictor: Any, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts."""
        raise NotImplementedError

    def finished(
        self,
        predictor: Predictor,
        doc: Doc,
        scores: NDArray[Any],
        target: int,
        probability: float,
        *,
        hide: str | None = None,
        seed: int | None = None,
        **details: Any,
    ) -> Explanation:
        """Build an explanation, with all options that determined it."""
        recorded = to_dict(self.options)
        if hide is not None:
            recorded["hide"] = hide
        if doc.merging:
            recorded["merging"] = f"{doc.merging}; score of a word: {self.of_pieces}"
        return Explanation(
            text=doc.text,
            words=doc.words,
            spans=doc.spans,
            scores=tuple(np.asarray(scores, np.float64).tolist()),
            target=predictor.labels[target],
            probability=float(probability),
            method=self.name,
            options=recorded,
            unseen=doc.unseen,
            seed=seed,
            signed=self.signed,
            details=details,
        )


def classes_of(probabilities: NDArray[np.float32], targets: Sequence[int] | None) -> list[int]:
    """Class to explain for each text: the given target, or the class with the highest probability (N, C).

    With several labels a text `Explainer.explain` gives targets always.
    """
    return probabilities.argmax(1).tolist() if targets is None else [int(target) for target in targets]


@dataclass(frozen=True)
class Explanation:
    """Which words of a text matter for one class.

    Attributes:
        text: the text.
        words: its words as they stand in it.
        spans: (start, end) of every word in `text`.
        scores: importance of every word.
        target: the class that is explained.
        probability: predicted probability of that class.
        method: name of the explanation method.
        options: options of the method.
        unseen: number of words beyond the model's length limit.
        seed: seed of a random method; else None.
        signed: whether a negative score is evidence against the class; else scores only say how important a word is.
        details: further results of the method, such as the quality of a local fit.
        hidden: for each word whether the model sees nothing of it; empty if there is no such word.
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
    seed: int | None = None
    signed: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[bool, ...] = ()

    def with_hidden(self, doc: Doc) -> Explanation:
        """The same with the hidden words of its text, whose scores are exactly 0.

        Args:
            doc: the text with all of its words; the explanation has all of them, or the visible ones alone.
        """
        assert doc.hidden is not None
        scores = np.zeros(len(doc.spans))
        whole = len(self.scores) == len(doc.spans)
        scores[~doc.hidden] = np.asarray(self.scores)[~doc.hidden] if whole else self.scores
        hidden = tuple(doc.hidden.tolist())
        return replace(self, words=doc.words, spans=doc.spans, scores=tuple(scores.tolist()), hidden=hidden)

    def top(self, k: int) -> list[tuple[str, float]]:
        """The k words with the highest scores, ties to the earlier position."""
        order = sorted(range(len(self.words)), key=lambda i: (-self.scores[i], i))
        return [(self.words[i], self.scores[i]) for i in order[:k]]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON values."""
        return {
            "text": self.text,
            "label": self.target,
            "probability": self.probability,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "signed": self.signed,
            "details": dict(self.details),
            "unseen": self.unseen,
            "words": [
                {"word": word, "start": start, "end": end, "score": score, **({"hidden": True} if hidden else {})}
                for word, (start, end), score, hidden in zip(
                    self.words, self.spans, self.scores, self.hidden or (False,) * len(self.words), strict=True
                )
            ],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Explanation:
        """The explanation from what `to_dict` returned.

        Raises:
            KeyError, TypeError, ValueError: if it is not an explanation.
        """
        if not isinstance(value, Mapping):
            raise TypeError(f"{short(value)} is no object")
        for name, kinds in _KINDS.items():
            if name in value or name not in _OPTIONAL:
                _check_kind(value[name], kinds, name)
        words = value["words"]
        for word in words:
            _check_kind(word, (Mapping,), "words")
            for name, kinds in _WORD_KINDS.items():
                _check_kind(word[name], kinds, name)
            _check_kind(word.get("hidden", False), (bool,), "hidden")
            if not 0 <= word["start"] <= word["end"] <= len(value["text"]):
                raise ValueError(f"the word {short(word['word'])} does not lie in the text")
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
            seed=value.get("seed"),
            signed=value.get("signed", False),
            details=dict(value.get("details", {})),
            hidden=tuple(w.get("hidden", False) for w in words) if any(w.get("hidden") for w in words) else (),
        )

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def strengths(self) -> list[float]:
        """Strength of the colour of each word, from -1 to 1; negative values are against the class.

        For a signed explanation, the score divided by the largest absolute score of the text. Otherwise 0 up to the
        median of the text and 1 at its highest score: mask scores within a text are often close together, so this
        increases the contrast.
        """
        if self.signed:
            greatest = max(map(abs, self.scores), default=0.0)
            return [score / greatest if greatest else 0.0 for score in self.scores]
        middle, high = median(self.scores or [0.0]), max(self.scores, default=0.0)
        return [max(score - middle, 0.0) / (high - middle) if high > middle else 0.0 for score in self.scores]

    def to_rich(self) -> Text:
        """The text for a terminal, words coloured by importance."""
        from vmask.explain.highlight import rich_text

        return rich_text(self)

    def _repr_html_(self) -> str:
        """The text for a notebook, words coloured by importance."""
        from vmask.explain.highlight import html_text, summary

        return f"{html_text(self)}<br><small>{escape(summary(self))}</small>"


_NUMBER, _NOTHING = (int, float), type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    **{"text": (str,), "label": (str, bool, *_NUMBER), "probability": _NUMBER, "method": (str,), "options": (Mapping,)},
    **{"unseen": (int,), "words": (list,), "seed": (int, _NOTHING), "signed": (bool,), "details": (Mapping,)},
}
_WORD_KINDS: dict[str, tuple[type, ...]] = {"word": (str,), "start": (int,), "end": (int,), "score": _NUMBER}
_OPTIONAL = ("seed", "signed", "details")


def _check_kind(value: Any, kinds: tuple[type, ...], name: str) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"'{name}' is {short(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"'{name}' is {value}")
