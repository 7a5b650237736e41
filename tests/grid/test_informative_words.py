"""Words that tell most about the class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from vmask.grid.informative_words import informative_words, mutual_information


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=60))
def test_mutual_information_is_that_of_scikit_learn(rows):
    present, classes = (np.array(column) for column in zip(*rows, strict=True))
    kinds = np.unique(classes)
    there = np.array([[np.sum(present & (classes == one)) for one in kinds]], float)
    totals = np.array([np.sum(classes == one) for one in kinds], float)
    assert mutual_information(there, totals)[0] == pytest.approx(mutual_info_score(present, classes), abs=1e-9)


def test_the_words_that_decide_come_first():
    texts = ["a fine film", "a dull film", "fine acting in a film", "dull acting"] * 5
    labels = ["good", "bad"] * 10
    rest = [f"{letter}oo {letter}oo" for letter in "bcdefghjklmnopqrstuv"] * 3  # six times each, in both classes alike
    found = informative_words(texts + rest + rest, labels + ["good"] * 60 + ["bad"] * 60, "gentle")
    assert found == ["dull", "fine", "in"]  # a tenth of 26 words, rounded: six of the texts and 20 others


def test_rare_words_are_not_looked_at():
    assert informative_words(["once upon", "a time"], ["x", "y"], "gentle") == []
