"""The vocabulary that a model reads, with the class that each word alone speaks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
            if doc.hidden is None or not doc.hidden.all():
                label = predictor.labels[int(best[row])]
                found.append(VisibleWord(word, counts[word], label, float(effects[row, best[row]])))
    order = {label: number for number, label in enumerate(predictor.labels)}
    return sorted(found, key=lambda one: (order[one.label], -round(one.effect, 6), one.word))


def visible_share(predictor: TextPredictor) -> float:
    """Share of the running words of the training texts that are visible; NaN without any."""
    counts = predictor.word_counts()
    docs = predictor.prepare(list(counts))
    seen = sum(
        count for count, doc in zip(counts.values(), docs, strict=True) if doc.hidden is None or not doc.hidden.all()
    )
    total = sum(counts.values())
    return seen / total if total else float(np.nan)
