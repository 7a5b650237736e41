"""Share of texts whose class stays the same when the model sees their few most important words alone.

Family: global
Range: 0 to 1
Direction: higher is better
Definition: words of a text are ranked by the importance of their type, the same in all texts. The k places that rank
    highest are kept, ties to the earlier place, in their order; a word that stands three times counts three times. The
    value of a text is 1 where the model predicts the same class from them as from the whole text, else 0; k = 1 to 10.
    With several labels a text they must be exactly the same labels. Beside the model's own ranking (mask), or one that
    was given (ranking; words that it does not know come last), there are four floors: random places; the most frequent
    words first (frequency); count in the text times ln((1 + N) / (1 + texts with the word)) + 1 (tfidf, the smoothed
    idf of scikit-learn, without its norm); and the most common prediction for every text, which needs no word at all
    (majority).
Citation: Chen, Song, Wainwright and Jordan, Learning to Explain (L2X), ICML 2018; as in Chen and Ji 2020, where the
    importance of words is global.
Limits: agreement with the model, not with the truth. A constant model scores 1 by any ranking, and with two classes a
    constant answer agrees on half of the texts or more: read it beside the floors. A few words out of their context are
    no usual input, so the model may answer them oddly. Texts of up to k words are kept whole and agree by themselves.
    The random floor is one draw a text, and k words of it are among its k + 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.inference.contract import Doc
from vmask.inference.decisions import predictions
from vmask.metrics import METRICS
from vmask.metrics.contract import Frequencies, ModelMetric, Series, Subject
from vmask.text.words import chunks

CHUNK = 32
"""Texts per query to the model."""

Ranking = Callable[[Sequence[Doc]], Sequence[NDArray[Any]]]
"""Maps texts to (W_i,) the importance of each of their words."""


@dataclass(frozen=True)
class PostHocOptions:
    """Options of `post_hoc_accuracy`."""

    k: int = option(10, "most words that are kept", most=10_000)

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)


@METRICS.register("post_hoc_accuracy")
class PostHocAccuracy(ModelMetric):
    """1 if the k most important words of a text get the same class as the text, else 0."""

    Options = PostHocOptions

    @property
    def shown(self) -> str:
        """Two words, which the paper says suffice for most texts."""
        return f"k={min(2, self.options.k)}"

    def unfit(self, subject: Subject) -> str:
        """It needs a ranking; the floors alone say nothing about the model."""
        if subject.ranks or subject.ranking is not None:
            return ""
        return "the model gives words no importance; that of another can be given (ranking, --ranking DIR)"

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One value per text of the sample for every ranking, way of hiding and k."""
        most, rankings = self.options.k, _rankings(subject)
        whole = subject.predicted[subject.sample]
        same = {(by, hide): np.zeros((most, len(whole))) for by in rankings for hide in subject.hides}
        at = 0
        for texts in chunks((subject.texts[number] for number in subject.sample), CHUNK):
            docs = subject.predictor.prepare(texts)
            kept = [_kept(rank(docs), most) for rank in rankings.values()]
            keep = [np.concatenate(rows) for rows in zip(*kept, strict=True)]  # all rankings in one query
            for hide in subject.hides:
                answers = np.stack(subject.predictor.predict_kept(docs, keep, hide))  # (n, rankings * k, C)
                agree = predictions(subject.predictor, answers) == whole[at : at + len(docs), None]
                agree = agree if agree.ndim == 2 else agree.all(2)
                for number, by in enumerate(rankings):
                    same[by, hide][:, at : at + len(docs)] = agree[:, number * most : (number + 1) * most].T
            at += len(docs)
        for (by, hide), values in same.items():
            for k, row in enumerate(values, 1):
                yield Series(row, f"k={k}", by, hide, "sample")
        constant = _is_most_common(subject.predicted)[subject.sample].astype(np.float64)
        for k in range(1, most + 1):  # so that it can be drawn beside the curves
            yield Series(constant, f"k={k}", "majority", over="sample")


def _is_most_common(predicted: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) whether each prediction, a class (N,) or labels (N, C), is the most common one; ties go to the first."""
    _, kinds, counts = np.unique(predicted, axis=0, return_inverse=True, return_counts=True)
    same: NDArray[np.bool_] = kinds.reshape(-1) == (counts.argmax() if len(counts) else 0)
    return same


def _rankings(subject: Subject) -> dict[str, Ranking]:
    """All ways of ranking words, by name."""

    def random(docs: Sequence[Doc]) -> list[NDArray[Any]]:
        return [numpy_stream(subject.seed, "post_hoc_accuracy", doc.text).random(len(doc.spans)) for doc in docs]

    frequencies, given = subject.frequencies, subject.ranking
    own: Ranking = subject.predictor.mask_scores if given is None else lambda docs: _looked_up(docs, given, -inf)
    return {
        "mask" if given is None else "ranking": own,
        "random": random,
        "frequency": lambda docs: _looked_up(docs, frequencies.counts, 0),
        "tfidf": lambda docs: [_tfidf(doc, frequencies) for doc in docs],
    }


def _looked_up(docs: Sequence[Doc], table: Mapping[str, float], unknown: float) -> list[NDArray[np.float64]]:
    """(W_i,) the value of each word in a table."""
    return [np.array([table.get(word.lower(), unknown) for word in doc.words], np.float64) for doc in docs]


def _tfidf(doc: Doc, frequencies: Frequencies) -> NDArray[np.float64]:
    """(W,) tf-idf of each word."""
    words = [word.lower() for word in doc.words]
    counts = Counter(words)
    weight = {
        word: count * (log((1 + frequencies.texts) / (1 + frequencies.documents.get(word, 0))) + 1)
        for word, count in counts.items()
    }
    return np.array([weight[word] for word in words], np.float64)


def _kept(scores: Sequence[NDArray[Any]], most: int) -> list[NDArray[np.bool_]]:
    """(most, W_i) for each text, row k - 1: whether each word is among the k with the highest scores."""
    ranks = [np.argsort(np.argsort(-values, kind="stable")) for values in scores]  # 0 is the highest
    return [rank < np.arange(1, most + 1)[:, None] for rank in ranks]
