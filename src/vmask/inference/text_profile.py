"""What texts look like to a model: unknown words, lengths, its answers; numbers alone, which a model can keep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.inference.contract import Doc
from vmask.inference.predictor import TextPredictor
from vmask.text.words import UNK, chunks

DEV_PROFILE = "dev_profile"
"""Key of the profile of the dev texts among the facts about a model."""
AT_ONCE = 2_000
"""Texts in memory at a time."""


@dataclass(frozen=True)
class Mean:
    """A mean over texts, or a ratio of sums over texts, with its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class TextProfile:
    """What texts look like to a model.

    Attributes:
        texts: number of texts.
        words: number of running words.
        unknown: share of unknown running words. A model of words has no vector for them; an encoder, which cuts every
            word into pieces, has not seen them in training.
        types: number of distinct words.
        unknown_types: how many of them are unknown.
        length: words of a text.
        confidence: probability of the predicted label.
        predicted: number of texts by predicted label, in the order of the labels.
    """

    texts: int
    words: int
    unknown: Mean
    types: int
    unknown_types: int
    length: Mean
    confidence: Mean
    predicted: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "predicted": list(self.predicted)}

    @classmethod
    def from_dict(cls, value: Any) -> TextProfile:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: for something else.
        """
        try:
            unknown, length, confidence = (
                Mean(float(value[name]["value"]), float(value[name]["error"]))
                for name in ("unknown", "length", "confidence")
            )
            texts, words, types, unknown_types = (
                int(value[name]) for name in ("texts", "words", "types", "unknown_types")
            )
            predicted = tuple(map(int, value["predicted"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"it is no profile: {error}") from None
        profile = cls(texts, words, unknown, types, unknown_types, length, confidence, predicted)
        means_of = (profile.unknown, profile.length, profile.confidence)
        numbers = [number for mean in means_of for number in (mean.value, mean.error)]
        if not all(map(math.isfinite, numbers)) or profile.texts < 1 or sum(profile.predicted) != profile.texts:
            raise ValueError("its numbers do not fit together")
        return profile


@dataclass(frozen=True)
class ProfiledTexts:
    """The profile of texts, with their words.

    Attributes:
        profile: the profile.
        known: how often each known word occurs, as the model spells them.
        unknown: how often each unknown word occurs, in lower case.
        best: (N,) number of the predicted label of each text.
    """

    profile: TextProfile
    known: Mapping[str, int]
    unknown: Mapping[str, int]
    best: NDArray[np.int64]


def profile_of(predictor: TextPredictor, texts: Iterable[str]) -> ProfiledTexts | None:
    """What texts look like to a model; None without any text. Texts may be a stream."""
    known: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    trained_on = predictor.word_counts()
    by_word = predictor.model.encoder.reads == "words"
    lengths: list[int] = []
    strange: list[int] = []
    rows: list[NDArray[np.float32]] = []
    for chunk in chunks(texts, AT_ONCE):
        docs = predictor.prepare(chunk)
        rows.append(predictor.predict_docs(docs))
        for doc in docs:
            words = predictor.ranked_words(doc)
            new = _unknown(doc) if by_word else [word not in trained_on for word in words]
            unknown.update(word.lower() for word, is_new in zip(doc.words, new, strict=True) if is_new)
            known.update(word for word, is_new in zip(words, new, strict=True) if not is_new)
            lengths.append(len(words))
            strange.append(sum(new))
    if not lengths:
        return None
    probabilities = np.concatenate(rows)
    best = probabilities.argmax(1)
    profile = TextProfile(
        texts=len(lengths),
        words=sum(lengths),
        unknown=_ratio(strange, lengths),
        types=len(known) + len(unknown),
        unknown_types=len(unknown),
        length=_ratio(lengths, [1] * len(lengths)),
        confidence=_ratio(probabilities.max(1).tolist(), [1] * len(lengths)),
        predicted=tuple(np.bincount(best, minlength=len(predictor.labels)).tolist()),
    )
    return ProfiledTexts(profile, known, unknown, best)


def dev_profile(predictor: TextPredictor, texts: Iterable[str]) -> dict[str, Any]:
    """What a model keeps of its dev texts, among the facts about it."""
    found = profile_of(predictor, texts)
    return {} if found is None else {DEV_PROFILE: found.profile.to_dict()}


def _unknown(doc: Doc) -> list[bool]:
    ids = doc.ids if doc.text_ids is None else doc.text_ids
    found: list[bool] = (ids == UNK).tolist()
    return found


def _ratio(above: Sequence[float], below: Sequence[float]) -> Mean:
    """The ratio of sums over texts; its error is that of texts drawn at random, as words of a text belong together."""
    parts, sizes = np.asarray(above, np.float64), np.asarray(below, np.float64)
    total = max(float(sizes.sum()), 1.0)
    value = float(parts.sum()) / total
    n = len(parts)
    spread = float(((parts - value * sizes) ** 2).sum()) * n / max(n - 1, 1)
    return Mean(value, math.sqrt(spread) / total)
