"""A model that adds up the weights of the words that are kept, so that every metric has a closed form."""

from __future__ import annotations

import re

import numpy as np

from vmask.explain.contract import Explanation
from vmask.inference.contract import BasePredictor, Doc
from vmask.metrics._case import Case, Questions


class LinearWords(BasePredictor):
    """A model with two classes; the second has the bias and the weights of all words that are kept.

    Args:
        weights: of each word; others have none.
        bias: what an empty text has.
        squash: whether the sum goes through a sigmoid; else it must be a probability as it is.

    Attributes:
        asked: rows of every call, by the text that they were asked about.
    """

    labels = ("no", "yes")
    hides = ("remove", "zero", "unk", "mask")

    def __init__(self, weights, bias=0.5, squash=False):
        self.weights = dict(weights)
        self.bias = bias
        self.squash = squash
        self.number = {word: at + 2 for at, word in enumerate(self.weights)}
        self.asked = []

    def batched(self, rows):
        return self

    def prepare(self, texts):
        return [
            Doc(
                text,
                tuple(match.span() for match in re.finditer(r"\S+", text)),
                np.array([self.number.get(word, 1) for word in text.split()], np.int32),
            )
            for text in texts
        ]

    def predict_docs(self, docs):
        return np.concatenate([self._answers(doc, np.ones((1, len(doc.spans)), bool)) for doc in docs])

    def predict_kept(self, docs, keep, hide="remove"):
        assert hide in ("remove", "zero", "unk", "mask")
        assert len(docs) == len(keep)
        for doc, rows in zip(docs, keep, strict=True):
            assert rows.shape[1] == len(doc.spans)
            assert rows.dtype == bool or hide == "zero"
            self.asked += [(doc.text, hide, tuple(row.tolist())) for row in rows]
        return [self._answers(doc, rows) for doc, rows in zip(docs, keep, strict=True)]

    def _answers(self, doc, rows):
        weights = np.array([self.weights.get(word, 0.0) for word in doc.words])
        yes = self.bias + rows.astype(np.float64) @ weights
        if self.squash:
            yes = 1 / (1 + np.exp(-yes))
        assert ((yes > -1e-9) & (yes < 1 + 1e-9)).all(), "the weights do not fit in a probability"
        return np.stack([1 - yes, yes], 1).astype(np.float32)


def explained(doc, scores, labels=("no", "yes"), target=1):
    """A made-up explanation of a text."""
    assert len(scores) == len(doc.spans)
    return Explanation(doc.text, doc.words, doc.spans, tuple(map(float, scores)), labels[target], 0.5, "made up")


def case_of(predictor, docs, scores, target=1, hide="remove", rank="signed"):
    """Texts with made-up scores, as metrics get them."""
    given = [explained(doc, one, predictor.labels, target) for doc, one in zip(docs, scores, strict=True)]
    return Case(Questions(predictor, docs, hide), given, [target] * len(docs), rank)
