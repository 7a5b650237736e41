"""Predictions from a few words beside those from the whole text: known answers, floors by hand, a trained model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from predictors import random_text, word_predictor
from toy import BAD, GOOD, toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError
from vmask.inference.black_box import BlackBox
from vmask.inference.contract import BasePredictor, Doc
from vmask.metrics import METRICS, post_hoc_accuracy
from vmask.metrics.contract import Facts, Subject
from vmask.metrics.post_hoc_accuracy import PostHocAccuracy, PostHocOptions, _kept, _tfidf


class Adding(BasePredictor):
    """Words between spaces, each with a weight: the sum above 0 is class 1, else class 0.

    A hidden word adds nothing, but for `unk`, where it adds `unknown`.
    """

    labels = ("neg", "pos")

    def __init__(self, weights, importance=None, unknown=0.0):
        self.weights = weights
        self.unknown = unknown
        self.asked = []
        self.ranks_words = importance is not None
        if importance is not None:
            self.mask_scores = lambda docs: [
                np.array([importance.get(word.lower(), 0.0) for word in doc.words], np.float32) for doc in docs
            ]

    def prepare(self, texts):
        docs = []
        for text in texts:
            words = text.split(" ") if text else []
            ends = np.cumsum([len(word) + 1 for word in words], dtype=int) - 1
            spans = tuple((int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True))
            docs.append(Doc(text, spans, np.zeros(0, np.int32)))
        return docs

    def predict_kept(self, docs, keep, hide="remove"):
        answers = []
        for doc, rows in zip(docs, keep, strict=True):
            self.asked += [tuple(word for word, kept in zip(doc.words, row, strict=True) if kept) for row in rows]
            values = np.array([self.weights.get(word.lower(), 0.0) for word in doc.words])
            totals = np.where(rows, values, self.unknown if hide == "unk" else 0.0).sum(1)
            answers.append(np.stack([totals <= 0, totals > 0], 1).astype(np.float32))
        return answers

    def predict_docs(self, docs):
        return np.concatenate(self.predict_kept(docs, [np.ones((1, len(doc.spans)), bool) for doc in docs]))


def subject_of(predictor, texts, sample=None, **more):
    """Texts as they are predicted; all of them are the sample."""
    sample = np.arange(len(texts)) if sample is None else np.array(sample, np.int64)
    return Subject(predictor, texts, None, predictor.predict_docs(predictor.prepare(texts)), sample, **more)


def found(subject, k=10):
    """(K, N) values of every ranking and way of hiding."""
    metric, curves = PostHocAccuracy(PostHocOptions(k)), {}
    assert metric.unfit(subject) == ""
    for series in metric.measure(subject):
        curve = curves.setdefault((series.by, series.hide), [])
        curve.append(series.values)
        assert series.part == f"k={len(curve)}"
        assert series.over == "sample"
        assert series.values.dtype == np.float64
    assert all(len(curve) == k for curve in curves.values())
    return {key: np.array(curve) for key, curve in curves.items()}


def kept_by(by, text, k, counted=(), **more):
    """The words that are kept of a text, for each k."""
    predictor = Adding({}, {})
    subject = subject_of(predictor, [text], counted=counted, **more)
    predictor.asked.clear()
    rankings = list(dict.fromkeys(series.by for series in PostHocAccuracy(PostHocOptions(k)).measure(subject)))
    start = rankings.index(by) * k
    return predictor.asked[start : start + k]


# Known answers ------------------------------------------------------------------------------------------------


def test_one_word_is_enough_where_one_word_decides():
    texts = ["the plot is good", "the plot is thin", "good", "so so", "a very good one"]
    curves = found(subject_of(Adding({"good": 1.0}, {"good": 0.9, "the": 0.1}), texts))
    assert (curves["mask", "remove"] == 1).all()


def test_a_ranking_with_the_word_last_finds_it_last():
    texts = ["good a b c"] * 3 + ["a b"]
    curves = found(subject_of(Adding({"good": 1.0}, {"a": 0.5, "b": 0.4, "c": 0.3, "good": 0.1}), texts))
    assert curves["mask", "remove"].mean(1).tolist() == [0.25] * 3 + [1.0] * 7


def test_sums_of_words_have_a_closed_form():
    """+3 -2 -2 in that order: the sign is that of the whole (below 0) once all three are there."""
    predictor = Adding({"p": 3.0, "m": -2.0, "n": -2.0}, {"p": 0.9, "m": 0.8, "n": 0.7})
    curves = found(subject_of(predictor, ["p m n", "m n", "p m", "p x m"]), 4)
    assert curves["mask", "remove"].T.tolist() == [[0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]


@given(st.lists(st.sampled_from("abcdefgh"), max_size=9), st.integers(0, 5), st.integers(1, 8))
def test_it_is_the_sign_of_the_sum_of_the_top_words(words, seed, k):
    random = np.random.default_rng(seed)
    weights = dict(zip("abcdefgh", random.normal(size=8), strict=True))
    importance = dict(zip("abcdefgh", random.integers(0, 4, 8) / 4, strict=True))  # with ties
    curve = found(subject_of(Adding(weights, importance), [" ".join(words)]), k)["mask", "remove"]
    first = sorted(range(len(words)), key=lambda place: (-importance[words[place]], place))
    whole = sum(weights[word] for word in words) > 0
    expected = [(sum(weights[words[place]] for place in first[:count]) > 0) == whole for count in range(1, k + 1)]
    assert curve[:, 0].tolist() == expected


def test_what_a_hidden_word_leaves_behind_matters():
    predictor = Adding({"good": 1.0}, {"good": 0.9}, unknown=-1.0)
    curves = found(subject_of(predictor, ["good a b", "good"], hides=("remove", "unk")), 3)
    assert curves["mask", "remove"].tolist() == [[1, 1]] * 3
    assert curves["mask", "unk"].tolist() == [[0, 1], [0, 1], [1, 1]]
    assert ("majority", "") in curves
    assert ("majority", "unk") not in curves


# Which words are kept -----------------------------------------------------------------------------------------


def test_a_word_that_stands_three_times_counts_three_times_and_order_is_kept():
    kept = kept_by("ranking", "x Good y good z good w", 5, ranking={"good": 0.9, "z": 0.5})
    assert kept == [
        ("Good",),
        ("Good", "good"),
        ("Good", "good", "good"),
        ("Good", "good", "z", "good"),
        ("x", "Good", "good", "z", "good"),
    ]


def test_unknown_words_of_a_ranking_come_last_by_position():
    kept = kept_by("ranking", "u low v high", 4, ranking={"low": -5.0, "high": 2.0})
    assert kept == [("high",), ("low", "high"), ("u", "low", "high"), ("u", "low", "v", "high")]


def test_ties_go_to_the_earlier_position():
    assert [row.tolist() for row in _kept([np.array([0.5, 0.7, 0.5, 0.7])], 3)[0]] == [
        [False, True, False, False],
        [False, True, False, True],
        [True, True, False, True],
    ]


def test_a_given_ranking_takes_the_place_of_the_models_own():
    predictor = Adding({"good": 1.0}, {"a": 0.9})
    curves = found(subject_of(predictor, ["a good"], ranking={"good": 1.0}), 1)
    assert {by for by, _ in curves} == {"ranking", "random", "frequency", "tfidf", "majority"}
    assert curves["ranking", "remove"].tolist() == [[1.0]]
    assert found(subject_of(predictor, ["a good"]), 1)["mask", "remove"].tolist() == [[0.0]]


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
def test_a_short_text_is_kept_whole_and_an_empty_one_agrees(build, hide):
    texts = ["", "w1", random_text(4)]
    curves = found(subject_of(word_predictor(build, "cnn", "vmask"), texts, hides=(hide,)))
    for by in ("mask", "random", "frequency", "tfidf"):
        assert (curves[by, hide][3:] == 1).all()
        assert (curves[by, hide][:, 0] == 1).all()


# Floors -------------------------------------------------------------------------------------------------------


def test_frequent_words_come_first():
    counted = ["the the the film", "the film the good", "film"]  # the 5, film 3, good 1
    kept = kept_by("frequency", "rare good Film the", 4, counted)
    assert kept == [("the",), ("Film", "the"), ("good", "Film", "the"), ("rare", "good", "Film", "the")]


def test_the_weights_of_tfidf_are_those_of_scikit_learn():
    texts = ["the film the end", "a good film", "the good the bad the ugly", "unheard of"]
    predictor = Adding({})
    subject = subject_of(predictor, texts, counted=texts[:3])
    theirs = TfidfVectorizer(norm=None, token_pattern=r"\S+").fit(texts[:3])
    for doc in predictor.prepare(texts[:3]):
        row = theirs.transform([doc.text]).toarray()[0]
        assert _tfidf(doc, subject.frequencies) == pytest.approx([row[theirs.vocabulary_[word]] for word in doc.words])
    (unheard,) = predictor.prepare(["unheard of"])
    assert _tfidf(unheard, subject.frequencies) == pytest.approx([np.log(4) + 1] * 2)


def test_tfidf_counts_what_stands_often_here_and_seldom_elsewhere():
    counted = ["the plot", "the cast", "the end", "odd"]
    kept = kept_by("tfidf", "the plot odd the odd", 3, counted)
    # odd: 2 (ln(5/2) + 1) = 3.83; the: 2 (ln(5/4) + 1) = 2.45; plot: ln(5/2) + 1 = 1.92
    assert kept == [("odd",), ("odd", "odd"), ("the", "odd", "odd")]


def test_random_places_hang_on_seed_and_text_alone():
    texts = [random_text(12, seed) for seed in range(6)]
    first = [kept_by("random", text, 3) for text in texts]
    assert first == [kept_by("random", text, 3) for text in texts]
    assert first != [kept_by("random", text, 3, seed=1) for text in texts]
    for rows in first:
        assert [len(row) for row in rows] == [1, 2, 3]
    alike = [kept_by("random", f"a0 a1 a2 a3 {name}", 1)[0][0][:2] for name in "bcdefghi"]
    assert len(set(alike)) > 1  # texts of the same length have places of their own


def test_every_place_is_drawn_alike():
    drawn = [int(kept_by("random", "a0 a1 a2 a3", 1, seed=seed)[0][0][1]) for seed in range(400)]
    assert np.bincount(drawn, minlength=4) == pytest.approx([100] * 4, abs=35)  # four standard errors


def test_the_majority_is_that_of_all_texts():
    texts = ["good", "good a", "good b", "x", "y"]
    curves = found(subject_of(Adding({"good": 1.0}, {}), texts, sample=[0, 3, 4]), 3)
    assert curves["majority", ""].tolist() == [[1, 0, 0]] * 3  # class 1 is the most common of all, not of the sample


def test_a_constant_model_scores_1_by_any_ranking():
    curves = found(subject_of(Adding({}, {}), [random_text(20, seed) for seed in range(4)]))
    assert all((curve == 1).all() for curve in curves.values())


# Independence -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 3])
def test_company_makes_no_difference(build, monkeypatch, chunk):
    texts = [random_text(length, length) for length in range(0, 30, 3)]
    predictor = word_predictor(build, "cnn", "vmask")
    whole = found(subject_of(predictor, texts, hides=("remove", "zero"), counted=texts))
    monkeypatch.setattr(post_hoc_accuracy, "CHUNK", chunk)
    apart = found(subject_of(predictor, texts, hides=("remove", "zero"), counted=texts))
    some = found(subject_of(predictor, texts, [2, 5, 9], hides=("remove", "zero"), counted=texts))
    for key, curve in whole.items():
        assert np.array_equal(curve, apart[key])
        assert np.array_equal(curve[:, [2, 5, 9]], some[key])


def test_a_smaller_k_is_the_beginning_of_a_larger(build):
    subject = subject_of(word_predictor(build, "lstm", "vmask"), [random_text(15, seed) for seed in range(5)])
    more, fewer = found(subject, 8), found(subject, 3)
    assert all(np.array_equal(more[key][:3], fewer[key]) for key in more)


def test_half_a_character_and_no_texts_at_all():
    predictor = Adding({"good": 1.0}, {"good": 1.0})
    assert (found(subject_of(predictor, ["good \ud83d"]))["mask", "remove"] == 1).all()
    nothing = Subject(predictor, [], None, np.zeros((0, 2), np.float32), np.zeros(0, np.int64))
    assert found(nothing, 2)["mask", "remove"].shape == (2, 0)


# What it asks of a model --------------------------------------------------------------------------------------


def test_a_model_without_a_ranking_needs_one_of_another(build):
    metric = PostHocAccuracy()
    plain = BlackBox(lambda texts: [[len(text) % 2, 1 - len(text) % 2] for text in texts])
    for predictor in (plain, word_predictor(build, "cnn", "base")):
        subject = subject_of(predictor, ["w1 w2 w3", "w4"], hides=("remove", "unk"))
        assert (
            metric.unfit(subject)
            == "the model gives words no importance; that of another can be given (ranking, --ranking DIR)"
        )
        lent = dataclasses.replace(subject, ranking={"w3": 1.0})
        assert found(lent, 3)["ranking", "unk"].shape == (3, 2)


def test_two_words_are_shown():
    assert PostHocAccuracy().shown == "k=2"
    assert PostHocAccuracy(PostHocOptions(1)).shown == "k=1"
    with pytest.raises(ConfigError, match="k is 0"):
        PostHocOptions(0)
    facts = Facts.read("post_hoc_accuracy")
    assert (facts.low, facts.high, facts.better) == (0, 1, "higher")
    assert METRICS.get("post_hoc_accuracy") is PostHocAccuracy


# Trained models -----------------------------------------------------------------------------------------------


def test_the_mask_of_a_trained_model_finds_the_word_that_decides():
    """The label of a toy text hangs on one word."""
    texts, labels = toy_texts(160)
    small = {"embeddings": "random", "model__filters": 12, "mask__hidden": 20}
    predictor = TextClassifier(**small, epochs=30, learning_rate=0.01, seed=1).fit(texts, labels).predictor_
    subject = subject_of(predictor, toy_texts(60, seed=5)[0], hides=("remove", "zero"), counted=texts)
    curves = found(subject)
    importance = {word.word: word.score for word in predictor.word_importance()}
    assert set(list(importance)[:10]) == {*GOOD, *BAD}
    lent = found(dataclasses.replace(subject, ranking=importance))
    for hide in ("remove", "zero"):
        assert (curves["mask", hide] == 1).all()
        assert 0.4 < curves["random", hide][0].mean() < 0.8
        assert 0.4 < curves["frequency", hide][0].mean() < 0.7
        assert np.array_equal(curves["mask", hide], lent["ranking", hide])  # the mask of a word is that of its type
    assert curves["majority", ""].mean() == 0.5


def test_the_pieces_of_an_encoder_come_as_words(fitted_encoder):
    texts, _ = toy_texts(6, seed=5)
    subject = subject_of(fitted_encoder().predictor_, [*texts, ""], hides=("remove", "mask"))
    curves = found(subject, 15)
    assert (curves["mask", "mask"][-1] == 1).all()
    assert (curves["mask", "remove"][-1] == 1).all()
