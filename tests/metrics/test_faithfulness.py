"""Metrics that hide words in the order of an explanation: by hand, by closed form, and what holds always."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import Game, doc_of, mixed
from linear import LinearWords, case_of
from predictors import random_text, word_predictor
from vmask.errors import ConfigError
from vmask.metrics import METRICS
from vmask.metrics._shares import ShareOptions, SoftShareOptions, counts, scaled
from vmask.metrics.aopc import Aopc
from vmask.metrics.comprehensiveness import Comprehensiveness
from vmask.metrics.contract import Facts
from vmask.metrics.decision_flip import DecisionFlip
from vmask.metrics.log_odds import LogOdds
from vmask.metrics.prob_drop import ProbDrop
from vmask.metrics.sufficiency import Sufficiency

ALL = ["aopc", "prob_drop", "comprehensiveness", "sufficiency", "log_odds", "decision_flip"]
WEIGHTS = {"a": 0.2, "b": -0.1, "c": 0.15, "d": 0.05, "e": 0.0, "f": 0.08, "g": -0.02, "h": 0.01}


def linear(text="a b c d e f g h", **options):
    """A case of a linear model in which the scores are the weights, and the weights from the greatest on."""
    model = LinearWords(WEIGHTS)
    (doc,) = model.prepare([text])
    scores = [WEIGHTS[word] for word in doc.words]
    return case_of(model, [doc], [scores], **options), np.array(sorted(scores, reverse=True))


def measured(name, case, **options):
    kind = METRICS.get(name)
    return {part: np.asarray(values) for part, values in kind(kind.Options(**options)).measure(case).items()}


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7)


# What a file says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high", "better"),
    [
        ("aopc", -1, 1, "higher"),
        ("prob_drop", -1, 1, "higher"),
        ("comprehensiveness", -1, 1, "higher"),
        ("sufficiency", -1, 1, "lower"),
        ("log_odds", -16.2, 16.2, "lower"),
        ("decision_flip", 0, 1, "higher"),
    ],
)
def test_the_facts_are_read_from_the_file(name, low, high, better):
    facts = Facts.read(name)
    assert (facts.low, facts.high, facts.better) == (low, high, better)
    assert "do not compare" in facts.limits
    assert "Logic Traps" in facts.limits
    kind = METRICS.get(name)
    assert kind.hides
    assert not kind.across_models
    assert kind().name == name


def test_what_short_tables_show():
    assert Aopc().shown == ""
    assert ProbDrop().shown == "k=5"
    assert DecisionFlip(DecisionFlip.Options(k=3)).shown == "k=3"
    assert Comprehensiveness().shown == Sufficiency().shown == "mean"
    assert LogOdds().shown == "20%"
    assert LogOdds(ShareOptions((5, 18, 25, 90))).shown == "18%"


@pytest.mark.parametrize("name", ALL)
def test_what_is_shown_is_a_part(name):
    case, _ = linear()
    assert METRICS.get(name)().shown in measured(name, case)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_is_above_0(temperature):
    with pytest.raises(ConfigError, match="temperature is"):
        Aopc.Options(temperature=temperature)


@pytest.mark.parametrize("kind", [Aopc, ProbDrop, DecisionFlip])
def test_k_is_at_least_1(kind):
    with pytest.raises(ConfigError, match="k is 0"):
        kind.Options(k=0)


@pytest.mark.parametrize("percents", [(), (0,), (101,), (20, 20), (0.5,), (-5, 5)])
def test_percents_that_are_none(percents):
    with pytest.raises(ConfigError, match="from 1 to 100"):
        ShareOptions(percents)
    with pytest.raises(ConfigError, match="from 1 to 100"):
        SoftShareOptions(percents)


# A linear model: closed forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 5, 8, 20])
def test_aopc_is_the_mean_of_the_sums_of_the_greatest_weights(k):
    case, weights = linear()
    close(measured("aopc", case, k=k)[""], [weights.cumsum()[:k].mean()])


@pytest.mark.parametrize("k", [1, 3, 5, 8, 20])
def test_the_other_readings_of_aopc(k):
    """Known answers for two classes: p + q = 1, softmax(p)_1 = sigmoid(2 p - 1), tempered p = sigmoid(logit(p) / T)."""
    case, weights = linear()
    found = measured("aopc", case, k=k, temperature=2.0)
    assert list(found) == ["", f"k={k}", "second softmax", "equal confidence"]
    whole = case.whole()
    left = whole - weights.cumsum()[:k]
    close(found[f"k={k}"], [whole[0] - left[-1]])

    def twice(p):
        return 1 / (1 + np.exp(1 - 2 * p))

    def half(p):
        return 1 / (1 + np.sqrt((1 - p) / p))

    close(found["second softmax"], [(twice(whole) - twice(left)).mean()])
    close(found["equal confidence"], [(half(whole) - half(left)).mean()])
    close(measured("aopc", case, k=k, temperature=1.0)["equal confidence"], found[""])


@pytest.mark.parametrize("k", [1, 3, 5, 8, 20])
def test_prob_drop_is_the_sum_of_the_k_greatest_weights(k):
    case, weights = linear()
    found = measured("prob_drop", case, k=k)
    assert list(found) == [f"k={number}" for number in range(1, k + 1)]
    for number in range(1, k + 1):
        close(found[f"k={number}"], [weights[:number].sum()])


def test_of_the_other_class_everything_is_the_opposite():
    (one, weights), (other, _) = linear(), linear(target=0)
    close(measured("aopc", other)[""], -measured("aopc", one)[""])
    close(measured("sufficiency", other)["20%"], [-(weights.sum() - weights[:2].sum())])


SHARES = {"1%": 1, "5%": 1, "10%": 1, "20%": 2, "50%": 4}


@pytest.mark.parametrize("hide", ["remove", "zero"])
def test_comprehensiveness_and_sufficiency_are_sums_of_weights(hide):
    case, weights = linear(hide=hide)
    without, only = measured("comprehensiveness", case), measured("sufficiency", case)
    assert list(without) == list(only) == [*SHARES, "mean"]
    for part, count in SHARES.items():
        close(without[part], [weights[:count].sum()])
        close(only[part], [weights[count:].sum()])
    close(without["mean"], [np.mean([weights[:count].sum() for count in SHARES.values()])])
    close(only["mean"], [np.mean([weights[count:].sum() for count in SHARES.values()])])


def test_log_odds_is_the_log_of_the_share_that_is_left():
    case, weights = linear()
    found = measured("log_odds", case)
    whole = 0.5 + weights.sum()
    assert list(found) == list(SHARES)
    for part, count in SHARES.items():
        close(found[part], [math.log((whole - weights[:count].sum()) / whole)])


def test_log_odds_of_nothing_left_is_finite():
    model = LinearWords({"a": 1.0}, bias=0.0)
    docs = model.prepare(["a"])
    least = math.log(1e-7)
    close(measured("log_odds", case_of(model, docs, [[1]]))["20%"], [least])
    close(measured("log_odds", case_of(model, docs, [[1]], target=0))["20%"], [-least])
    assert Facts.read("log_odds").low < least < least + 0.1


@pytest.mark.parametrize("squash", [False, True])
def test_a_decision_flips_where_the_sum_passes_one_half(squash):
    model = LinearWords({"a": 0.2, "b": 0.1, "c": -0.15, "d": 0.05}, 0.0 if squash else 0.5, squash)
    docs = model.prepare(["d c b a", "a", "c", "b d"])
    scores = [[model.weights[word] for word in doc.words] for doc in docs]
    found = measured("decision_flip", case_of(model, docs, scores), k=4)
    # 0.2: without a 0, which is a tie and so the first class; without b -0.1; without d -0.15; without c 0
    close(found["k=1"], [1, 1, 0, 0])
    close(found["k=2"], [1, 1, 0, 1])
    close(found["k=4"], [1, 1, 0, 1])


def test_a_flip_is_of_the_class_that_is_predicted_whichever_is_explained():
    model = LinearWords({"a": 0.2})
    docs = model.prepare(["a"])
    for target in (0, 1):
        close(measured("decision_flip", case_of(model, docs, [[1]], target), k=1)["k=1"], [1])


def test_a_flip_to_any_other_class_is_one():
    class Three(Game):
        labels = ("x", "y", "z")

        def _answers(self, rows):
            return np.eye(3, dtype=np.float32)[rows.sum(1) % 3]

    case = case_of(Three(None), [doc_of(4)], [[4, 3, 2, 1]])
    found = measured("decision_flip", case, k=4)
    assert [found[f"k={k}"][0] for k in (1, 2, 3, 4)] == [1, 1, 0, 1]


# ERASER by hand -------------------------------------------------------------------------------------------------------

TABLE = {  # words kept of a text of five: probability
    "abcde": 0.90,
    "abde": 0.60,
    "bde": 0.45,
    "be": 0.70,
    "c": 0.80,
    "ac": 0.85,
    "acd": 0.95,
}


def test_eraser_by_hand():
    game = Game(lambda keep: [TABLE["".join(np.array(list("abcde"))[row])] for row in keep])
    case = case_of(game, [doc_of(5)], [[0.5, -0.3, 0.9, 0.1, -0.4]])  # c a d b e
    without = measured("comprehensiveness", case, percents=(1, 20, 40, 50))
    only = measured("sufficiency", case, percents=(1, 20, 40, 50))
    # of five words: one, one, two and, rounded up, three
    close([without[part][0] for part in ("1%", "20%", "40%", "50%")], [0.30, 0.30, 0.45, 0.20])
    close([only[part][0] for part in ("1%", "20%", "40%", "50%")], [0.10, 0.10, 0.05, -0.05])
    close(without["mean"], [0.3125])
    close(only["mean"], [0.05])
    close(measured("log_odds", case, percents=(40,))["40%"], [math.log(0.5)])
    close(measured("aopc", case, k=3)[""], [0.95 / 3])
    close(measured("prob_drop", case, k=3)["k=3"], [0.20])


@pytest.mark.parametrize(
    ("words", "percent", "count"),
    [(0, 50, 0), (1, 1, 1), (2, 50, 1), (3, 50, 2), (20, 5, 1), (21, 5, 2), (100, 7, 7), (100, 1, 1), (9, 100, 9)],
)
def test_a_share_is_rounded_up(words, percent, count):
    assert counts(case_of(mixed(1), [doc_of(words)], [[0] * words]), [percent]) == [[count]]


# Soft -----------------------------------------------------------------------------------------------------------------


def test_soft_scales_words_by_their_scores():
    case, _ = linear("a b c d", hide="zero")
    scores = np.array([0.2, -0.1, 0.15, 0.05])
    share = (scores + 0.1) / 0.3
    close(measured("comprehensiveness", case, soft=True)["soft"], [(scores * share).sum()])
    close(measured("sufficiency", case, soft=True)["soft"], [(scores * (1 - share)).sum()])


def test_soft_of_absolute_scores():
    case, _ = linear("a b c d", hide="zero", rank="absolute")
    share = (np.array([0.2, 0.1, 0.15, 0.05]) - 0.05) / 0.15
    close(measured("comprehensiveness", case, soft=True)["soft"], [(np.array([0.2, -0.1, 0.15, 0.05]) * share).sum()])


@pytest.mark.parametrize("name", ["comprehensiveness", "sufficiency"])
def test_soft_is_asked_for_and_needs_zero(name):
    for hide, soft, there in (("zero", True, True), ("zero", False, False), ("remove", True, False)):
        case, _ = linear(hide=hide)
        assert ("soft" in measured(name, case, soft=soft)) == there


def test_scores_are_stretched_over_the_text():
    close(scaled(np.array([3.0, 1.0, 2.0])), [1, 0, 0.5])
    close(scaled(np.array([4.0, 4.0])), [0.5, 0.5])
    assert scaled(np.zeros(0)).shape == (0,)


def test_soft_on_a_real_model(build):
    network = word_predictor(build, "cnn", "vmask")
    docs = network.prepare([random_text(7), "", random_text(1)])
    scores = [np.linspace(0, 1, 7) ** 2, [], [0.3]]
    found = measured("sufficiency", case_of(network, docs, scores, hide="zero"), soft=True)["soft"]
    whole = network.predict_docs(docs)[:, 1]
    rows = [np.asarray(scores[0])[None], np.zeros((1, 0)), np.full((1, 1), 0.5)]
    scaled_to = [one[0, 1] for one in network.predict_kept(docs, rows, "zero")]
    np.testing.assert_allclose(found[[0, 2]], (whole - scaled_to)[[0, 2]], rtol=0, atol=1e-6)
    assert np.isnan(found[1])


# Few words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("hide", ["remove", "zero"])
def test_a_text_without_words_has_no_value_and_does_not_disturb_others(name, hide):
    model = LinearWords(WEIGHTS)
    docs = model.prepare(["", "a", "a b", " "])
    options = {"soft": True} if name in ("comprehensiveness", "sufficiency") else {}
    found = measured(name, case_of(model, docs, [[], [1], [1, 0], []], hide=hide), **options)
    for values in found.values():
        assert np.isnan(values).tolist() == [True, False, False, True]
        assert values.dtype == np.float64


def test_one_word_and_two():
    model = LinearWords(WEIGHTS)
    case = case_of(model, model.prepare(["a", "a c"]), [[1], [1, 0]])
    close(measured("aopc", case)[""], [0.2, (0.2 + 0.35) / 2])
    close(measured("prob_drop", case)["k=5"], [0.2, 0.35])
    close(measured("comprehensiveness", case)["mean"], [0.2, 0.2])
    close(measured("sufficiency", case)["mean"], [0, 0.15])


# What holds always ----------------------------------------------------------------------------------------------------

SCORES = st.lists(st.integers(-3, 3), min_size=0, max_size=9)


@given(SCORES, st.integers(0, 1), st.sampled_from(["remove", "zero"]), st.integers(1, 12))
def test_values_are_in_the_range_that_the_file_says(scores, target, hide, k):
    for name in ALL:
        facts = Facts.read(name)
        options = {"k": k} if name in ("aopc", "prob_drop", "decision_flip") else {"percents": (k, 8 * k)}
        case = case_of(mixed(len(scores)), [doc_of(len(scores))], [scores], target, hide)
        for values in measured(name, case, **options).values():
            assert np.isnan(values).all() == (not scores)
            assert scores == [] or facts.low <= values[0] <= facts.high


@given(SCORES, st.sampled_from([lambda x: 5 * x + 2, np.exp, lambda x: x**3, np.arctan]))
def test_only_the_order_of_scores_counts(scores, rescale):
    game, docs = mixed(len(scores)), [doc_of(len(scores))]
    one = case_of(game, docs, [scores])
    other = case_of(game, docs, [rescale(np.array(scores, float))])
    for name in ALL:
        for first, second in zip(measured(name, one).values(), measured(name, other).values(), strict=True):
            np.testing.assert_array_equal(first, second)


@given(SCORES)
def test_ties_go_to_the_earlier_position(scores):
    game, docs = mixed(len(scores)), [doc_of(len(scores))]
    one = case_of(game, docs, [scores])
    other = case_of(game, docs, [np.array(scores) - np.arange(len(scores)) / 100])
    for name in ALL:
        for first, second in zip(measured(name, one).values(), measured(name, other).values(), strict=True):
            np.testing.assert_array_equal(first, second)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=6), st.integers(1, 5))
def test_the_company_of_a_text_makes_no_difference(texts, size):
    model = LinearWords({f"x{number}": (-1) ** number / (number + 12) for number in range(8)})
    docs = [doc_of(words) for words, _ in texts]
    scores = [np.random.default_rng([seed, words]).normal(size=words) for words, seed in texts]
    for name in ALL:
        together = measured(name, case_of(model, docs, scores))
        parts = [
            measured(name, case_of(model, docs[at : at + size], scores[at : at + size]))
            for at in range(0, len(docs), size)
        ]
        for part, values in together.items():
            np.testing.assert_array_equal(values, np.concatenate([one[part] for one in parts]))


@pytest.mark.parametrize("hide", ["remove", "zero"])
def test_no_question_is_asked_twice(hide):
    model = LinearWords(WEIGHTS)
    docs = model.prepare(["a b c d e f g h", "c", "", "h g f e d c b a"])
    scores = [np.arange(len(doc.spans)) for doc in docs]
    case = case_of(model, docs, scores, hide=hide)
    first = {name: measured(name, case) for name in ALL}
    asked = len(model.asked)
    assert len(set(model.asked)) == asked
    again = {name: measured(name, case) for name in ALL}
    assert len(model.asked) == asked
    for name in ALL:
        for part, values in first[name].items():
            np.testing.assert_array_equal(values, again[name][part])
