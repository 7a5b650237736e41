"""Leakage of the class through the places of selected words: probes by hand, and what holds always."""

from __future__ import annotations

import math

import numpy as np
import pytest

from games import Game, doc_of
from linear import explained
from toy import toy_texts
from vmask import Evaluation, evaluate
from vmask._core.random_streams import numpy_stream
from vmask.errors import ConfigError
from vmask.explain import EXPLAINERS
from vmask.metrics._case import Case, Questions
from vmask.metrics.contract import Facts
from vmask.metrics.leakage import Leakage, LeakageOptions

FEW = {"lime": {"samples": 20}, "shapley": {"permutations": 2}, "integrated_gradients": {"steps": 2}}


def case_of(docs, scores, targets):
    game = Game(None)
    given = [explained(doc, row, target=target) for doc, row, target in zip(docs, scores, targets, strict=True)]
    return Case(Questions(game, docs, ""), given, list(targets))


def measured(docs, scores, targets, **options):
    metric = Leakage(LeakageOptions(**options))
    found = metric.combine(metric.measure(case_of(docs, scores, targets))[""])
    return found, metric.statistic(found)


def texts(number, words=10):
    return [doc_of(words, f"w{count}x") for count in range(number)]


def test_what_the_probe_sees_by_hand():
    docs = [doc_of(10), doc_of(4), doc_of(0), doc_of(1)]
    scores = [[0, 0, 0, 9, 0, 0, 0, 0, 8, 0], [1, 2, 3, 4], [], [5]]
    metric = Leakage(LeakageOptions(percent=20, bins=5, folds=3))
    found = metric.measure(case_of(docs, scores, [1, 0, 1, 1]))[""]
    folds = [numpy_stream(0, "leakage", doc.text).integers(3) for doc in docs]
    # of ten words places 3 and 8, bins 1 and 4; of four words, rounded up, the last, 3 * 5 // 4; one word is in bin 0
    np.testing.assert_allclose(found[0], [folds[0], 1, 0, 0.5, 0, 0, 0.5, math.log(10)])
    np.testing.assert_allclose(found[1], [folds[1], 0, 0, 0, 0, 1, 0, math.log(4)])
    assert np.isnan(found[2]).all()
    np.testing.assert_allclose(found[3], [folds[3], 1, 1, 0, 0, 0, 0, 0])


def test_places_that_tell_the_class_leak_all_of_it():
    docs, targets = texts(60), [number % 2 for number in range(60)]
    scores = [np.arange(10) if target else -np.arange(10) for target in targets]
    found, value = measured(docs, scores, targets)
    np.testing.assert_array_equal(found, [[target, 1] for target in targets])
    assert value == 0.5


def test_three_classes_leak_two_thirds():
    docs, targets = texts(90), [number % 3 for number in range(90)]
    scores = [np.eye(10)[3 * target] for target in targets]
    game = Game(None)
    game.labels = ("a", "b", "c")
    given = [explained(doc, row, game.labels, target) for doc, row, target in zip(docs, scores, targets, strict=True)]
    metric = Leakage(LeakageOptions(percent=10))
    found = metric.combine(metric.measure(Case(Questions(game, docs, ""), given, targets))[""])
    assert metric.statistic(found) == pytest.approx(2 / 3)


def test_random_places_leak_nothing():
    stream = np.random.default_rng(1)
    docs, targets = texts(400), stream.integers(0, 2, 400).tolist()
    _, value = measured(docs, stream.random((400, 10)), targets)
    assert abs(value) < 0.08


def test_a_rare_class_counts_as_much_as_a_common_one():
    """A constant guess is no leak, however common the class."""
    stream = np.random.default_rng(1)
    targets = [int(number % 10 == 0) for number in range(300)]
    _, value = measured(texts(300), stream.random((300, 10)), targets)
    assert abs(value) < 0.2


def test_the_length_is_seen():
    docs = [doc_of(20 if number % 2 else 5, f"w{number}x") for number in range(60)]
    stream = np.random.default_rng(1)
    _, value = measured(docs, [stream.random(len(doc.spans)) for doc in docs], [n % 2 for n in range(60)])
    assert value == 0.5


def test_the_statistic_by_hand():
    statistic = Leakage().statistic
    assert statistic(np.array([[0, 1], [0, 0], [1, 1]], float)) == pytest.approx(0.25)
    assert statistic(np.array([[0, 0], [1, 0]], float)) == -0.5
    assert statistic(np.array([[0, 1], [np.nan, np.nan], [2, 1]], float)) == 0.5
    assert math.isnan(statistic(np.array([[1, 1], [1, 1]], float)))
    assert math.isnan(statistic(np.zeros((0, 2))))


@pytest.mark.parametrize("number", [1, 2, 3, 12])
def test_few_texts_and_one_class(number):
    found, value = measured(texts(number), [range(10)] * number, [1] * number)
    assert math.isnan(value)
    assert (found[:, 0] == 1).all()
    _, value = measured(texts(number), [range(10)] * number, [n % 2 for n in range(number)])
    assert math.isnan(value) or -0.5 <= value <= 0.5


def test_texts_without_words_and_of_one_word():
    docs = [doc_of(n % 2, f"w{n}x") for n in range(30)]
    found, value = measured(docs, [range(n % 2) for n in range(30)], [n % 3 % 2 for n in range(30)])
    assert np.isnan(found[::2]).all()
    assert np.isfinite(found[1::2]).all()
    assert -0.5 <= value <= 0.5


def test_equal_texts_are_never_on_both_sides():
    """A probe that saw the text itself would know its class."""
    docs = [doc_of(10)] * 40
    metric = Leakage()
    folds = metric.measure(case_of(docs, [range(10)] * 40, [0, 1] * 20))[""][:, 0]
    assert len(set(folds)) == 1


def test_neither_order_nor_batch_changes_a_value():
    stream = np.random.default_rng(2)
    docs, scores, targets = texts(80), stream.random((80, 10)), stream.integers(0, 2, 80)
    found, _ = measured(docs, scores, targets)
    order = stream.permutation(80)
    turned, _ = measured([docs[i] for i in order], scores[order], targets[order])
    np.testing.assert_array_equal(turned, found[order])
    metric = Leakage()
    parts = [
        metric.measure(case_of(docs[at : at + 7], scores[at : at + 7], targets[at : at + 7]))[""]
        for at in range(0, 80, 7)
    ]
    np.testing.assert_array_equal(metric.combine(np.concatenate(parts)), found)


def test_every_method_and_empty_texts(fitted, tmp_path):
    data = ["", "lovely", *toy_texts(40, seed=5)[0]]
    every = {name: FEW.get(name, {}) for name in EXPLAINERS.names()}
    found = evaluate(fitted, data, "leakage", every)
    for name in EXPLAINERS.names():
        score = found.score("leakage", name)
        assert -1 <= score.value <= 1
        assert score.n == 41  # the empty text has no value
    again = Evaluation.load(found.save(tmp_path / "evaluation"))
    key = ("leakage", "lime", "", "")
    np.testing.assert_array_equal(again.values(key)[0], found.values(key)[0])


@pytest.mark.parametrize("options", [{"percent": 0}, {"percent": 101}, {"bins": 0}, {"folds": 1}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        LeakageOptions(**options)


def test_its_file_says_what_it_is():
    facts = Facts.read("leakage")
    assert (facts.low, facts.high, facts.better, facts.family) == (-1, 1, "lower", "sanity")
