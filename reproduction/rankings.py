"""Rankings of words that need no mask, and where a budget of running words cuts them off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_selection import chi2
from sklearn.linear_model import LogisticRegression

from vmask._core.random_streams import numpy_stream
from vmask.inference.edits import Finder
from vmask.masks.select import MARGIN
from vmask.text.words import UNK
from vmask.training.prepare_pieces import PreparedPieces
from vmask.training.prepare_words import PreparedWords
from vmask.training.prepared import Prepared


@dataclass(frozen=True)
class Texts:
    """Training texts as a model reads them.

    Attributes:
        words: the known words of each text.
        codes: (N,) their classes.
        counts: (V,) occurrences of each id of the model, 0 for those that are no words.
        finder: finds the ids of a word.
    """

    words: Sequence[Sequence[str]]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    finder: Finder

    @classmethod
    def of(cls, prepared: Prepared) -> Texts:
        """From the data of a training."""
        finder = prepared.finder()
        counts = np.bincount(np.concatenate(prepared.examples.ids))
        counts[[id for id in finder.special if id < len(counts)]] = 0
        return cls(_words(prepared), prepared.examples.labels, counts, finder)

    @cached_property
    def frequencies(self) -> Counter[str]:
        """Occurrences of each word."""
        return Counter(word for words in self.words for word in words)

    @cached_property
    def vocabulary(self) -> list[str]:
        """The distinct words, by alphabet."""
        return sorted(self.frequencies)

    @cached_property
    def presence(self) -> Any:
        """(N, W) sparse matrix: 1 where a word of the vocabulary stands in a text."""
        column = {word: number for number, word in enumerate(self.vocabulary)}
        rows = [sorted({column[word] for word in words}) for words in self.words]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.array([one for row in rows for one in row], np.int64)
        return csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(rows), len(column)))

    def cut(self, ranking: Sequence[str], budget: float) -> list[str]:
        """The first words of a ranking, as many as keep to the budget with the margin that `select` keeps.

        All ids of a word become visible: of an encoder its pieces, wherever they stand.
        """
        limit = MARGIN * budget * self.counts.sum()
        seen = np.zeros(len(self.counts), np.bool_)
        running = 0
        for number, word in enumerate(ranking):
            ids = self.finder.ids_of(word)
            new = [id for id in ids if id < len(seen) and not seen[id]]  # later ids are not in these texts
            running += int(self.counts[new].sum())
            if running > limit:
                return list(ranking[:number])
            seen[new] = True
        return list(ranking)

    def share(self, words: Sequence[str]) -> float:
        """Share of the running words, of an encoder of the running pieces, that these words make visible."""
        ids = {int(id) for word in words for id in self.finder.ids_of(word) if id < len(self.counts)}
        return float(self.counts[sorted(ids)].sum() / self.counts.sum())


def by_chi2(texts: Texts, seed: int) -> list[str]:
    """Words by the chi-squared statistic of their presence and the class."""
    return highest_first(texts.vocabulary, chi2(texts.presence, texts.codes)[0])


def by_weight(texts: Texts, seed: int) -> list[str]:
    """Words by the largest absolute weight that logistic regression on their presence gives them in any class."""
    # To its optimum: where it stops before, the last digits of the machine decide which of two words comes first.
    model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(texts.presence, texts.codes)
    return highest_first(texts.vocabulary, np.abs(model.coef_).max(0))


def by_frequency(texts: Texts, seed: int) -> list[str]:
    """Words by the number of their occurrences."""
    return highest_first(texts.vocabulary, [texts.frequencies[word] for word in texts.vocabulary])


def at_random(texts: Texts, seed: int) -> list[str]:
    """Words in random order."""
    order = numpy_stream(seed, "words at random").permutation(len(texts.vocabulary))
    return [texts.vocabulary[number] for number in order]


def highest_first(words: Sequence[str], scores: Sequence[float] | NDArray[Any]) -> list[str]:
    """Words by their scores, ties by alphabet."""
    return [word for _, word in sorted((-float(score), word) for word, score in zip(words, scores, strict=True))]


Ranking = Callable[[Texts, int], list[str]]
RANKINGS: dict[str, Ranking] = {"chi2": by_chi2, "linear": by_weight, "frequency": by_frequency, "random": at_random}
"""By name; each takes the texts and a seed, which only the order at random uses."""


def _words(prepared: Prepared) -> list[list[str]]:
    """The words of every training text, those that the model knows."""
    if isinstance(prepared, PreparedWords):
        known = prepared.tokenizer.words
        return [[known[id] for id in ids if id > UNK] for ids in prepared.examples.ids]
    assert isinstance(prepared, PreparedPieces)
    lower = prepared.tokenizer.uncased
    found = []
    for text, pieces in zip(prepared.labelled.texts, prepared.tokenizer.encode(prepared.labelled.texts), strict=True):
        words = [text[start:end] for start, end in pieces.spans.tolist()]
        found.append([word.lower() for word in words] if lower else words)
    return found
