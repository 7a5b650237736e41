"""Words that are most informative about the class of a text, to compare with the words that a model finds important."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.text.segmenters import Segmenter, spaced
from vmask.text.words import SPECIALS, TOKENIZED_AT_ONCE, chunks, count_words, make_tokenizer

SEEN = 5
"""Minimum count of a word in the texts: little can be said of rarer ones."""
SHARE = 0.1


def informative_words(
    texts: Sequence[str], labels: Sequence[str], cleaning: str, segmenter: Segmenter | None = None
) -> list[str]:
    """The tenth of the words seen five times or more with the most information about the class, most first.

    Measured by the mutual information between the class and whether the word occurs in the text,
    `I = sum_{w,c} p(w,c) log(p(w,c) / (p(w) p(c)))`; ties in alphabetical order.
    """
    words = sorted(word for word, count in count_words(texts, cleaning, segmenter).items() if count >= SEEN)
    if not words:
        return []
    ids = {word: id for id, word in enumerate((*SPECIALS, *words))}
    information = mutual_information(*_counts(texts, labels, make_tokenizer(cleaning, ids, segmenter), segmenter))
    order = sorted(range(len(words)), key=lambda i: (-information[i], words[i]))
    return [words[i] for i in order[: max(1, round(SHARE * len(words)))]]


def _counts(
    texts: Sequence[str], labels: Sequence[str], tokenizer: Any, segmenter: Segmenter | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(V, C) texts of each class with each word, and (C,) texts of each class."""
    classes = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    counts = np.zeros((tokenizer.get_vocab_size(), len(classes)))
    done = 0
    for chunk in chunks(texts, 2_000, TOKENIZED_AT_ONCE):
        for encoding in tokenizer.encode_batch_fast([text.text for text in spaced(chunk, segmenter)]):
            counts[np.unique(encoding.ids).astype(np.int64), classes[labels[done]]] += 1
            done += 1
    return counts[len(SPECIALS) :], np.bincount([classes[label] for label in labels]).astype(np.float64)


def mutual_information(counts: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(V,) mutual information, in nats, between the presence of a word and the class.

    Args:
        counts: (V, C) texts of each class with the word.
        totals: (C,) texts of each class.
    """
    n = totals.sum()
    joint = np.stack([counts, totals - counts]) / n  # (2, V, C)
    independent = joint.sum(2, keepdims=True) * (totals / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log(joint / independent), 0.0)
    information: NDArray[np.float64] = terms.sum((0, 2))
    return information
