"""How concentrated scores are: known answers, bounds, and what must not matter."""

from __future__ import annotations

from math import isnan, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from predictors import random_text, word_predictor
from vmask.errors import ConfigError
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.metrics import METRICS
from vmask.metrics._case import Case, Questions
from vmask.metrics.contract import Facts
from vmask.metrics.sparsity import Sparsity, SparsityOptions

OF_ALL = ("entropy", "gini", "top")


def case_of(*texts, method="lime", rank="signed"):
    """Texts with these scores, of words that do not matter."""
    docs, explanations = [], []
    for scores in texts:
        spans = tuple((2 * i, 2 * i + 1) for i in range(len(scores)))
        text = "w " * len(scores)
        docs.append(Doc(text, spans, np.zeros(0, np.int32)))
        explanations.append(Explanation(text, docs[-1].words, spans, tuple(scores), "pos", 0.9, method))
    return Case(Questions(None, docs, ""), explanations, [0] * len(docs), rank)


def measured(*scores, k=5, **more):
    """Every part of one text."""
    found = Sparsity(SparsityOptions(k)).measure(case_of(scores, **more))
    return {part: values[0] for part, values in found.items()}


# Known answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [2, 3, 10])
def test_equal_scores_are_not_sparse_at_all(words):
    found = measured(*[-0.3, 0.3] * words, k=1)
    assert found == pytest.approx({"entropy": 1, "gini": 0, "top": 1 / (2 * words)})


@pytest.mark.parametrize("words", [2, 3, 10])
def test_one_word_alone_is_as_sparse_as_can_be(words):
    found = measured(*[0.0] * (words - 1), -2.0)
    assert found == pytest.approx({"entropy": 0, "gini": (words - 1) / words, "top": 1})


def test_three_words_by_hand():
    found = measured(1.0, -4.0, 3.0, k=2)  # shares 1/8, 1/2, 3/8
    by_hand = (log(8) / 8 + log(2) / 2 + 3 * log(8 / 3) / 8) / log(3)
    distances = 2 * (3 + 2 + 1) / 9  # of all ordered pairs, the mean
    assert found == pytest.approx({"entropy": by_hand, "gini": distances / (2 * 8 / 3), "top": 7 / 8})


def test_a_mask_has_its_own_two():
    found = measured(0.5, 1.0, 0.0, 0.25, method="mask")
    quarter = 0.25 * 2 + 0.75 * np.log2(4 / 3)
    assert found["kept"] == pytest.approx(1.75 / 4)
    assert found["uncertainty"] == pytest.approx((1 + quarter) / 4)
    assert set(measured(0.5, 1.0)) == set(OF_ALL)
    open_mask = measured(0.5, 0.5, 0.5, method="mask")
    assert (open_mask["kept"], open_mask["uncertainty"], open_mask["entropy"]) == pytest.approx((0.5, 1, 1))


# Texts without an answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [(), (0.0, 0.0, 0.0), (0.0,)])
def test_no_words_and_no_scores_have_no_sparsity(scores):
    assert all(isnan(value) for value in measured(*scores).values())


def test_a_mask_that_keeps_nothing_still_keeps_nothing():
    found = measured(0.0, 0.0, method="mask")
    assert (found["kept"], found["uncertainty"]) == (0, 0)
    assert isnan(found["entropy"])
    assert all(isnan(value) for value in measured(method="mask").values())


def test_one_word_is_both_extremes_at_once():
    found = measured(0.7)
    assert isnan(found["entropy"])
    assert (found["gini"], found["top"]) == (0, 1)


def test_a_text_without_a_value_leaves_the_others_alone():
    found = Sparsity().measure(case_of((), (1.0, 1.0), (0.0,), (0.0, 3.0)))
    assert found["entropy"] == pytest.approx([np.nan, 1, np.nan, 0], nan_ok=True)
    assert found["gini"] == pytest.approx([np.nan, 0, np.nan, 0.5], nan_ok=True)


# Properties -----------------------------------------------------------------------------------------------------

SCORES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30)
MASKS = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30)


@given(SCORES)
def test_all_lie_between_0_and_1(scores):
    assert all(isnan(value) or 0 <= value <= 1 for value in measured(*scores).values())


@given(MASKS)
def test_those_of_masks_too(scores):
    found = measured(*scores, method="mask")
    assert all(isnan(value) or 0 <= value <= 1 for value in found.values())
    assert found["kept"] == pytest.approx(np.mean(scores))


@given(SCORES, st.sampled_from([1e-3, -0.5, 7.0, -1e4]), st.randoms(use_true_random=False))
def test_neither_scale_nor_sign_nor_order_matters(scores, factor, random):
    assume(not any(0 < abs(score) < 1e-200 for score in scores))  # these would vanish
    before = measured(*scores)
    changed = [factor * score for score in scores]
    random.shuffle(changed)
    assert measured(*changed) == pytest.approx(before, abs=1e-9, nan_ok=True)
    assert measured(*scores, rank="absolute") == pytest.approx(before, abs=1e-9, nan_ok=True)


@given(SCORES)
def test_definitions_of_others_agree(scores):
    """Entropy as scipy has it; Gini as half the mean distance of pairs by the mean, and by formula of the curve."""
    strengths = np.abs(scores)
    assume(len(scores) > 1 and strengths.sum() > 0)
    found = measured(*scores, k=3)
    assert found["entropy"] == pytest.approx(scipy_entropy(strengths) / log(len(scores)), abs=1e-9)
    distance = np.abs(strengths[:, None] - strengths).mean()
    assert found["gini"] == pytest.approx(distance / (2 * strengths.mean()), abs=1e-9)
    n, ordered = len(scores), np.sort(strengths) / strengths.sum()
    curve = 1 - 2 * sum(ordered[i] * (n - (i + 1) + 0.5) / n for i in range(n))  # Hurley and Rickard 2009
    assert found["gini"] == pytest.approx(curve, abs=1e-9)
    assert found["top"] == pytest.approx(sum(sorted(strengths)[-3:]) / strengths.sum())


@given(SCORES)
def test_taking_from_the_rich_makes_less_sparse(scores):
    strengths = sorted(map(abs, scores))
    assume(len(scores) > 1 and strengths[-1] > strengths[0])
    tenth = (strengths[-1] - strengths[0]) / 10
    fairer = [strengths[0] + tenth, *strengths[1:-1], strengths[-1] - tenth]
    before, after = measured(*strengths), measured(*fairer)
    assert after["gini"] <= before["gini"] + 1e-9
    assert after["entropy"] >= before["entropy"] - 1e-9


# A model ----------------------------------------------------------------------------------------------------------


def test_explanations_of_a_model_end_to_end(build):
    predictor = word_predictor(build, "cnn", "vmask")
    texts = [random_text(length) for length in (0, 1, 5, 20)]
    docs = predictor.prepare(texts)
    for method in ("mask", "lime", "occlusion"):
        explained = list(explain_texts(predictor, texts, method))
        whole = Sparsity().measure(Case(Questions(predictor, docs, ""), explained, [0] * 4))
        assert ("kept" in whole) == ("uncertainty" in whole) == (method == "mask")
        for number in range(4):
            alone = Case(Questions(predictor, docs[number : number + 1], ""), explained[number : number + 1], [0])
            for part, values in Sparsity().measure(alone).items():
                assert values == pytest.approx([whole[part][number]], nan_ok=True)


def test_what_it_says_of_itself():
    assert not Sparsity.hides
    assert Sparsity().shown == "entropy"
    assert Sparsity().options.k == 5
    with pytest.raises(ConfigError, match="k is 0"):
        SparsityOptions(0)
    facts = Facts.read("sparsity")
    assert (facts.low, facts.high, facts.better) == (0, 1, "neither")
    assert METRICS.get("sparsity") is Sparsity
