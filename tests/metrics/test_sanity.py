"""Sanity checks by random weights: correlations by hand and beside scipy, and what real methods get."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from games import Game, doc_of
from linear import case_of
from linear import explained as explanation
from toy import toy_texts
from vmask import TextClassifier, evaluate
from vmask.errors import ConfigError
from vmask.explain import EXPLAINERS
from vmask.metrics.contract import Facts
from vmask.metrics.sanity import Sanity, correlation

FEW = {"lime": {"samples": 20}, "shapley": {"permutations": 2}, "integrated_gradients": {"steps": 2}}


def explained(*texts):
    """Explanations of texts given as scores of their words."""
    return [explanation(doc_of(len(scores)), scores) for scores in texts]


def measured(first, rank="signed", **depths):
    docs, scores = [doc_of(len(one.scores)) for one in first], [one.scores for one in first]
    case = replace(case_of(Game(None), docs, scores, rank=rank), randomized=lambda: depths)
    return {part: values.tolist() for part, values in Sanity().measure(case).items()}


def test_correlations_by_hand():
    first = explained([1, 2, 3, 4], [1, 2, 3])
    found = measured(first, head=first, all=explained([4, 3, 2, 1], [1, 3, 2]))
    assert found == {"head": pytest.approx([1, 1]), "all": pytest.approx([1, 0.5])}
    # ties are averaged: 1, 2.5, 2.5 beside 1, 2, 3
    assert measured(explained([0, 5, 5]), all=explained([1, 2, 3]))["all"] == pytest.approx([math.sqrt(3) / 2])


def test_absolute_ranks_compare_sizes():
    first, random = explained([1, -2, 3, -4]), explained([1, 2, 3, 4])
    assert measured(first, all=random)["all"] == pytest.approx([0.4])
    assert measured(first, rank="absolute", all=random)["all"] == pytest.approx([1])


def test_texts_without_a_value():
    found = measured(
        explained([], [1], [1, 2], [1, 1, 1], [1, 2, 3]), all=explained([], [2], [3, 1], [1, 2, 3], [0] * 3)
    )
    assert np.isnan(found["all"]).all()


@given(st.integers(3, 20).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-3, 3), min_size=n, max_size=n)] * 2)))
def test_scipy_agrees_and_rescaling_changes_nothing(pair):
    first, second = (np.array(row, float) for row in pair)
    value = correlation(first, second)
    if np.ptp(first) and np.ptp(second):
        assert value == pytest.approx(abs(spearmanr(first, second).statistic), abs=1e-12)
        assert 0 <= value <= 1 + 1e-12
    else:
        assert math.isnan(value)
    assert correlation(first**3 * 4 + 1, second) == pytest.approx(value, nan_ok=True)


@pytest.fixture(scope="module")
def found(fitted):
    texts = ["", "lovely", *toy_texts(12, seed=9)[0]]
    every = {name: FEW.get(name, {}) for name in EXPLAINERS.names()}
    return evaluate(fitted, texts, "sanity", every)


@pytest.mark.parametrize("name", EXPLAINERS.names())
def test_every_method_is_measured_at_every_depth(found, name):
    for part in ("head", "encoder", "mask", "all"):
        (values,) = found.values(("sanity", name, "", part))
        assert np.isnan(values[:2]).all()
        assert np.isfinite(values[2:]).any()
        assert np.nanmax(values) <= 1 + 1e-9


def test_what_does_not_look_at_the_weights_stays_the_same(found):
    for part in ("head", "encoder"):  # a mask has weights of its own
        assert found.score("sanity", "mask", part=part).value == pytest.approx(1)
    for part in ("head", "encoder", "mask", "all"):
        assert found.score("sanity", "random", part=part).value == pytest.approx(1)


def test_what_looks_at_the_weights_does_not(found):
    assert found.score("sanity", "mask").part == "all"
    for name in ("mask", "occlusion", "integrated_gradients"):
        assert found.score("sanity", name).value < 0.8


def test_values_depend_on_neither_order_nor_batch(fitted, found):
    texts = ["", "lovely", *toy_texts(12, seed=9)[0]]
    turned = evaluate(fitted, texts[::-1], "sanity", "occlusion,mask", batch_size=3)
    for key in found.measured():
        if key[1] in ("occlusion", "mask"):
            np.testing.assert_allclose(found.values(key)[0], turned.values(key)[0][::-1], rtol=0, atol=1e-5)


def test_a_mask_without_weights_has_no_depth_of_its_own(toy):
    base = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=4).fit(*toy)
    parts = {key[3] for key in evaluate(base, toy[0][:4], "sanity", "occlusion").measured()}
    assert parts == {"head", "encoder", "all"}


def test_encoders_are_checked_too(fitted_encoder):
    found = evaluate(fitted_encoder(), toy_texts(4)[0], "sanity", "occlusion,mask")
    assert found.score("sanity", "mask", part="encoder").value == pytest.approx(1)
    assert found.score("sanity", "occlusion").value < 1


def test_a_plain_function_has_no_weights():
    def half(texts):
        return np.full((len(texts), 2), 0.5)

    with pytest.raises(ConfigError, match="weights of the model are not known"):
        evaluate(half, ["a b c"], "sanity", "occlusion")
    notes = evaluate(half, ["a b c", "d e f"], "all,-naopc", "occlusion").notes
    assert any(note.startswith("sanity is left out, because the weights") for note in notes)


def test_weights_are_drawn_only_where_it_is_asked_for(fitted, monkeypatch):
    monkeypatch.setattr(type(fitted.predictor_), "randomized", None)
    evaluate(fitted, ["a lovely film"], "aopc", "occlusion")


def test_the_cost_is_said(fitted, caplog):
    with caplog.at_level("INFO", logger="vmask"):
        evaluate(fitted, ["a lovely film"], "sanity", "occlusion")
    assert "sanity: every method explains 1 text 4 more times, with random weights" in caplog.text


def test_its_file_says_what_it_is():
    facts = Facts.read("sanity")
    assert (facts.low, facts.high, facts.better, facts.family) == (0, 1, "lower", "sanity")
