"""The vocabulary that a model reads, with the class that each word alone speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vmask.inference.contract import Doc
from vmask.inference.predictor import TextPredictor

CHUNK = 2_000
"""Words that are asked at a time."""


@dataclass(frozen=True)
class VisibleWord:
    """A word of the training texts that a model sees.

    Attributes:
        word: the word.
        count: number of occurrences in the training texts.
        label: the class whose probability it raises most, as a text of its own.
        effect: by how much it raises it, compared with the empty text.
    """

    word: str
    count: int
    label: Any
    effect: float


def visible_words(predictor: TextPredictor) -> list[VisibleWord]:
    """All visible words of the training texts, by class, those with the largest effect first; ties by alphabet."""
    counts = predictor.word_counts()
    words = list(counts)
    empty = predictor.predict_docs(predictor.prepare([""]))[0]
    found = []
    for start in range(0, len(words), CHUNK):
        chunk = words[start : start + CHUNK]
        docs = predictor.prepare(chunk)
        effects = predictor.predict_docs(docs) - empty
        best = effects.argmax(1)
        for row, (word, doc) in enumerate(zip(chunk, docs, strict=True)):
            if not _is_hidden(doc):
                label = predictor.labels[int(best[row])]
                found.append(VisibleWord(word, counts[word], label, float(effects[row, best[row]])))
    order = {label: number for number, label in enumerate(predictor.labels)}
    return sorted(found, key=lambda one: (order[one.label], -round(one.effect, 6), one.word))


def visible_counts(predictor: TextPredictor) -> dict[str, int]:
    """Number of occurrences of each visible word of the training texts."""
    counts = predictor.word_counts()
    docs = predictor.prepare(list(counts))
    return {word: counts[word] for word, doc in zip(counts, docs, strict=True) if not _is_hidden(doc)}


def visible_share(predictor: TextPredictor) -> float:
    """Share of the running words of the training texts that are visible; NaN without any."""
    total = sum(predictor.word_counts().values())
    return sum(visible_counts(predictor).values()) / total if total else float(np.nan)


def visible_share_of(predictor: TextPredictor, texts: Sequence[str]) -> float:
    """Share of the running words of these texts that are visible; NaN without any."""
    docs = predictor.prepare(list(texts))
    running = sum(len(doc.spans) for doc in docs)
    hidden = sum(0 if doc.hidden is None else int(doc.hidden.sum()) for doc in docs)
    return (running - hidden) / running if running else float(np.nan)


def _is_hidden(doc: Doc) -> bool:
    """Whether all words of a text are hidden."""
    return doc.hidden is not None and bool(doc.hidden.all())
