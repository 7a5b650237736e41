"""The words of a model: importance, count, and the class that each speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vmask.data.datasets import Split
from vmask.data.labels import as_label
from vmask.evaluation.result import estimated
from vmask.inference.predictor import WordImportance
from vmask.metrics.contract import Subject
from vmask.metrics.frequency_correlation import FrequencyCorrelation
from vmask.report.model.baselines import sampled, some_rows
from vmask.report.model.content import Word, Words
from vmask.report.model.word_class_association import leans, presence

MOST_WORDS = 3000
"""Words of the table, at most."""
MOST_DRAWN = 2000
"""Words of the scatter plot, at most; those that are named come on top."""
MIN_COUNT = 3
"""Occurrences in the training texts from which on a word is shown: rarer ones say little."""
NAMED = 10
"""Words of either kind that the scatter plot names."""


def words_of(subject: Subject, train: Split) -> Words | None:
    """The words of a model; None where its method ranks none."""
    if not subject.ranks:
        return None
    ranking: list[WordImportance] = subject.predictor.word_importance()
    if not ranking:
        return None
    kept, complete_from = few(ranking)
    classes = [str(as_label(label)) for label in subject.predictor.labels]
    some = sampled(train)
    number = {label: at for at, label in enumerate(classes)}
    rows = [row for row, label in enumerate(some.labels) if str(as_label(label)) in number]
    labels = [number[str(as_label(some.labels[row]))] for row in rows]
    found = presence(
        subject.predictor, [word.word for word in kept], [some.texts[row] for row in rows], labels, len(classes)
    )
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
            for word, lean in zip(kept, leans(*found), strict=True)
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
