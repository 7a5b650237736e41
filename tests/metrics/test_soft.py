"""Soft comprehensiveness and sufficiency: chances and values by hand, and what holds always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import doc_of, mixed
from linear import LinearWords, case_of
from predictors import piece_predictor, random_text, word_predictor
from vmask._core.random_streams import numpy_stream
from vmask.errors import ConfigError
from vmask.metrics import METRICS
from vmask.metrics._soft import SoftOptions, chances
from vmask.metrics.contract import Facts

BOTH = ["soft_comprehensiveness", "soft_sufficiency"]
SCORES = st.lists(st.floats(-3, 3), min_size=0, max_size=9)


def measured(name, case, **options):
    kind = METRICS.get(name)
    return kind(kind.Options(**options)).measure(case)[""]


def only(name, weights, text, scores, hide="remove", **options):
    model = LinearWords(weights)
    return measured(name, case_of(model, model.prepare([text]), [scores], hide=hide), **options)[0]


@pytest.mark.parametrize(
    ("scores", "rate", "wanted"),
    [
        ([1, 0, 0, 0], 0.5, [1, 1 / 3, 1 / 3, 1 / 3]),
        ([7, 3], 0.5, [1, 0]),
        ([0, 1], 0.25, [0, 0.5]),
        ([0, 1], 0.75, [0.5, 1]),
        ([0, 2, 4], 0.5, [0, 0.5, 1]),
        ([0, 2, 4], 0.3, [0, 0.2, 0.7]),
        ([5, 5, 5], 0.2, [0.2, 0.2, 0.2]),
        ([-4], 0.3, [0.3]),
        ([], 0.3, []),
    ],
)
def test_chances_by_hand(scores, rate, wanted):
    assert chances(np.array(scores, float), rate).tolist() == pytest.approx(wanted, abs=1e-9)


@given(SCORES.filter(bool), st.floats(0.01, 0.99))
def test_the_mean_chance_is_the_rate_whatever_the_scores(scores, rate):
    values = np.round(np.array(scores, float), 3)  # smaller differences are lost beside 100
    found = chances(values, rate)
    assert found.mean() == pytest.approx(rate, abs=1e-9)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(values)]) >= 0).all()
    # larger scores throughout do not select more words
    np.testing.assert_allclose(chances(4 * values + 100, rate), found, rtol=0, atol=1e-6)


def test_scores_that_are_right_and_wrong_for_certain():
    for hide in ("remove", "zero", "mask", "unk"):
        for name in BOTH:
            assert only(name, {"a": 0.4}, "a b", [1, 0], hide) == pytest.approx(1)
            assert only(name, {"a": 0.4}, "a b", [0, 1], hide) == pytest.approx(0)


@pytest.mark.parametrize("name", BOTH)
def test_equal_scores_are_a_matter_of_chance(name):
    draws = numpy_stream(0, "soft", "a b").random((40, 2))
    for rate in (0.3, 0.5):
        share = (draws[:, 0] < rate).mean()  # how often the one word that counts is selected
        assert only(name, {"a": 0.4}, "a b", [2, 2], rate=rate, draws=40) == pytest.approx(share)
        alone = (numpy_stream(0, "soft", "a").random((40, 1))[:, 0] < rate).mean()
        for score in (-1, 0, 3):
            assert only(name, {"a": 0.4}, "a", [score], rate=rate, draws=40) == pytest.approx(alone)


def test_with_many_draws_an_additive_model_gives_the_mean_of_the_chances():
    weights = {"a": 0.2, "b": 0.1, "c": 0.05, "d": 0.15}
    scores = [3, 1, 0, 2]
    chance = chances(np.array(scores, float), 0.4)
    share = (np.array(list(weights.values())) * chance).sum() / 0.5
    for name in BOTH:
        assert only(name, weights, "a b c d", scores, rate=0.4, draws=4000) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("name", BOTH)
def test_texts_without_a_value_do_not_disturb_others(name):
    model = LinearWords({"a": 0.4, "n": -0.2})
    docs = model.prepare(["", "a b", "n", "b b", " "])
    values = measured(name, case_of(model, docs, [[], [1, 0], [1], [1, 0], []]))
    # no words; fine; the class is more probable without words; no word counts
    assert np.isnan(values).tolist() == [True, False, True, True, True]
    assert values[1] == pytest.approx(1)


@given(SCORES, st.integers(0, 1), st.sampled_from(["remove", "zero"]), st.floats(0.05, 0.95))
def test_values_are_in_range(scores, target, hide, rate):
    for name in BOTH:
        case = case_of(mixed(len(scores)), [doc_of(len(scores))], [scores], target, hide)
        (value,) = measured(name, case, rate=rate, draws=3)
        assert np.isnan(value) or 0 <= value <= 1


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=6), st.integers(1, 5))
def test_the_company_of_a_text_makes_no_difference(texts, size):
    model = LinearWords({f"x{number}": (-1) ** number / (number + 12) for number in range(8)})
    docs = [doc_of(words) for words, _ in texts]
    scores = [np.random.default_rng([seed, words]).normal(size=words) for words, seed in texts]
    for name in BOTH:
        together = measured(name, case_of(model, docs, scores))
        turned = measured(name, case_of(model, docs[::-1], scores[::-1]))
        np.testing.assert_array_equal(together, turned[::-1])
        parts = [
            measured(name, case_of(model, docs[at : at + size], scores[at : at + size]))
            for at in range(0, len(docs), size)
        ]
        np.testing.assert_array_equal(together, np.concatenate(parts))


@pytest.mark.parametrize("hide", ["remove", "zero"])
def test_real_models(build, build_encoder, hide):
    for model in (word_predictor(build, "cnn", "vmask"), piece_predictor(build_encoder, "bert", "vmask")):
        docs = model.prepare([random_text(7), "", random_text(1), random_text(12)])
        case = case_of(model, docs, [np.arange(len(doc.spans)) for doc in docs], hide=hide)
        for name in BOTH:
            values = measured(name, case)
            assert np.isnan(values[1])
            assert ((values >= 0) & (values <= 1) | np.isnan(values)).all()


@pytest.mark.parametrize("options", [{"rate": 0}, {"rate": 1}, {"rate": 1.5}, {"draws": 0}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        SoftOptions(**options)


@pytest.mark.parametrize("name", BOTH)
def test_the_files_say_what_they_are(name):
    facts = Facts.read(name)
    assert (facts.low, facts.high, facts.better) == (0, 1, "higher")
    assert "do not compare" in facts.limits
