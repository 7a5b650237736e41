"""Which class a word speaks for."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from vmask.report.model.word_table import CLEAR, PRIOR, leans, presence


def by_hand(a, n, b, m, other_classes=1):
    """Log-odds ratio and z of a word in `a` of `n` texts of a class and `b` of the `m` others."""
    share = (n + 0.5) / (n + m + 0.5 * (1 + other_classes))
    inside, inside_not = a + PRIOR * share, n - a + PRIOR * share
    outside, outside_not = b + PRIOR * (1 - share), m - b + PRIOR * (1 - share)
    ratio = log(inside / inside_not) - log(outside / outside_not)
    return ratio, ratio / sqrt(1 / inside + 1 / inside_not + 1 / outside + 1 / outside_not)


def test_the_formula():
    (one,) = leans(np.array([[8, 1]]), np.array([30, 60]))
    assert one.label == 0
    assert (one.log_odds, one.z) == pytest.approx(by_hand(8, 30, 1, 60))
    assert (one.here, one.texts) == (8, 9)


def test_of_three_classes_the_one_with_the_greatest_z():
    counts, totals = np.array([[1, 20, 2]]), np.array([10, 100, 100])
    (one,) = leans(counts, totals)
    z = [by_hand(counts[0, at], totals[at], 23 - counts[0, at], 210 - totals[at], 2)[1] for at in range(3)]
    assert one.label == int(np.argmax(z)) == 1
    assert one.z == pytest.approx(max(z))


def test_the_size_of_classes_does_not_decide():
    (one,) = leans(np.array([[10, 50]]), np.array([20, 980]))  # half of the small class, 5% of the large one
    assert one.label == 0
    assert one.z > CLEAR


def test_what_is_seen_once_says_little():
    once, often = leans(np.array([[1, 0], [40, 0]]), np.array([500, 500]))
    assert once.label == often.label == 0
    assert once.z < CLEAR < often.z
    assert once.log_odds < often.log_odds


def test_a_word_of_every_text_leans_nowhere_and_one_of_none_has_no_class():
    every, none = leans(np.array([[30, 60], [0, 0]]), np.array([30, 60]))
    assert abs(every.z) < 1
    assert np.isfinite(every.log_odds)
    assert (none.label, none.texts) == (None, 0)


def test_a_class_without_a_text_breaks_nothing():
    (one,) = leans(np.array([[5, 0, 0]]), np.array([20, 20, 0]))
    assert one.label == 0
    assert np.isfinite(one.z)


def test_presence_counts_texts_not_places(model):
    words = ["film", "lovely", "nosuchword"]
    texts = ["A lovely FILM, a lovely film", "film", "another"]
    there, totals, with_word = presence(model.predictor_, words, texts, [[0], [1], [1]], 2)
    assert there.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert totals.tolist() == [1, 2]
    assert with_word.tolist() == [2, 1, 0]


def test_a_text_may_have_several_classes_or_none(model):
    texts = ["a lovely film", "film", "a film", "nothing of it"]
    there, totals, with_word = presence(model.predictor_, ["film"], texts, [[0, 1], [0], [], [1]], 2)
    assert (there.tolist(), totals.tolist(), with_word.tolist()) == ([[2, 1]], [2, 2], [3])
    (one,) = leans(there, totals, with_word, 4)
    share = (2 + 0.5) / (4 + 1)  # each class is a question, yes or no
    inside, inside_not, outside, outside_not = 2 + PRIOR * share, PRIOR * share, 1 + PRIOR * share, 1 + PRIOR * share
    assert one.label == 0
    assert one.log_odds == pytest.approx(log(inside / inside_not) - log(outside / outside_not))


def test_presence_of_an_encoders_words(tiny_encoder):
    texts = ["Lovely lovely FILM", "film"]
    there, totals, _ = presence(tiny_encoder().predictor_, ["film", "lovely"], texts, [[1], [0]], 2)
    assert there.tolist() == [[1, 1], [0, 1]]
    assert totals.tolist() == [1, 1]
