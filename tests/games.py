"""Predictors whose answers are a known function of the words that are kept."""

from __future__ import annotations

import numpy as np

from vmask.inference.contract import BasePredictor, Doc


class Game(BasePredictor):
    """A model with two classes; the second has what `worth` says of each row of words kept.

    Args:
        worth: from (S, W) booleans to (S,) numbers.
    """

    labels = ("no", "yes")

    def __init__(self, worth):
        self.worth = worth
        self.calls = []

    def predict_docs(self, docs):
        return np.concatenate([self._answers(np.ones((1, len(doc.spans)), bool)) for doc in docs])

    def predict_kept(self, docs, keep, hide="remove"):
        self.calls.append([rows.shape for rows in keep])
        for doc, rows in zip(docs, keep, strict=True):
            assert rows.shape[1] == len(doc.spans)
        return [self._answers(rows) for rows in keep]

    def _answers(self, rows):
        yes = np.asarray(self.worth(rows), np.float32)
        return np.stack([1 - yes, yes], 1)


def doc_of(words, name="x"):
    """A text of so many words, all of them different."""
    text = " ".join(f"{name}{number}" for number in range(words))
    ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1 if words else np.zeros(0, int)
    starts = [0, *(ends[:-1] + 1)] if words else []
    spans = tuple((int(a), int(b)) for a, b in zip(starts, ends, strict=True))
    return Doc(text, spans, np.arange(2, words + 2, dtype=np.int32))


def additive(weights):
    """Every word adds its weight."""
    return Game(lambda keep: keep @ np.asarray(weights))


def mixed(words, seed=0):
    """Words add, pairs and triples interact, and the whole is squashed."""
    random = np.random.default_rng([words, seed])
    single, pairs = random.normal(0, 1, words), random.normal(0, 1, (words, words))
    triples = [random.choice(words, 3, replace=False) for _ in range(words)] if words > 2 else []

    def worth(keep):
        kept = keep.astype(float)
        total = kept @ single + ((kept @ pairs) * kept).sum(1) / np.sqrt(max(words, 1))
        for one in triples:
            total += 1.5 * kept[:, one].prod(1)
        return 1 / (1 + np.exp(-total))

    return Game(worth)
