"""Sets of labels from Python."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from toy import toy_label_sets
from vmask.data.label_sets import as_label_sets, comparable, indicators, strata
from vmask.errors import DataError

SETS = toy_label_sets(30)[1]
CLASSES = ["billing", "login", "refund"]
MATRIX = MultiLabelBinarizer(classes=CLASSES).fit_transform(SETS)


def test_every_form_gives_the_same_sets():
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    forms = [list(map(list, SETS)), list(map(set, SETS)), [one[::-1] for one in SETS], pandas.Series(map(list, SETS))]
    assert [as_label_sets(form)[0] for form in forms] == [SETS] * 4
    assert as_label_sets(pandas.DataFrame(MATRIX, columns=CLASSES)) == (SETS, CLASSES)
    for form in (MATRIX, sparse.csr_matrix(MATRIX), MATRIX.astype(bool), MATRIX.astype(float)):
        assert as_label_sets(form, CLASSES) == (SETS, CLASSES)
    assert as_label_sets(MATRIX)[0][:3] == [tuple(np.flatnonzero(row)) for row in MATRIX[:3]]
    assert (indicators(SETS, CLASSES) == MATRIX).all()


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], np.array(["a", "b"]), []])
def test_one_label_a_text_is_none_of_them(labels):
    assert as_label_sets(labels) is None


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (["a", ["b"]], None, "number 0 is 'a', while others are lists"),
        ([[0, 1, 0], [1, 1, 0]], None, "numpy.array"),
        (np.array([[0, 2], [1, 0]]), None, "row 0 has 2 in column 1"),
        (np.array([["a", "b"], ["c", "d"]]), None, "must be 0 or 1"),
        (MATRIX, ["one"], "3 columns of labels and 1 names"),
        (MATRIX, ["a", "a", "b"], "same name"),
        (["a", "b"], ["a", "b"], "y is none"),
    ],
)
def test_what_is_neither_is_named(labels, names, message):
    with pytest.raises(DataError, match=message):
        as_label_sets(labels, names)


def test_the_rarest_label_stands_for_a_text():
    assert len(set(strata([("a",), ("a", "b"), ("b", "c"), ()]))) == 3
    assert strata(["x", "y"]) == ["x", "y"]


def test_sets_compare_whatever_their_order_and_spelling():
    assert comparable((2, "a")) == comparable(("a", "2.0"))
    assert comparable(("a",)) != comparable("a")
