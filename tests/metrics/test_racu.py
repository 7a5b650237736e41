"""RACU by hand, and what holds always."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import Game, doc_of, mixed
from linear import LinearWords, case_of
from toy import toy_texts
from vmask import Evaluation, evaluate
from vmask._core.random_streams import numpy_stream
from vmask.errors import ConfigError
from vmask.explain import EXPLAINERS
from vmask.metrics.contract import Facts
from vmask.metrics.racu import Racu, RacuOptions

FEW = {"lime": {"samples": 20}, "shapley": {"permutations": 2}, "integrated_gradients": {"steps": 2}}
FIRST_WORD = Game(lambda keep: keep[:, 0] * 1.0 if keep.shape[1] else np.zeros(len(keep)))
"""The second class as long as the first word is there, then the first class."""


def records(game, docs, scores, labels, hide="remove", **options):
    case = replace(case_of(game, docs, scores, hide=hide), labels=np.array(labels))
    return Racu(RacuOptions(**options)).measure(case)[""]


def test_one_text_by_hand():
    doc = doc_of(10)
    place = int(numpy_stream(0, "racu", doc.text).random((1, 10)).argsort(1).argsort(1)[0, 0])
    assert place == 5  # of the first word in the random order
    # right at 0% … 50%, wrong from 60% on: five whole steps and half of one
    best = records(FIRST_WORD, [doc], [range(10, 0, -1)], [1], orders=1)
    worst = records(FIRST_WORD, [doc], [range(10)], [1], orders=1)
    np.testing.assert_allclose(best, [[0.55 - 0.05, 0.55]])
    np.testing.assert_allclose(worst, [[0.55 - 0.95, 0.55]])
    assert Racu().statistic(best) == pytest.approx(0.5 / 0.55)
    assert Racu().statistic(worst) == pytest.approx(-0.4 / 0.55)


def test_the_random_curve_is_the_mean_over_orders():
    doc = doc_of(10)
    places = numpy_stream(0, "racu", doc.text).random((4, 10)).argsort(1).argsort(1)[:, 0]
    assert len(set(places)) > 1
    found = records(FIRST_WORD, [doc], [range(10)], [1], orders=4)
    np.testing.assert_allclose(found[0, 1], ((places + 0.5) / 10).mean())


def test_texts_that_are_wrong_at_first_count_against():
    """The area under a curve that rises from 0 to 1 is below its last value."""
    best = records(FIRST_WORD, [doc_of(10)], [range(10, 0, -1)], [0], orders=1)
    np.testing.assert_allclose(best, [[0.45 - 0.95, 0.45 - 1]])
    both = np.concatenate([best, records(FIRST_WORD, [doc_of(10)], [range(10, 0, -1)], [1], orders=1)])
    assert math.isnan(Racu().statistic(both))  # accuracy is one half throughout


@pytest.mark.parametrize(("words", "area"), [(1, 0.95), (2, None)])
def test_numbers_of_words_are_rounded_down(words, area):
    doc = doc_of(words)
    found = records(FIRST_WORD, [doc], [range(words)], [1], orders=1)[0]
    if area:  # its one word goes at 100% in any order
        np.testing.assert_allclose(found, [0, area])
    else:  # the first of two goes at 50%, the second at 100%
        assert found[1] == pytest.approx(0.45) or found[1] == pytest.approx(0.95)


def test_a_text_without_words_changes_nothing():
    found = records(FIRST_WORD, [doc_of(0), doc_of(10)], [[], range(10, 0, -1)], [0, 1])
    np.testing.assert_array_equal(found[0], [0, 0])
    assert Racu().statistic(found) == Racu().statistic(found[1:])


def test_the_statistic_by_hand():
    assert Racu().statistic(np.array([[0.3, 0.4], [-0.1, 0.4]])) == pytest.approx(0.25)
    assert Racu().statistic(np.array([[5.0, 0.1]])) == 10
    assert Racu().statistic(np.array([[-5.0, 0.1]])) == -10
    assert math.isnan(Racu().statistic(np.array([[0.1, 0.0]])))
    assert math.isnan(Racu().statistic(np.array([[0.1, -0.2]])))


def test_random_scores_are_near_0_and_the_truth_near_1():
    stream = np.random.default_rng(0)
    docs = [doc_of(10, f"w{number}x") for number in range(300)]
    random = records(FIRST_WORD, docs, stream.random((300, 10)), [1] * 300)
    truth = records(FIRST_WORD, docs, [range(10, 0, -1)] * 300, [1] * 300)
    assert Racu().statistic(random) == pytest.approx(0, abs=0.1)
    assert Racu().statistic(truth) == pytest.approx(0.9, abs=0.02)  # the first tenth is half of a step


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=6), st.integers(1, 5))
def test_the_company_of_a_text_makes_no_difference(texts, size):
    model = LinearWords({f"x{number}": (-1) ** number / (number + 12) for number in range(8)})
    docs = [doc_of(words) for words, _ in texts]
    scores = [np.random.default_rng([seed, words]).normal(size=words) for words, seed in texts]
    labels = [seed % 2 for _, seed in texts]
    together = records(model, docs, scores, labels)
    np.testing.assert_array_equal(together, records(model, docs[::-1], scores[::-1], labels[::-1])[::-1])
    parts = [
        records(model, docs[at : at + size], scores[at : at + size], labels[at : at + size])
        for at in range(0, len(docs), size)
    ]
    np.testing.assert_array_equal(together, np.concatenate(parts))


@given(st.lists(st.integers(-3, 3), max_size=9), st.integers(0, 1), st.sampled_from(["remove", "zero"]))
def test_values_are_in_range_and_only_the_order_of_scores_counts(scores, label, hide):
    game, docs = mixed(len(scores)), [doc_of(len(scores))]
    found = records(game, docs, [scores], [label], hide)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1).all()
    np.testing.assert_array_equal(found, records(game, docs, [np.exp(np.array(scores, float))], [label], hide))


def test_random_orders_are_asked_once_for_all_methods():
    model = LinearWords({"a": 0.2, "b": 0.1, "c": -0.1})
    docs = model.prepare(["a b c", "", "c b a b c"])
    case = replace(case_of(model, docs, [[3, 2, 1], [], [1, 2, 3, 4, 5]]), labels=np.array([1, 0, 1]))
    first = Racu().measure(case)[""]
    asked = len(model.asked)
    assert asked == 3 * 11 * (1 + 5)
    np.testing.assert_array_equal(Racu().measure(case)[""], first)
    assert len(model.asked) == asked + 3 * 11


def test_every_method_and_empty_texts(fitted, tmp_path):
    texts, labels = toy_texts(24, seed=5)
    data = (["", "lovely", *texts], ["neg", "pos", *labels])
    every = {name: FEW.get(name, {}) for name in EXPLAINERS.names()}
    found = evaluate(fitted, data, "racu", every)
    for name in EXPLAINERS.names():
        for hide in ("remove", "zero"):
            score = found.score("racu", name, hide)
            assert -10 <= score.value <= 10
            assert score.n == 26
    assert found.score("racu", "occlusion").value > found.score("racu", "random").value
    again = Evaluation.load(found.save(tmp_path / "evaluation"))
    key = ("racu", "lime", "remove", "")
    np.testing.assert_allclose(again.values(key)[0], found.values(key)[0], rtol=1e-6)
    assert [str(score) for score in again.scores] == [str(score) for score in found.scores]


def test_it_needs_labels(fitted):
    with pytest.raises(ConfigError, match="the texts have no labels"):
        evaluate(fitted, ["a lovely film"], "racu", "occlusion")


def test_options_and_facts():
    with pytest.raises(ConfigError, match="orders"):
        RacuOptions(orders=0)
    facts = Facts.read("racu")
    assert (facts.low, facts.high, facts.better) == (-10, 10, "higher")
    assert "word_dropout" in facts.limits
