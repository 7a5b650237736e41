"""The words of a report."""

from __future__ import annotations

import pytest

from vmask.inference.word_importance import WordImportance, ranked
from vmask.report.model.test_scores import predict
from vmask.report.model.word_table import few, words_of


def ranking(n):
    """Words whose importance falls as their count rises."""
    return ranked(WordImportance(f"word{at:04}", 1 - at / n, at + 1, True) for at in range(n))


def test_few_words_are_all_there():
    words = ranking(10)
    assert few(words, 10) == (words, 1)


def test_of_many_half_are_the_most_important_and_the_rest_the_most_frequent():
    words, complete = few(ranking(100), 10)
    assert [word.count for word in words] == [1, 2, 3, 4, 5, 96, 97, 98, 99, 100]
    assert complete == 96  # every word seen 96 times or more is there
    assert [word.score for word in words] == sorted((word.score for word in words), reverse=True)


def test_where_counts_tie_none_is_said_to_be_complete_that_is_not():
    words = ranked(WordImportance(f"word{at}", 1 - at / 50, 7, True) for at in range(50))
    assert few(words, 10)[1] == 8


def test_words_have_their_numbers_and_lean(model, toys):
    found = words_of(predict(model.predictor_, toys).subject, toys.splits["train"])
    assert [(row.word, row.importance, row.count) for row in found.rows] == [
        (word.word, word.score, word.count) for word in model.word_importance()
    ]
    by_word = {row.word: row for row in found.rows}
    for word, label in (("lovely", "pos"), ("superb", "pos"), ("awful", "neg"), ("clumsy", "neg")):
        assert by_word[word].label == label
        assert by_word[word].here == by_word[word].texts > 0
        assert by_word[word].z > 1.96
    assert by_word["the"].z < 1.96
    assert found.total == len(found.rows) == len(found.drawn)
    assert found.leaning_texts == 120


def test_correlations_are_those_of_the_metric(model, toys):
    from vmask.metrics.frequency_correlation import frequency_correlation

    found = words_of(predict(model.predictor_, toys).subject, toys.splits["train"])
    assert found.pearson.value == pytest.approx(frequency_correlation(model.word_importance()))
    assert found.pearson.low <= found.pearson.value <= found.pearson.high


def test_a_model_without_a_ranking_has_none(base, toys):
    assert words_of(predict(base.predictor_, toys).subject, toys.splits["train"]) is None
