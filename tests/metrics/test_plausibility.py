"""Words that people marked: token F1, IOU F1 and AUPRC, by hand and beside scikit-learn."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, f1_score, precision_recall_curve

from vmask.config import make
from vmask.errors import ConfigError
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.metrics import METRICS
from vmask.metrics._case import Case, Questions
from vmask.metrics._rationales import marked_words, runs
from vmask.metrics.contract import Facts
from vmask.metrics.iou_f1 import IouF1, iou

NAMES = ["token_f1", "iou_f1", "auprc"]


def doc_of(words, unseen=0):
    """A text of words with single spaces; the last `unseen` are behind the length limit."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1 if words else []
    spans = tuple((int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True))
    seen = spans[: len(spans) - unseen]
    return Doc(" ".join(words), seen, np.arange(len(seen), dtype=np.int32), unseen)


def case_of(*texts, rank="signed"):
    """A case of (doc, scores, marked spans) for each text."""
    docs = [doc for doc, _, _ in texts]
    explanations = [
        Explanation(doc.text, doc.words, doc.spans, tuple(scores), "pos", 1.0, "m") for doc, scores, _ in texts
    ]
    return Case(Questions(None, docs, ""), explanations, [0] * len(docs), rank, [spans for _, _, spans in texts])


def text(scores, marked, unseen=0):
    """A text of words `w0 w1 …` with scores, of which some numbers are marked, each by a span of its own."""
    doc = doc_of([f"w{number}" for number in range(len(scores) + unseen)], unseen)
    every = doc_of([f"w{number}" for number in range(len(scores) + unseen)]).spans
    return doc, scores, tuple(every[number] for number in marked)


def values(name, *texts, part="", rank="signed", **options):
    kind = METRICS.get(name)
    return kind(make(kind.Options, options)).measure(case_of(*texts, rank=rank))[part].tolist()


def value(name, scores, marked, part="", **options):
    return values(name, text(scores, marked), part=part, **options)[0]


# By hand --------------------------------------------------------------------------------------------------


def test_token_f1_by_hand():
    # marked 0 1 4; the top 3 are 0 2 1: two of three selected are marked, two of three marked are selected
    assert value("token_f1", [0.9, 0.5, 0.7, 0.1, 0.2], [0, 1, 4]) == pytest.approx(2 / 3)
    # a share of 0.2 selects 1 of 5: precision 1, recall 1/3, F1 = 2 * 1 * 1/3 / (4/3) = 1/2
    assert value("token_f1", [0.9, 0.5, 0.7, 0.1, 0.2], [0, 1, 4], share=0.2) == pytest.approx(0.5)
    # a share of 0.5 selects 2.5, so 3: again two of three
    assert value("token_f1", [0.9, 0.5, 0.7, 0.1, 0.2], [0, 1, 4], share=0.5) == pytest.approx(2 / 3)
    # all 5 are selected: precision 3/5, recall 1, F1 = 2 * 0.6 / 1.6 = 3/4
    assert value("token_f1", [0.9, 0.5, 0.7, 0.1, 0.2], [0, 1, 4], share=1.0) == pytest.approx(0.75)
    assert value("token_f1", [0.1, 0.2, 0.9], [0]) == 0.0


def test_iou_f1_by_hand():
    # selected 0 1 2 | 5 | 8, marked 0 1 | 5 6 | 9: IoU 2/3 and 1/2 match, 8 touches nothing
    # precision 2/3, recall 2/3
    scores = [9, 8, 7, 0, 0, 6, 0, 0, 5, 0]
    assert value("iou_f1", scores, [0, 1, 5, 6, 9]) == pytest.approx(2 / 3)
    # with a threshold of 0.6 only the first matches: 1/3 and 1/3
    assert value("iou_f1", scores, [0, 1, 5, 6, 9], threshold=0.6) == pytest.approx(1 / 3)
    # one run 0 … 3 selected (share 0.4); marked 1 2 | 8: IoU 2/4 matches, precision 1/1, recall 1/2, F1 = 1 / 1.5
    assert value("iou_f1", [4, 3, 2, 1, 0, 0, 0, 0, 0, 0], [1, 2, 8], share=0.4) == pytest.approx(2 / 3)
    # selected 0 | 2, marked 0 1 2: IoU 1/3 each, nothing matches
    assert value("iou_f1", [9, 0, 8], [0, 1, 2], share=0.6) == 0.0


def test_a_predicted_span_that_matches_counts_once_and_the_recall_is_never_above_one():
    # selected 0 1 | 3 4, marked 0 … 4: IoU 2/5 each; at 0.4 two predicted spans match one marked span
    assert value("iou_f1", [9, 8, 0, 7, 6], [0, 1, 2, 3, 4], share=0.8, threshold=0.4) == 1.0


def test_auprc_by_hand():
    # in order: hit, miss, hit. Points (recall, precision): (0, 1) (1/2, 1) (1/2, 1/2) (1, 2/3)
    # lines: 1/2 * 1 + 1/2 * (1/2 + 2/3) / 2 = 1/2 + 7/24 = 19/24; steps: 1/2 * 1 + 1/2 * 2/3 = 5/6
    scores, marked = [0.9, 0.5, 0.4, 0.1], [0, 2]
    assert value("auprc", scores, marked) == pytest.approx(19 / 24)
    assert value("auprc", scores, marked, part="average precision") == pytest.approx(5 / 6)


def test_equal_scores_are_taken_together():
    # one hit, then three words with one score, one of them marked: (0, 1) (1/2, 1) (1, 2/4)
    # lines: 1/2 + 1/2 * 3/4 = 7/8; steps: 1/2 + 1/2 * 1/2 = 3/4, wherever among the three the hit stands
    for hit in (1, 2, 3):
        assert value("auprc", [0.9, 0.2, 0.2, 0.2], [0, hit]) == pytest.approx(7 / 8)
        assert value("auprc", [0.9, 0.2, 0.2, 0.2], [0, hit], part="average precision") == pytest.approx(3 / 4)


def test_an_explanation_that_says_nothing_has_what_the_file_tells():
    # all in one step: (0, 1) (1, 1/4)
    assert value("auprc", [0.3] * 8, [1, 6]) == pytest.approx((1 + 1 / 4) / 2)
    assert value("auprc", [0.3] * 8, [1, 6], part="average precision") == pytest.approx(1 / 4)


def test_ties_of_a_selection_go_to_the_earlier_word():
    assert value("token_f1", [0.5, 0.5, 0.5], [0]) == 1.0
    assert value("token_f1", [0.5, 0.5, 0.5], [2]) == 0.0


def test_the_order_is_that_of_the_case():
    assert values("token_f1", text([-0.9, 0.1], [0])) == [0.0]
    for name in NAMES:
        assert values(name, text([-0.9, 0.1], [0]), rank="absolute") == [1.0]


# Which words are marked -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spans", "wanted"),
    [
        ([(0, 4)], [1, 0, 0]),
        ([(0, 5)], [1, 0, 0]),  # up to the space behind the word
        ([(0, 6)], [1, 1, 0]),  # one character of the next
        ([(3, 4)], [1, 0, 0]),  # the last character of a word
        ([(4, 5)], [0, 0, 0]),  # a space
        ([(4, 10)], [0, 1, 0]),
        ([(6, 8)], [0, 1, 0]),  # within a word
        ([(0, 1), (13, 14)], [1, 0, 1]),
        ([(0, 7), (5, 9)], [1, 1, 0]),  # spans overlap
        ([(0, 14)], [1, 1, 1]),
        ([], [0, 0, 0]),
    ],
)
def test_a_word_is_marked_where_it_shares_a_character_with_a_span(spans, wanted):
    doc = doc_of(["good", "clean", "fun"])  # (0, 4) (5, 10) (11, 14)
    assert marked_words(doc, tuple(spans)).tolist() == [bool(one) for one in wanted]


def test_characters_are_those_of_the_text():
    doc = doc_of(["naïve", "😀", "fun"])
    assert marked_words(doc, ((6, 7),)).tolist() == [False, True, False]


def test_runs_are_as_long_as_they_get():
    assert runs(np.array([1, 1, 0, 1, 0, 0, 1], bool)) == [(0, 2), (3, 4), (6, 7)]
    assert runs(np.ones(3, bool)) == [(0, 3)]
    assert runs(np.zeros(3, bool)) == runs(np.zeros(0, bool)) == []


def test_iou_of_spans():
    assert iou((0, 2), (0, 2)) == 1
    assert iou((0, 2), (1, 4)) == 1 / 4
    assert iou((0, 2), (2, 4)) == 0
    assert iou((0, 2), (5, 9)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_text_without_a_marked_word_has_no_value(name):
    empty = (doc_of([]), [], ())
    found = values(name, text([0.1, 0.9], []), empty, text([0.1, 0.9], [1]))
    assert np.isnan(found[:2]).all()
    assert found[2] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_where_all_words_are_marked_every_order_is_right(name):
    assert value(name, [0.3, 0.1, 0.2], [0, 1, 2]) == 1.0
    assert value(name, [0.1], [0]) == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_words_behind_the_length_limit_do_not_count(name):
    # w1 is marked and seen; w3 and w4 are marked and not seen
    assert values(name, text([0.1, 0.9, 0.5], [1, 3, 4], unseen=2)) == [1.0]
    assert np.isnan(values(name, text([0.1, 0.9, 0.5], [4], unseen=2))).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_span_over_the_length_limit_counts_as_far_as_it_is_seen(name):
    doc = doc_of(["a", "b", "c", "d"], unseen=2)  # seen (0, 1) (2, 3)
    assert values(name, (doc, [0.1, 0.9], ((2, 7),))) == [1.0]


def test_a_share_is_rounded_up_as_it_is_written():
    # 0.07 * 100 is 7.000000000000001: not eight words but seven, all marked, of ten marked
    found = value("token_f1", list(range(100, 0, -1)), list(range(10)), share=0.07)
    assert found == pytest.approx(2 * 0.7 / 1.7)
    assert value("token_f1", [3, 2, 1], [0], share=0.01) == 1.0


# Beside scikit-learn --------------------------------------------------------------------------------------

scored = st.integers(1, 24).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(-4, 4), min_size=size, max_size=size),
        st.lists(st.booleans(), min_size=size, max_size=size),
    )
)


@given(scored)
def test_scikit_learn_agrees(given_text):
    scores, marks = given_text
    if not any(marks):
        return
    marked = np.flatnonzero(marks).tolist()
    precision, recall, _ = precision_recall_curve(marks, scores)
    assert value("auprc", scores, marked) == pytest.approx(auc(recall, precision))
    assert value("auprc", scores, marked, part="average precision") == pytest.approx(
        average_precision_score(marks, scores)
    )
    chosen = np.zeros(len(marks), bool)
    chosen[np.argsort(-np.array(scores), kind="stable")[: sum(marks)]] = True
    assert value("token_f1", scores, marked) == pytest.approx(f1_score(marks, chosen))


def reference_iou(scores, marks, threshold=0.5):
    """IOU F1 by sets of words, straight from the definition."""
    top = set(np.argsort(-np.array(scores), kind="stable")[: sum(marks)].tolist())

    def spans(words):
        groups, last = [], None
        for word in sorted(words):
            if last is None or word != last + 1:
                groups.append(set())
            groups[-1].add(word)
            last = word
        return groups

    predicted, true = spans(top), spans(set(np.flatnonzero(marks).tolist()))
    hits = sum(any(len(p & t) / len(p | t) >= threshold for t in true) for p in predicted)
    precision, recall = hits / len(predicted), hits / len(true)
    return 0.0 if not hits else 2 * precision * recall / (precision + recall)


@given(scored)
def test_sets_of_words_agree(given_text):
    scores, marks = given_text
    if any(marks):
        assert value("iou_f1", scores, np.flatnonzero(marks).tolist()) == pytest.approx(reference_iou(scores, marks))


# What always holds ----------------------------------------------------------------------------------------


@given(scored, st.sampled_from(NAMES), st.sampled_from([None, 0.1, 0.5, 1.0]))
def test_values_are_in_range_and_rescaling_changes_nothing(given_text, name, share):
    scores, marks = given_text
    options = {} if name == "auprc" else {"share": share}
    marked = np.flatnonzero(marks).tolist()
    found = value(name, scores, marked, **options)
    assert np.isnan(found) if not marked else 0 <= found <= 1
    rescaled = [3 * score**3 - 5 for score in scores]
    assert np.array_equal(value(name, rescaled, marked, **options), found, equal_nan=True)


@given(st.lists(scored, min_size=1, max_size=5), st.randoms())
def test_each_text_is_measured_by_itself(some, random):
    texts = [text(scores, np.flatnonzero(marks).tolist()) for scores, marks in some]
    order = list(range(len(texts)))
    random.shuffle(order)
    for name in NAMES:
        found = values(name, *texts)
        shuffled = values(name, *(texts[number] for number in order))
        assert np.array_equal(shuffled, [found[number] for number in order], equal_nan=True)


@given(scored)
def test_selecting_just_what_people_marked_is_perfect(given_text):
    _, marks = given_text
    if any(marks):
        for name in NAMES:
            assert value(name, [float(mark) for mark in marks], np.flatnonzero(marks).tolist()) == pytest.approx(1)


@given(scored)
def test_spans_that_are_cut_in_two_mark_the_same(given_text):
    scores, marks = given_text
    doc, _, spans = text(scores, np.flatnonzero(marks).tolist())
    joined = runs(np.array(marks, bool))
    long = tuple((doc.spans[first][0], doc.spans[last - 1][1]) for first, last in joined)
    assert all(one[1] < other[0] for one, other in pairwise(long))
    for name in NAMES:
        assert np.array_equal(values(name, (doc, scores, spans)), values(name, (doc, scores, long)), equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_told_where_nobody_marked_words(name):
    metric = METRICS.get(name)()
    assert metric.unfit(SimpleNamespace(rationales=None, planted=False)) == "the dataset has no human rationales"
    assert "planted" in metric.unfit(SimpleNamespace(rationales=[()], planted=True))
    assert metric.unfit(SimpleNamespace(rationales=[()], planted=False)) == ""


@pytest.mark.parametrize("name", NAMES)
def test_its_file_says_what_it_is(name):
    facts = Facts.read(name)
    assert (facts.low, facts.high, facts.better) == (0, 1, "higher")
    assert "plausible is not faithful" in facts.limits.lower() or "token_f1" in facts.limits


@pytest.mark.parametrize("options", [{"share": 0.0}, {"share": 1.1}, {"threshold": 0.0}, {"threshold": 1.5}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        make(IouF1.Options, options)
