"""Texts are chosen by rule."""

from __future__ import annotations

import numpy as np

from vmask._core.random_streams import numpy_stream
from vmask.report.model.collect import KINDS, choose, rule


def by_kind(chosen):
    return {kind: [row for one, row in chosen if one == kind] for kind in KINDS}


def test_the_first_right_and_wrong_of_a_fixed_order_then_the_least_sure():
    n = 200
    texts = [f"text {at}" for at in range(n)]
    right, sure = np.arange(n) % 3 > 0, np.linspace(0.9, 0.4, n)
    found = by_kind(choose(texts, right, sure))
    order = numpy_stream(0, "model_report").permutation(n).tolist()
    assert found["right"] == [row for row in order if row % 3 > 0][:7]
    assert found["wrong"] == [row for row in order if row % 3 == 0][:7]
    others = [row for row in range(n - 1, -1, -1) if row not in found["right"] + found["wrong"]]
    assert found["unsure"] == others[:6]


def test_the_choice_does_not_look_at_how_sure_the_model_is_of_right_and_wrong_ones():
    texts = [f"text {at}" for at in range(60)]
    right = np.arange(60) % 2 > 0
    one, other = (by_kind(choose(texts, right, sure)) for sure in (np.linspace(0, 1, 60), np.linspace(1, 0, 60)))
    assert one["right"] == other["right"]
    assert one["wrong"] == other["wrong"]
    assert one["unsure"] != other["unsure"]


def test_ties_go_to_the_earlier_text():
    texts = [f"text {at}" for at in range(30)]
    found = by_kind(choose(texts, np.ones(30, bool), np.full(30, 0.5)))
    assert found["unsure"] == sorted(set(range(30)) - set(found["right"]))[:6]


def test_fewer_where_there_are_fewer():
    assert choose([], np.zeros(0, bool), np.zeros(0)) == []
    found = by_kind(choose(["a", "b", "c"], np.array([True, True, False]), np.ones(3)))
    assert (len(found["right"]), len(found["wrong"]), found["unsure"]) == (2, 1, [])


def test_no_text_is_shown_twice():
    texts = ["same"] * 20 + ["other"] * 20
    chosen = choose(texts, np.ones(40, bool), np.linspace(0, 1, 40))
    assert sorted(texts[row] for _, row in chosen) == ["other", "same"]


def test_the_rule_is_said_with_its_numbers():
    said = rule("dev", 1234)
    assert "All 1,234 dev texts" in said
    assert "the first 7 that the model classifies correctly, the first 7 that it gets wrong" in said
    assert "the 6 whose predicted class has the lowest probability" in said
