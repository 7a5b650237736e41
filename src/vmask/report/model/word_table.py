"""The words of a model: importance, count, and the class that each speaks for.

That class is the one in whose texts the word is likelier than in all others. This looks at the training texts alone,
not at the model. Where `a` of the `n` texts of a class have the word, and `b` of the `m` others, the log-odds ratio is

    log(a' / (n' - a')) - log(b' / (m' - b')),    a' = a + k n / (n + m),    b' = b + k m / (n + m)

after a prior of `k` further texts with the word that are spread over the classes as all texts are (n' and m' count
them and as many without it): so a word that is seen once or twice says little. Divided by its standard error it is z,
and the class with the greatest z is the one that the word speaks for (after Monroe, Colaresi and Quinn 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmask.data.datasets import Split
from vmask.data.label_sets import are_sets, as_label
from vmask.evaluation.result import estimated
from vmask.inference.word_importance import WordImportance
from vmask.metrics.contract import Subject
from vmask.metrics.frequency_correlation import FrequencyCorrelation
from vmask.report.figures.scatter import NAMED
from vmask.report.model.content import Word, Words
from vmask.report.model.test_scores import sampled, some_rows
from vmask.text.words import chunks

MOST_WORDS = 3000
"""Words of the table, at most."""
MOST_DRAWN = 2000
"""Words of the scatter plot, at most; those that are named come on top."""
MIN_COUNT = 3
"""Occurrences in the training texts from which on a word is shown: rarer ones say little."""
PRIOR = 2.0
"""Texts with the word that the prior adds, and as many without it."""
CLEAR = 1.96
"""z from which a word's lean is called clear: what chance seldom does."""
SMALLEST = 0.5
"""Texts that a class without any counts for in the prior, so that nothing is divided by 0."""
CHUNK = 1000


class Lean(NamedTuple):
    """What a word says about the class of a text, as in `Word`; `label` is a number, and None where no text has it."""

    label: int | None
    log_odds: float
    z: float
    here: int
    texts: int


def words_of(subject: Subject, train: Split) -> Words | None:
    """The words of a model; None where its method ranks none."""
    if not subject.ranks:
        return None
    ranking: list[WordImportance] = subject.predictor.word_importance()
    if not ranking:
        return None
    listed, complete_from = few(ranking)
    classes = [str(as_label(label)) for label in subject.predictor.labels]
    some = sampled(train)
    number = {label: at for at, label in enumerate(classes)}
    several = are_sets(some.labels)
    if several:
        rows = list(range(len(some)))
        labels = [[number[name] for one in label if (name := str(as_label(one))) in number] for label in some.labels]
    else:
        rows = [row for row, label in enumerate(some.labels) if str(as_label(label)) in number]
        labels = [[number[str(as_label(some.labels[row]))]] for row in rows]
    counts = presence(
        subject.predictor, [word.word for word in listed], [some.texts[row] for row in rows], labels, len(classes)
    )
    found = leans(*counts, len(rows)) if several else leans(*counts[:2])
    correlations = {series.part: series.values for series in FrequencyCorrelation().measure(subject)}
    pearson, log = (estimated(FrequencyCorrelation(), correlations[part]) for part in ("pearson", "log"))
    return Words(
        total=len(ranking),
        rows=tuple(
            Word(
                word=word.word,
                importance=word.score,
                count=word.count,
                known=word.known,
                label="" if lean.label is None else classes[lean.label],
                log_odds=lean.log_odds,
                z=lean.z,
                here=lean.here,
                texts=lean.texts,
            )
            for word, lean in zip(listed, found, strict=True)
        ),
        complete_from=complete_from,
        drawn=tuple(
            (ranking[at].word, ranking[at].score, ranking[at].count)
            for at in sorted(some_rows(len(ranking), MOST_DRAWN))
        ),
        leaning_texts=len(rows),
        pearson=replace(pearson, low=max(pearson.low, -1.0), high=min(pearson.high, 1.0)),
        log=replace(log, low=max(log.low, -1.0), high=min(log.high, 1.0)),
    )


def leans(
    there: NDArray[np.int64],
    totals: NDArray[np.int64],
    with_word: NDArray[np.int64] | None = None,
    texts: int | None = None,
) -> list[Lean]:
    """What each word says.

    Args:
        there: (V, C) texts of each class with the word.
        totals: (C,) texts of each class.
        with_word: (V,) texts with the word, where a text may have several classes or none.
        texts: number of texts; likewise.
    """
    with_word = (there.sum(1) if with_word is None else with_word)[:, None]
    every = int(totals.sum()) if texts is None else texts
    share = (totals + SMALLEST) / (every + SMALLEST * (len(totals) if texts is None else 2))
    inside, inside_not = there + PRIOR * share, totals - there + PRIOR * share
    rest = with_word - there
    outside, outside_not = rest + PRIOR * (1 - share), every - totals - rest + PRIOR * (1 - share)
    log_odds = np.log(inside / inside_not) - np.log(outside / outside_not)
    z = log_odds / np.sqrt(1 / inside + 1 / inside_not + 1 / outside + 1 / outside_not)
    best = z.argmax(1)
    return [
        Lean(
            int(label),
            float(log_odds[row, label]),
            float(z[row, label]),
            int(there[row, label]),
            int(with_word[row, 0]),
        )
        if with_word[row, 0]
        else Lean(None, 0.0, 0.0, 0, 0)
        for row, label in enumerate(best)
    ]


def presence(
    predictor: Any, words: Sequence[str], texts: Sequence[str], labels: Sequence[Sequence[int]], classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(V, C) texts of each class with each word, as the model cuts texts; (C,) texts of each class, (V,) of each word.

    Args:
        predictor: the model.
        words: the words.
        texts: the texts.
        labels: the classes of each text.
        classes: number of classes C.
    """
    row_of = {word: row for row, word in enumerate(words)}
    there, with_word = np.zeros((len(words), classes), np.int64), np.zeros(len(words), np.int64)
    done = 0
    for chunk in chunks(texts, CHUNK):
        for doc in predictor.prepare(chunk):
            rows = [row for word in set(predictor.ranked_words(doc)) if (row := row_of.get(word)) is not None]
            with_word[rows] += 1
            for label in labels[done]:
                there[rows, label] += 1
            done += 1
    totals = np.bincount(np.array([label for one in labels for label in one], np.int64), minlength=classes)
    return there, totals, with_word


def few(ranking: Sequence[WordImportance], most: int = MOST_WORDS) -> tuple[list[WordImportance], int]:
    """The words of the table, and the count from which on it has all words.

    Where there are more than fit, half of the places go to the most important words and the rest to the most frequent
    ones that are not among them.
    """
    if len(ranking) <= most:
        return list(ranking), 1
    frequent = sorted(range(len(ranking)), key=lambda at: (-ranking[at].count, at))
    chosen = set(range(most // 2))
    left_out = 0
    for at in frequent:
        if at in chosen:
            continue
        if len(chosen) == most:
            left_out = ranking[at].count
            break
        chosen.add(at)
    return [ranking[at] for at in sorted(chosen)], left_out + 1


def frequent_enough(words: Sequence[Word], most: int) -> list[Word]:
    """The first words that are not too rare; all words count if none is frequent enough."""
    return ([word for word in words if word.count >= MIN_COUNT] or list(words))[:most]


def named_words(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The most important words, without rare ones if there are enough others, and the most frequent."""
    common = [word for word in words if word.count >= MIN_COUNT]
    important = sorted(common if len(common) >= NAMED else words, key=lambda word: -word.importance)[:NAMED]
    return important, sorted(words, key=lambda word: -word.count)[:NAMED]
