"""Which texts are shown of two models, and how."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.report.comparison import choose, pairs_of

LABELS = ["neg", "pos"]


def chosen(a, b, labels, true, *most):
    """`choose` by what is most probable."""
    return choose(a, b, *([labels[best] for best in side.argmax(1)] for side in (a, b)), true, *most)


def of_pos(*values):
    """(N, 2) probabilities with these for `pos`."""
    pos = np.array(values, np.float32)
    return np.stack([1 - pos, pos], 1)


def test_every_kind_of_text_is_shown_those_first_on_which_the_models_are_furthest_apart():
    a = of_pos(0.9, 0.6, 0.2, 0.1, 0.9, 0.8)
    b = of_pos(0.4, 0.1, 0.8, 0.2, 0.8, 0.6)
    true = ["pos", "pos", "pos", "pos", "pos", "pos"]
    numbers, groups = chosen(a, b, LABELS, true)
    assert list(zip(numbers, groups, strict=True)) == [
        (0, "only A is right"),
        (1, "only A is right"),
        (2, "only B is right"),
        (3, "both are wrong"),
        (5, "both are right"),
        (4, "both are right"),
    ]


def test_without_labels_texts_on_which_they_differ_come_first():
    numbers, groups = chosen(of_pos(0.9, 0.9, 0.1), of_pos(0.8, 0.3, 0.1), LABELS, None)
    assert (numbers, groups) == ([1, 0, 2], ["they differ", "they agree", "they agree"])


def test_a_class_that_no_model_knows_is_wrong_for_both():
    assert chosen(of_pos(0.9), of_pos(0.1), LABELS, ["other"]) == ([0], ["both are wrong"])


@given(st.integers(0, 60), st.integers(0, 12), st.integers(0, 100))
def test_as_many_as_there_is_room_for_none_twice_and_room_shared(n, most, seed):
    stream = np.random.default_rng(seed)
    a, b = of_pos(*stream.random(n)), of_pos(*stream.random(n))
    true = [LABELS[one] for one in stream.integers(0, 2, n)]
    numbers, groups = chosen(a.reshape(n, 2), b.reshape(n, 2), LABELS, true, most)
    assert len(numbers) == len(set(numbers)) == min(n, most)
    sizes = dict.fromkeys(chosen(a.reshape(n, 2), b.reshape(n, 2), LABELS, true, n)[1], 0)
    for group in chosen(a.reshape(n, 2), b.reshape(n, 2), LABELS, true, n)[1]:
        sizes[group] += 1
    shown = {group: groups.count(group) for group in sizes}
    # A group has fewer than another only where it has no more texts, or by the last one that there was room for.
    for one in sizes:
        for other in sizes:
            assert shown[one] == sizes[one] or shown[one] >= shown[other] - 1


def test_each_model_explains_its_own_prediction_by_what_it_has(fitted, fitted_encoder, toy):
    base = fitted_encoder("bert", "base")
    texts, labels = toy[0][:9], toy[1][:9]
    pairs = pairs_of(fitted, base, texts, labels, {"mask": {}, "lime": {"samples": 20}}, hide="remove", seed=3)
    assert sorted(pair.text for pair in pairs) == sorted(texts)
    for pair in pairs:
        assert (list(pair.a.explanations), list(pair.b.explanations)) == (["mask", "lime"], ["lime"])
        number = texts.index(pair.text)
        assert pair.true == labels[number]
        for seen, model in ((pair.a, fitted), (pair.b, base)):
            probabilities = model.predict_proba([pair.text])[0]
            assert seen.probability == pytest.approx(probabilities.max(), abs=1e-6)
            assert seen.label == model.classes_[probabilities.argmax()]
            (alone,) = model.explain(pair.text, "lime", samples=20, seed=3)
            assert seen.explanations["lime"].target == seen.label
            assert seen.explanations["lime"].scores == pytest.approx(alone.scores, abs=1e-6)
