"""Whether new texts still look like those of the training."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from predictors import piece_predictor
from toy import toy_texts
from vmask import TextClassifier
from vmask.evaluation.drift import drift_of
from vmask.inference.text_profile import DEV_PROFILE, Mean, TextProfile, _ratio, profile_of

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")


@pytest.fixture(scope="module")
def classifier():
    texts, labels = toy_texts(400)
    made = TextClassifier(embeddings="random", epochs=6, learning_rate=0.01, model__filters=8)
    return made.fit(texts, labels, dev=toy_texts(120, seed=77))  # a dev set cut off keeps copies of a text together


def drifted(classifier, texts, labels=None, about=None):
    return drift_of(classifier.predictor_, classifier.about_ if about is None else about, texts, labels)


def test_texts_of_the_same_kind_do_not_drift(classifier):
    found = drifted(classifier, toy_texts(300, seed=5)[0])
    assert not [change for change in found.changes if change.real]
    assert found.summary.startswith("These 300 texts look like the training data: ")
    assert found.words == ()


def test_new_words_are_counted_and_named(classifier):
    texts = [f"{text} refund refund voucher" for text in toy_texts(200)[0]]
    found = drifted(classifier, texts)
    change = next(change for change in found.changes if change.what == "unknown words")
    words = sum(len(doc.spans) for doc in classifier.predictor_.prepare(texts))
    assert found.new.words == words
    assert change.now == pytest.approx(600 / words)
    assert change.real
    assert change.low < change.now - change.before < change.high
    assert found.unknown_words[:2] == (("refund", 400), ("voucher", 200))
    assert (found.new.unknown_types, change.before) == (2, 0.0)
    assert f"{600 / words:.1%} of their words are unknown to the model (0.0% on dev)" in found.summary
    assert "the most frequent new words: refund, voucher" in found.summary


def test_answers_that_become_more_frequent(classifier):
    texts, labels = toy_texts(400)
    only = [text for text, label in zip(texts, labels, strict=True) if label == "pos"]
    found = drifted(classifier, only)
    share = (classifier.predict(only) == "pos").mean()
    change = next(change for change in found.changes if change.what == "label pos")
    assert change.now == pytest.approx(share)
    assert change.real
    assert f"it answers 'pos' more often ({share:.0%} against {change.before:.0%})" in found.summary


def test_texts_of_another_kind_are_said_to_be_different(classifier):
    found = drifted(classifier, ["refund voucher refund"] * 50 + ["awful"] * 50)
    assert found.summary.startswith("These 100 texts do not look like the training data: ")
    assert " less often" not in found.summary


def test_important_words_that_become_more_frequent(classifier):
    top = classifier.word_importance(1, min_count=3)[0].word
    found = drifted(classifier, [f"{text} {top}" for text in toy_texts(300)[0]])
    assert found.words[0].word == top
    assert found.words[0].now > found.words[0].before


def test_labels_give_an_accuracy_with_its_interval(classifier):
    texts, labels = toy_texts(100, seed=9)
    found = drifted(classifier, texts, labels, {**classifier.about_, "test_accuracy": 0.9, "test_n": 200})
    value, low, high = found.accuracy
    assert value == classifier.score(texts, labels)
    assert low <= value <= high
    assert found.test_accuracy[0] == 0.9
    assert found.to_dict()["accuracy"]["value"] == value
    some = drifted(classifier, texts, ["?", *labels[1:]])
    assert (some.other_labels, some.accuracy[0]) == (1, pytest.approx(value, abs=0.011))
    none = drifted(classifier, texts, ["0"] * 100)
    assert (none.other_labels, none.accuracy) == (100, None)


def test_a_model_without_a_record_says_what_cannot_be_compared(classifier):
    for about in ({}, {DEV_PROFILE: "?"}, {DEV_PROFILE: {**classifier.about_[DEV_PROFILE], "predicted": [1]}}):
        found = drifted(classifier, toy_texts(100)[0], about=about)
        assert found.dev is None
        assert found.changes == ()
        assert "keeps no record of its dev texts" in found.summary


def test_few_texts_say_nothing(classifier):
    assert "2 texts are too few" in drifted(classifier, ["awful", "refund"]).summary
    assert drifted(classifier, []) is None


def test_a_profile_survives_the_folder_and_refuses_damage(classifier, tmp_path):
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    record = loaded.about_[DEV_PROFILE]
    assert TextProfile.from_dict(record).to_dict() == record == classifier.about_[DEV_PROFILE]
    assert not any(isinstance(value, str) for value in record.values())
    for bad in ({}, [], None, {**record, "texts": 0}, {**record, "unknown": {"value": math.nan, "error": 0}}):
        with pytest.raises(ValueError, match=r"profile|numbers"):
            TextProfile.from_dict(bad)
    assert DEV_PROFILE not in classifier.edit(hide=["awful"]).about_


def test_the_error_of_a_ratio_is_that_of_drawing_texts():
    draw = random.Random(0)
    sizes = [draw.randint(1, 30) for _ in range(300)]
    parts = [draw.randint(0, size) for size in sizes]
    found = _ratio(parts, sizes)
    random_numbers = np.random.default_rng(0)
    drawn = random_numbers.integers(0, 300, (4000, 300))
    ratios = np.array(parts)[drawn].sum(1) / np.array(sizes)[drawn].sum(1)
    assert found.value == sum(parts) / sum(sizes)
    assert found.error == pytest.approx(ratios.std(), rel=0.05)
    assert _ratio([], []) == Mean(0.0, 0.0)


def test_false_alarms_are_rare(classifier):
    """Of samples of the dev texts' own kind, about one in twenty may be called different."""
    alarms = 0
    for seed in range(40):
        found = drifted(classifier, toy_texts(60, seed=100 + seed)[0])
        alarms += any(change.p < 0.05 for change in found.changes)
    assert alarms <= 6


def test_words_of_pieces_are_unknown_if_the_training_had_none(build_encoder):
    predictor = piece_predictor(build_encoder, "bert", "base")
    predictor.table = predictor.tabulate(["good film", "good plot"])
    found = profile_of(predictor, ["good film", "Strange good strange"])
    assert dict(found.unknown) == {"strange": 2}
    assert (found.profile.words, found.profile.types, found.profile.unknown.value) == (5, 3, 0.4)
    assert drift_of(predictor, {}, ["strange"] * 40).summary.startswith("100.0% of the words of these 40 texts are new")
