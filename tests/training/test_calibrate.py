"""Calibration on dev: what is fitted, when nothing is, and what is said of it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError
from vmask.inference.calibration import COLDEST, HOTTEST, Calibration
from vmask.metrics.nll import negative_log_likelihoods
from vmask.training.calibrate import (
    BEFORE_EDIT,
    FEWEST_TEXTS,
    calibration_effect,
    describe_abstention,
    describe_calibration,
    effects_of,
    fit_calibration,
)

OPTIONS = {"embeddings": "random", "epochs": 3, "learning_rate": 0.02, "model__filters": 8, "device": "cpu"}


def drawn(count, temperature=1.0, bias=(0.0, 0.0, 0.0), seed=0):
    """Logits, and classes drawn from what they say once they are calibrated."""
    stream = np.random.default_rng(seed)
    logits = 4 * stream.normal(size=(count, len(bias)))
    powers = np.exp(logits / temperature + np.array(bias))
    shares = powers / powers.sum(1, keepdims=True)
    classes = np.array([stream.choice(len(bias), p=row) for row in shares])
    return logits.astype(np.float32), classes


def noisy(count, seed=0, wrong=0.2):
    """Toy texts, some of them with the other label."""
    texts, labels = toy_texts(count, seed)
    stream = random.Random(seed)
    other = {"pos": "neg", "neg": "pos"}
    return texts, [other[label] if stream.random() < wrong else label for label in labels]


@pytest.mark.parametrize("planted", [0.4, 1.0, 3.0])
def test_a_planted_temperature_is_found(planted):
    logits, classes = drawn(20_000, planted)
    assert fit_calibration(logits, classes).temperature == pytest.approx(planted, rel=0.05)


def test_a_planted_bias_is_found_with_its_temperature():
    planted = np.array([1.5, 0.0, -1.5])
    logits, classes = drawn(20_000, 2.0, planted)
    found = fit_calibration(logits, classes, with_bias=True)
    assert found.temperature == pytest.approx(2.0, rel=0.05)
    assert found.bias == pytest.approx(planted, abs=0.1)


def test_with_a_bias_the_mean_probability_of_a_class_is_its_share():
    logits, classes = drawn(3_000, 1.0)
    logits[:, 2] += 2.0  # as balanced weights do
    found = fit_calibration(logits, classes, with_bias=True)
    powers = np.exp(logits / found.temperature + np.array(found.bias))
    means = (powers / powers.sum(1, keepdims=True)).mean(0)
    assert means == pytest.approx(np.bincount(classes, minlength=3) / 3_000, abs=2e-3)


def test_the_temperature_is_the_best_one():
    logits, classes = drawn(500, 2.5)
    found = fit_calibration(logits, classes).temperature

    def nll(temperature):
        powers = np.exp(logits / temperature - (logits / temperature).max(1, keepdims=True))
        return negative_log_likelihoods(powers / powers.sum(1, keepdims=True), classes).mean()

    assert min((nll(t), t) for t in np.geomspace(0.1, 20, 2_000))[1] == pytest.approx(found, rel=0.02)


def test_a_model_without_a_mistake_is_not_made_certain():
    classes = np.arange(100) % 2
    logits = np.where(classes[:, None] == np.arange(2), 1.0, -1.0).astype(np.float32)
    found = fit_calibration(logits, classes)
    assert 1 / (1 + np.exp(-2 / found.temperature)) == pytest.approx(1 - 0.5 / 101, abs=1e-4)


def test_a_temperature_stays_in_its_range():
    classes = np.arange(100) % 2
    hopeless = np.where(classes[:, None] == np.arange(2), -1e4, 1e4).astype(np.float32)
    assert fit_calibration(hopeless, classes).temperature == HOTTEST
    weak = np.where(classes[:, None] == np.arange(2), 1e-4, -1e-4).astype(np.float32)
    assert fit_calibration(weak, classes).temperature == COLDEST


def test_the_effect_is_measured_before_and_after():
    logits, classes = drawn(5_000, 3.0)
    effect = calibration_effect(Calibration(3.0), logits, classes)
    assert effect["n"] == 5_000
    assert effect["accuracy_after"] == effect["accuracy_before"]
    assert effect["nll_after"] < 0.8 * effect["nll_before"]
    assert effect["calibration_error_after"] < 0.03 < effect["calibration_error_before"]


def test_a_training_calibrates_by_default_and_notes_it():
    dev = noisy(120, seed=1)
    fitted = TextClassifier(**OPTIONS).fit(*noisy(160), dev=dev)
    plain = TextClassifier(**OPTIONS, calibration="none").fit(*noisy(160), dev=dev)
    facts = fitted.about_["calibration"]
    assert fitted.predictor_.calibration == Calibration(facts["temperature"])
    assert plain.predictor_.calibration is None
    assert "calibration" not in plain.about_
    assert np.array_equal(fitted.predict(dev[0]), plain.predict(dev[0]))  # a temperature changes no class
    assert not np.array_equal(fitted.predict_proba(dev[0]), plain.predict_proba(dev[0]))
    codes = np.array([fitted.classes_.tolist().index(label) for label in dev[1]])
    for classifier, when in ((plain, "before"), (fitted, "after")):
        nll = negative_log_likelihoods(classifier.predict_proba(dev[0]), codes).mean()
        assert facts["on_dev"][f"nll_{when}"] == pytest.approx(nll, rel=1e-5)
    assert facts["on_dev"]["nll_after"] < facts["on_dev"]["nll_before"]


def test_balanced_class_weights_get_a_bias_of_each_class():
    texts, labels = noisy(400)
    rare = [row for row, label in enumerate(labels) if label == "neg" or row % 8 == 0]
    train = [texts[row] for row in rare], [labels[row] for row in rare]
    fitted = TextClassifier(**OPTIONS, class_weight="balanced", dev_fraction=0.4).fit(*train)
    facts = fitted.about_["calibration"]
    assert len(facts["bias"]) == 2
    assert facts["bias"][0] > 0 > facts["bias"][1]
    assert any("macro F1" in line for line in describe_calibration(facts))


@pytest.mark.parametrize(
    ("dev", "why"),
    [
        (noisy(FEWEST_TEXTS - 1), "fewer than 50"),
        ((["a lovely film"] * 60, ["pos"] * 60), "the same label"),
    ],
)
def test_too_little_dev_is_left_alone_and_said(dev, why):
    fitted = TextClassifier(**OPTIONS).fit(*noisy(100), dev=dev)
    assert fitted.predictor_.calibration is None
    assert why in fitted.about_["calibration"]["skipped"]
    assert why in describe_calibration(fitted.about_["calibration"])[0]


def test_a_class_without_dev_texts_gets_no_bias():
    texts, labels = noisy(120)
    three = [*labels[:100], *["other"] * 20]
    fitted = TextClassifier(**OPTIONS, class_weight="balanced").fit(texts, three, dev=noisy(60, seed=3))
    assert fitted.predictor_.calibration.bias == ()
    assert "some class has no dev text" in describe_calibration(fitted.about_["calibration"])[0]


def test_it_survives_a_folder_and_an_edit_which_says_when_it_was_fitted(tmp_path):
    fitted = TextClassifier(**OPTIONS).fit(*noisy(160), dev=noisy(120, seed=1))
    loaded = TextClassifier.load(fitted.save(tmp_path / "model"))
    assert loaded.predictor_.calibration == fitted.predictor_.calibration
    assert np.array_equal(loaded.predict_proba(["a lovely film"]), fitted.predict_proba(["a lovely film"]))
    assert "calibrated on dev: temperature" in (tmp_path / "model" / "README.md").read_text()
    edited = loaded.edit(hide=["lovely"])
    assert edited.predictor_.calibration == fitted.predictor_.calibration
    assert BEFORE_EDIT in describe_calibration(edited.about_["calibration"])[0]


def test_an_unknown_kind_is_refused_before_the_training():
    with pytest.raises(ConfigError, match="calibration is 'platt'"):
        TextClassifier(**OPTIONS, calibration="platt").fit(*toy_texts(40))


@pytest.mark.parametrize("facts", [None, 3, {}, {"temperature": "hot"}, {"on_dev": 1}, {"on_dev": {"n": "many"}}])
def test_facts_of_other_kinds_are_no_description(facts):
    assert describe_calibration(facts) == []
    assert effects_of(facts) == {}


# Abstention ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unsure():
    """A model of noisy texts, trained with a threshold, and its dev texts."""
    dev = noisy(400, seed=1, wrong=0.04)
    made = TextClassifier(**OPTIONS, abstain_accuracy=0.9).fit(*noisy(160, wrong=0.04), dev=dev)
    return made, dev


def test_a_model_trained_with_an_accuracy_has_its_threshold(unsure, tmp_path):
    classifier, dev = unsure
    facts = classifier.about_["abstention"]
    assert facts["threshold"] == classifier.predictor_.abstain_below == classifier.threshold_for(0.9)
    sure = classifier.predict_proba(dev[0]).max(1)
    right = classifier.predict(dev[0]) == np.array(dev[1])
    given = sure >= np.float32(facts["threshold"])
    assert facts["on_dev"] == {"n": 400, "answered": given.mean(), "accuracy": pytest.approx(right[given].mean())}
    assert any("of the texts answered" in line for line in describe_abstention(facts))
    loaded = TextClassifier.load(classifier.save(tmp_path / "model"))
    assert loaded.predictor_.abstain_below == facts["threshold"]
    assert loaded.threshold_for(0.9) == facts["threshold"]
    again = TextClassifier.load(loaded.save(tmp_path / "again"))
    assert np.array_equal(again.predictor_.dev_answers.confidence, classifier.predictor_.dev_answers.confidence)


def test_predict_leaves_out_what_it_is_asked_to(unsure):
    classifier, dev = unsure
    texts = [*dev[0][:20], "nothing of this is known"]
    sure = classifier.predict_proba(texts).max(1)
    middle = float(np.sort(sure)[10])
    answers, plain = classifier.predict(texts, abstain=middle), classifier.predict(texts)
    assert answers.dtype == object
    assert [answer is None for answer in answers] == (sure < np.float32(middle)).tolist()
    assert all(answer in (None, label) for answer, label in zip(answers, plain, strict=True))
    assert classifier.predict(texts, abstain=0.0).tolist() == plain.tolist()
    with pytest.raises(ConfigError, match="abstain is 80"):
        classifier.predict(texts, abstain=80)


def test_an_accuracy_out_of_reach_is_said_and_costs_no_training():
    made = TextClassifier(**OPTIONS, abstain_accuracy=0.999).fit(*noisy(100), dev=noisy(60, seed=1))
    assert made.predictor_.abstain_below is None
    assert "No threshold shows" in describe_abstention(made.about_["abstention"])[0]


def test_a_model_without_answers_to_dev_says_what_to_do():
    made = TextClassifier(**OPTIONS, calibration="none").fit(*noisy(60))
    with pytest.raises(ConfigError, match="Train it anew or set --abstain"):
        made.threshold_for(0.9)


@pytest.mark.parametrize("wanted", [0, -1, 1.5, "high"])
def test_a_wanted_accuracy_that_is_none_is_refused(wanted):
    with pytest.raises(ConfigError, match="abstain_accuracy"):
        TextClassifier(**OPTIONS, abstain_accuracy=wanted).fit(*toy_texts(40))


@pytest.mark.parametrize("facts", [None, 3, {}, {"threshold": "x", "wanted": 0.9}, {"threshold": 0.5}])
def test_facts_of_other_kinds_are_no_threshold(facts):
    assert describe_abstention(facts) == []
