"""Importance of words beside their frequency."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from predictors import word_predictor
from vmask.errors import ConfigError
from vmask.inference.black_box import BlackBox
from vmask.inference.contract import BasePredictor
from vmask.inference.word_importance import WordImportance
from vmask.metrics import METRICS
from vmask.metrics.contract import Facts, Subject
from vmask.metrics.frequency_correlation import (
    CorrelationOptions,
    FrequencyCorrelation,
    frequency_correlation,
    pearson,
)


def words(*pairs):
    return [WordImportance(f"w{i}", score, count, True) for i, (score, count) in enumerate(pairs)]


class Ranked(BasePredictor):
    """A model of which only the words are known."""

    ranks_words = True

    def __init__(self, ranked):
        self.ranked = ranked

    def word_importance(self, min_count=1):
        return [word for word in self.ranked if word.count >= min_count]


def subject_of(predictor):
    return Subject(predictor, [], None, np.zeros((0, 2), np.float32), np.zeros(0, np.int64))


def measured(ranked, **options):
    """The three numbers, with their records."""
    metric = FrequencyCorrelation(CorrelationOptions(**options))
    subject = subject_of(Ranked(ranked))
    assert metric.unfit(subject) == ""
    found = list(metric.measure(subject))
    assert [(one.part, one.by, one.hide, one.over) for one in found] == [
        (part, "mask", "", "words") for part in ("pearson", "log", "spearman")
    ]
    return {one.part: (metric.statistic(one.values), one.values) for one in found}


def test_the_correlation_is_pearsons():
    assert frequency_correlation(words((0.1, 1), (0.2, 2), (0.3, 3))) == pytest.approx(1)
    assert frequency_correlation(words((0.3, 1), (0.2, 2), (0.1, 3))) == pytest.approx(-1)
    assert frequency_correlation(words((0.1, 1), (0.4, 2), (0.1, 3))) == pytest.approx(0)


@pytest.mark.parametrize("given", [[], [(0.5, 3)], [(0.5, 1), (0.5, 9)], [(0.1, 4), (0.9, 4)]])
def test_it_is_0_where_nothing_varies(given):
    assert frequency_correlation(words(*given)) == 0.0


def test_equal_scores_do_not_vary_however_their_mean_is_rounded():
    ranked = words(*((0.1, count) for count in range(1, 4)))
    assert np.std([0.1] * 3) > 0
    assert frequency_correlation(ranked) == 0.0
    assert all(np.isnan(value) for value, _ in measured(ranked).values())


# The metric -----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 8).map(lambda n: n / 8), st.integers(1, 50)), min_size=2, max_size=40).filter(
        lambda pairs: all(len(set(column)) > 1 for column in zip(*pairs, strict=True))
    )
)
def test_the_three_are_those_of_scipy(pairs):
    scores, counts = np.array(pairs, float).T
    found = measured(words(*pairs))
    assert found["pearson"][0] == pytest.approx(stats.pearsonr(counts, scores).statistic, abs=1e-9)
    assert found["log"][0] == pytest.approx(stats.pearsonr(np.log(counts), scores).statistic, abs=1e-9)
    assert found["spearman"][0] == pytest.approx(stats.spearmanr(counts, scores).statistic, abs=1e-9)
    assert all(-1 <= value <= 1 for value, _ in found.values())
    assert found["pearson"][0] == pytest.approx(frequency_correlation(words(*pairs)), abs=1e-9)


def test_each_sees_another_relation():
    """Importance rises by the logarithm of counts; one word outweighs all others in the raw ones."""
    found = measured(words(*((float(np.log(count)), count) for count in (1, 2, 3, 4, 5, 10_000))))
    assert found["log"][0] == pytest.approx(1)
    assert found["spearman"][0] == pytest.approx(1)
    assert found["pearson"][0] < 0.99


def test_records_are_a_word_each_by_the_alphabet():
    """So that models of the same words, which rank them differently, have the same rows."""
    ranked = [
        WordImportance(word, score, count, True) for word, score, count in (("b", 0.9, 2), ("c", 0.5, 8), ("a", 0.1, 4))
    ]
    found = measured(ranked)
    assert found["pearson"][1].tolist() == [[4, 0.1], [2, 0.9], [8, 0.5]]
    assert found["log"][1][:, 0] == pytest.approx(np.log([4, 2, 8]))
    assert found["spearman"][1].tolist() == [[2, 1], [1, 3], [3, 2]]


def test_ranks_of_ties_are_averaged():
    found = measured(words((0.5, 1), (0.5, 1), (0.9, 7)))
    assert found["spearman"][1].tolist() == [[1.5, 1.5], [1.5, 1.5], [3, 3]]


def test_rare_words_may_be_left_out():
    ranked = words((0.9, 1), (0.1, 5), (0.2, 6), (0.3, 7))
    assert len(measured(ranked)["pearson"][1]) == 4
    value, records = measured(ranked, min_count=5)["pearson"]
    assert value == pytest.approx(1)
    assert len(records) == 3
    with pytest.raises(ConfigError, match="min_count is 0"):
        CorrelationOptions(min_count=0)


@pytest.mark.parametrize("given", [[], [(0.5, 3)], [(0.5, 1), (0.5, 9)], [(0.1, 4), (0.9, 4)]])
def test_the_metric_has_no_value_where_nothing_varies(given):
    """A resample without variation is left out of a bootstrap; a 0 would pull its interval."""
    found = measured(words(*given))
    assert all(np.isnan(value) and records.shape == (len(given), 2) for value, records in found.values())
    assert np.isnan(pearson(np.zeros((0, 2))))


def test_it_is_for_models_that_rank_words(build):
    metric = FrequencyCorrelation()
    plain = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts))
    for predictor in (plain, word_predictor(build, "cnn", "base")):
        assert metric.unfit(subject_of(predictor)) == "the model gives words no importance of its own"
    assert metric.unfit(subject_of(word_predictor(build, "cnn", "vmask"))) == ""


def test_a_trained_model_end_to_end(fitted):
    metric, subject = FrequencyCorrelation(), subject_of(fitted.predictor_)
    found = {one.part: metric.statistic(one.values) for one in metric.measure(subject)}
    assert found["pearson"] == pytest.approx(frequency_correlation(fitted.predictor_.word_importance()))
    assert metric.shown == "pearson"
    facts = Facts.read("frequency_correlation")
    assert (facts.low, facts.high, facts.better) == (-1, 1, "neither")
    assert METRICS.get("frequency_correlation") is FrequencyCorrelation


def test_an_encoder_too(fitted_encoder):
    predictor = fitted_encoder().predictor_
    found = list(FrequencyCorrelation().measure(subject_of(predictor)))
    assert len(found[0].values) == len(predictor.word_importance())
