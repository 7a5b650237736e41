"""What every explanation can do, and what every explanation method must."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Doc, Explanation

TEXT = "Good, GOOD film"


@pytest.fixture
def explanation():
    return Explanation(
        text=TEXT,
        words=("Good", ",", "GOOD", "film"),
        spans=((0, 4), (4, 5), (6, 10), (11, 15)),
        scores=(0.8, 0.2, 0.8, 0.5),
        target="pos",
        probability=0.9,
        method="mask",
        options={"k": 3},
        unseen=2,
    )


def test_the_top_words_have_the_highest_scores_and_ties_keep_their_order(explanation):
    assert explanation.top(3) == [("Good", 0.8), ("GOOD", 0.8), ("film", 0.5)]
    assert explanation.top(9)[-1] == (",", 0.2)


def test_an_explanation_is_one_line_of_json_and_comes_back_from_it(explanation):
    line = explanation.to_json()
    assert "\n" not in line
    assert json.loads(line)["words"][2] == {"word": "GOOD", "start": 6, "end": 10, "score": 0.8}
    assert Explanation.from_dict(json.loads(line)) == explanation


def test_strengths_grow_from_the_median_of_a_text_to_its_highest_score(explanation):
    assert explanation.strengths() == [1, 0, 1, 0]
    spans = tuple((i, i + 1) for i in range(5))
    rising = Explanation("abcde", tuple("abcde"), spans, (0.1, 0.2, 0.3, 0.4, 0.5), "x", 1.0, "mask")
    assert rising.strengths() == pytest.approx([0, 0, 0, 0.5, 1])
    flat = Explanation("a b", ("a", "b"), ((0, 1), (2, 3)), (0.4, 0.4), "x", 1.0, "mask")
    assert flat.strengths() == [0, 0]
    assert Explanation("", (), (), (), "x", 1.0, "mask").strengths() == []


def test_strengths_of_a_signed_explanation_are_shares_of_its_greatest_score():
    spans = tuple((i, i + 1) for i in range(4))

    def signed(*scores):
        return Explanation("abcd", tuple("abcd"), spans, scores, "x", 1.0, "lime", signed=True).strengths()

    assert signed(0.2, -0.4, 0.0, 0.1) == pytest.approx([0.5, -1, 0, 0.25])
    assert signed(-0.1, -0.2, -0.2, 0.0) == pytest.approx([-0.5, -1, -1, 0])
    assert signed(0.0, 0.0, 0.0, 0.0) == [0, 0, 0, 0]
    assert Explanation("", (), (), (), "x", 1.0, "lime", signed=True).strengths() == []


def test_the_words_of_a_doc_are_cut_from_its_text():
    assert Doc(TEXT, ((0, 4), (11, 15)), np.array([2, 3], np.int32)).words == ("Good", "film")


def test_hiding_a_word_of_a_word_model_takes_its_id():
    doc = Doc(TEXT, ((0, 4), (4, 5), (6, 10)), np.array([7, 8, 7], np.int32))
    assert doc.kept_ids(np.array([True, False, True])).tolist() == [7, 7]
    assert doc.kept_ids(np.zeros(3, bool)).tolist() == []


def test_hiding_a_word_takes_all_its_pieces_and_leaves_special_tokens():
    # [CLS] go ##od film [SEP], and a last piece that two words share
    owners = np.array([[1, 0], [2, 0], [3, 1], [4, 2], [5, 2], [5, 3]], np.int32)
    doc = Doc("Good film x y", ((0, 4), (5, 9), (10, 11), (12, 13)), np.array([2, 11, 12, 13, 14, 15, 3]), 0, owners)
    before = doc.ids.copy()

    def kept(*hidden):
        return doc.kept_ids(np.array([word not in hidden for word in range(4)])).tolist()

    assert kept() == [2, 11, 12, 13, 14, 15, 3]
    assert kept(0) == [2, 13, 14, 15, 3]
    assert kept(1) == [2, 11, 12, 14, 15, 3]
    assert kept(3) == [2, 11, 12, 13, 14, 3]  # the shared piece goes with either of its words
    assert kept(2) == [2, 11, 12, 13, 3]
    assert kept(2, 3) == [2, 11, 12, 13, 3]
    assert kept(0, 1, 2, 3) == [2, 3]
    assert (doc.ids == before).all()


def test_a_word_without_pieces_can_be_hidden():
    doc = Doc("\x07 film", ((0, 1), (2, 6)), np.array([2, 11, 3]), 0, np.array([[1, 1]], np.int32))
    assert doc.kept_ids(np.array([False, True])).tolist() == [2, 11, 3]
    empty = Doc("", (), np.array([2, 3]), 0, np.zeros((0, 2), np.int32))
    assert empty.kept_ids(np.zeros(0, bool)).tolist() == [2, 3]


# Every method ---------------------------------------------------------------------------------------------

TEXTS = ["a lovely film", "", "qwertz", "Grüße, an awful film 👍🏽", "a lovely film"]


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_every_text_is_explained_in_order_with_a_score_a_word(fitted, method):
    explanations = fitted.explain(TEXTS, method=method)
    assert [e.text for e in explanations] == TEXTS
    for explanation in explanations:
        assert explanation.method == method
        assert len(explanation.words) == len(explanation.spans) == len(explanation.scores)
        assert explanation.words == tuple(explanation.text[start:end] for start, end in explanation.spans)
        assert np.isfinite(explanation.scores).all()
        assert explanation.target in fitted.classes_
    assert explanations[0] == explanations[-1]


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_a_method_explains_the_class_it_is_asked_for(fitted, method):
    predictor = fitted.predictor_
    docs = predictor.prepare(["a lovely film"])
    for target in (0, 1):
        (explanation,) = EXPLAINERS.get(method)().explain(predictor, docs, [target])
        assert explanation.target == predictor.labels[target]
        assert explanation.probability == pytest.approx(float(predictor.predict_docs(docs)[0, target]))


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_company_does_not_change_an_explanation(fitted, method):
    alone = fitted.explain(TEXTS[3], method=method)[0]
    among = fitted.explain([*TEXTS, " ".join(TEXTS)], method=method)[3]
    np.testing.assert_allclose(alone.scores, among.scores, atol=1e-6)
