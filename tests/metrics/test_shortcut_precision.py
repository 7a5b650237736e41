"""Planted words at the top of explanations, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import make
from vmask.errors import ConfigError
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.metrics._case import Case, Questions
from vmask.metrics.contract import Facts
from vmask.metrics.shortcut_precision import ShortcutPrecision


def measured(*texts, k=5):
    """The parts, of texts given as scores of their words and numbers of those that were planted."""
    docs, explanations, rationales = [], [], []
    for scores, planted in texts:
        spans = tuple((2 * number, 2 * number + 1) for number in range(len(scores)))
        doc = Doc("x " * len(scores), spans, np.zeros(len(scores), np.int32))
        docs.append(doc)
        explanations.append(Explanation(doc.text, doc.words, spans, tuple(scores), "pos", 1.0, "m"))
        rationales.append(tuple((2 * number, 2 * number + 1) for number in planted))  # also behind the last word
    case = Case(Questions(None, docs, ""), explanations, [0] * len(docs), rationales=rationales)
    return ShortcutPrecision(make(ShortcutPrecision.Options, {"k": k})).measure(case)


def test_precision_at_the_number_of_planted_words():
    found = measured(
        ([0.1, 0.9, 0.3], [1]),  # it is first
        ([0.1, 0.9, 0.3], [2]),  # it is second
        ([0.1, 0.9, 0.3], [1, 2]),  # both are the top two
        ([0.1, 0.9, 0.3], [0, 1]),  # one of the top two
    )
    assert found[""].tolist() == [1, 0, 1, 0.5]
    assert found["top 5"].tolist() == [1, 1, 1, 1]


def test_planted_words_among_the_top_k():
    scores = [8, 7, 6, 5, 4, 3, 2, 1]
    found = measured((scores, [4]), (scores, [5]), (scores, [0, 1, 6, 7]), (scores, [3, 4]))
    assert found["top 5"].tolist() == [1, 0, 0.5, 1]
    assert list(measured((scores, [1]), k=2)) == ["", "top 2"]
    assert measured((scores, [1, 2]), k=2)["top 2"].tolist() == [0.5]


def test_a_text_without_a_planted_word_that_is_seen_has_no_value():
    found = measured(([0.1, 0.2], []), ([], []), ([0.1, 0.2], [7]), ([0.1, 0.2], [1, 7]))
    assert np.isnan(found[""][:3]).all()
    assert np.isnan(found["top 5"][:3]).all()
    assert found[""][3] == 1


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.sets(st.integers(0, 11), min_size=1))
def test_values_are_in_range_and_hang_on_the_order_alone(scores, planted):
    one, other = measured((scores, planted)), measured(([2 * score + 1 for score in scores], planted))
    for part, values in one.items():
        assert np.isnan(values[0]) == (min(planted) >= len(scores))
        assert np.isnan(values[0]) or 0 <= values[0] <= 1
        assert np.array_equal(values, other[part], equal_nan=True)


def test_it_is_told_where_nothing_was_planted():
    unfit = ShortcutPrecision().unfit
    wanted = "no words were planted; use `vmask evaluate --planted`"
    assert unfit(SimpleNamespace(planted=False, rationales=[()])) == wanted
    assert unfit(SimpleNamespace(planted=True, rationales=None)) == wanted
    assert unfit(SimpleNamespace(planted=True, rationales=[()])) == ""


def test_its_file_says_what_it_is():
    facts = Facts.read("shortcut_precision")
    assert (facts.low, facts.high, facts.better) == (0, 1, "higher")


def test_no_top_words_are_refused():
    with pytest.raises(ConfigError):
        make(ShortcutPrecision.Options, {"k": 0})
