"""Aggregate explanations of many texts: the most important words, and a few texts that show most of them.

Both follow SP-LIME (Ribeiro et al. 2016) and take explanations of any single method. `W[i, j]` is the importance of
word j in text i: the sum of its scores over its occurrences.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum, sqrt
from types import SimpleNamespace
from typing import Any

from vmask.config import check_positive
from vmask.errors import ConfigError, UnknownName
from vmask.explain.contract import Explanation

RANKINGS = ("signed", "absolute", "mean", "count")
"""Fields of `GlobalWord` that words can be ranked by."""


@dataclass(frozen=True)
class GlobalWord:
    """Importance of a word over many texts.

    Attributes:
        word: the word.
        signed: sum of `W[i, j]`, scores for and against the explained class taken together.
        absolute: sum of `|W[i, j]|`.
        mean: `signed` divided by `texts`.
        texts: number of texts with the word.
        count: number of occurrences.
        by_label: `signed` for each explained class, also if only one was selected.
    """

    word: str
    signed: float
    absolute: float
    mean: float
    texts: int
    count: int
    by_label: Mapping[Any, float]


@dataclass
class _Sums:
    """Running sums of a word in the explanations of one class."""

    signed: float = 0.0
    absolute: float = 0.0
    texts: int = 0
    count: int = 0


def global_importance(
    explanations: Iterable[Explanation],
    by: str = "signed",
    *,
    label: Any = None,
    min_count: int = 1,
    lower: bool = True,
) -> list[GlobalWord]:
    """Words by their importance over all texts, highest first; ties to the more frequent word, then by the alphabet.

    `signed` is the post-hoc global importance of the paper, "the sum over all local importance scores of a feature".
    Its table has almost only positive words, like a sum for one class: explain every text for the same target to get
    that, or select a `label`. `absolute` gives the order of the lime package, whose `sqrt(sum |W|)` is monotonic in it.
    `mean` does not grow with frequency; it is unreliable for rare words, so set a `min_count`.

    With `features=type` of `lime`, all occurrences of a word have the same coefficient. It is counted once per text,
    as in the package.

    Args:
        explanations: explanations of one method; an iterator is read once, and memory depends only on the number of
            distinct words and classes.
        by: `signed`, `absolute`, `mean` or `count`.
        label: use only the explanations of this class; by default all.
        min_count: leave out words with fewer occurrences.
        lower: whether to ignore case.

    Raises:
        ConfigError: for explanations of different methods.
        UnknownName: for another ranking, or a label that no explanation has.
    """
    _check_ranking(by)  # before the iterator is read, which may take long
    sums = WordSums(lower)
    for explanation in explanations:
        sums.add(explanation)
    return sums.ranked(by, label, min_count)


class WordSums:
    """The sums of `global_importance`, for explanations that are added one at a time.

    Memory depends only on the number of distinct words and classes.

    Args:
        lower: whether to ignore case.

    >>> sums = WordSums()
    >>> sums.add(Explanation("Good!", ("Good", "!"), ((0, 4), (4, 5)), (0.5, -0.25), "pos", 0.9, "lime"))
    >>> [(word.word, word.signed) for word in sums.ranked()]
    [('good', 0.5), ('!', -0.25)]
    """

    def __init__(self, lower: bool = True) -> None:
        self.lower = lower
        self._method = ""
        self._sums: dict[Any, dict[str, _Sums]] = defaultdict(lambda: defaultdict(_Sums))

    def add(self, explanation: Explanation) -> None:
        """Add the scores of a text.

        Raises:
            ConfigError: for an explanation of another method than the earlier ones.
        """
        self._method = _same_method(self._method, explanation)
        words = self._sums[explanation.target]
        for word in explanation.words:
            words[word.lower() if self.lower else word].count += 1
        for word, weight in _weights(explanation, self.lower).items():
            sums = words[word]
            sums.signed += weight
            sums.absolute += abs(weight)
            sums.texts += 1

    def ranked(self, by: str = "signed", label: Any = None, min_count: int = 1) -> list[GlobalWord]:
        """The words so far, as `global_importance` returns them; more explanations can be added later.

        Raises:
            UnknownName: for another ranking, or a label that no explanation has.
        """
        _check_ranking(by)
        sums, chosen = self._sums, list(self._sums)
        if label is not None and chosen:
            from vmask.explain.api import number_of  # brings torch along, which nothing else here needs

            chosen = [chosen[number_of(label, chosen)]]
        distinct = dict.fromkeys(word for target in chosen for word in sums[target])
        ranked = [_word(word, sums, chosen) for word in distinct]
        return sorted(
            (word for word in ranked if word.count >= min_count),
            key=lambda word: (-getattr(word, by), -word.count, word.word),
        )


def pick(
    explanations: Iterable[Explanation], count: int = 5, top_words: int | None = 10, *, lower: bool = True
) -> list[int]:
    """Numbers of a few texts whose explanations together show the most important words, the best text first.

    The greedy submodular pick of SP-LIME: each text in turn is the one that adds most to the coverage of those before,
    `c(V) = sum_j 1[some i of V has |W[i, j]| > 0] * I[j]` with `I[j] = sqrt(sum_i |W[i, j]|)`; ties to the earlier
    text. It returns fewer than `count` texts if no other adds anything; the lime package would go on with any.

    Args:
        explanations: explanations of one method; an iterator is read once, and `top_words` words per text are stored.
        count: maximum number of texts.
        top_words: number of the strongest words of every text in `W`, as lime's `num_features`; None for all. Most
            methods give every word a score, so with all words the longest texts would be picked.
        lower: whether to ignore case.

    Raises:
        ConfigError: for explanations of different methods, or a number that is too small.
    """
    check_positive(SimpleNamespace(count=count), "count", minimum=0)
    check_positive(SimpleNamespace(top_words=top_words), "top_words", minimum=1)
    words_of: list[tuple[str, ...]] = []
    interned: dict[str, str] = {}
    importance: dict[str, float] = defaultdict(float)
    method = ""
    for explanation in explanations:
        method = _same_method(method, explanation)
        weights = _weights(explanation, lower)
        strongest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:top_words]
        # Every row has the same object for a word, not a copy.
        words_of.append(tuple(interned.setdefault(word, word) for word, weight in strongest if weight))
        for word in words_of[-1]:
            importance[word] += abs(weights[word])
    importance = {word: sqrt(total) for word, total in importance.items()}

    covered: set[str] = set()
    # The gain of a text never increases, so only those on top of the heap are computed again.
    heap = [(-fsum(importance[word] for word in words), number) for number, words in enumerate(words_of)]
    heapq.heapify(heap)
    picked: list[int] = []
    while heap and len(picked) < count:
        before, number = heapq.heappop(heap)
        gain = fsum(importance[word] for word in words_of[number] if word not in covered)
        if gain < -before:
            heapq.heappush(heap, (-gain, number))
        elif gain:
            picked.append(number)
            covered.update(words_of[number])
        else:
            break
    return picked


def _check_ranking(by: str) -> None:
    if by not in RANKINGS:
        raise UnknownName("ranking", by, RANKINGS)


def _same_method(method: str, explanation: Explanation) -> str:
    """The method of an explanation, checked against that of earlier ones, which is empty for the first."""
    if method and explanation.method != method:
        raise ConfigError(
            f"There are explanations by {method} and by {explanation.method}, whose scores do not compare. "
            "Give those of one method."
        )
    return explanation.method


def _weights(explanation: Explanation, lower: bool) -> dict[str, float]:
    """A row of W: the words of a text, in their order, with their importance."""
    scored: Iterable[tuple[str, float]] = zip(explanation.words, explanation.scores, strict=True)
    if explanation.options.get("features") == "type":
        scored = dict(scored).items()
    weights: dict[str, float] = defaultdict(float)
    for word, score in scored:
        weights[word.lower() if lower else word] += score
    return weights


def _word(word: str, sums: Mapping[Any, Mapping[str, _Sums]], chosen: Iterable[Any]) -> GlobalWord:
    """Importance of a word over the explanations of the chosen classes."""
    parts = [sums[target][word] for target in chosen if word in sums[target]]
    signed = sum(part.signed for part in parts)
    texts = sum(part.texts for part in parts)
    return GlobalWord(
        word=word,
        signed=signed,
        absolute=sum(part.absolute for part in parts),
        mean=signed / texts,
        texts=texts,
        count=sum(part.count for part in parts),
        by_label={target: words[word].signed for target, words in sums.items() if word in words},
    )
