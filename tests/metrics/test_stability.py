"""Agreement of explanations, by hand and beside scipy."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from vmask.config import make
from vmask.errors import ConfigError
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.metrics import stability
from vmask.metrics._case import Case, Questions
from vmask.metrics.contract import Facts
from vmask.metrics.stability import Stability, kendall, overlap


def explained(*texts, width=1):
    """Explanations of texts given as scores of their words, which are `width` characters long."""
    made = []
    for scores in texts:
        spans = tuple((3 * number, 3 * number + width) for number in range(len(scores)))
        made.append(Explanation("abc" * len(scores), ("a",) * len(scores), spans, tuple(scores), "pos", 1.0, "m"))
    return made


def case_of(first, again=None, others=(), rank="signed", seed=0):
    docs = [Doc(one.text, one.spans, np.zeros(len(one.spans), np.int32)) for one in first]
    return Case(Questions(None, docs, ""), first, [0] * len(docs), rank, None, again, others, seed)


def measured(case, **options):
    return {part: values.tolist() for part, values in Stability(make(Stability.Options, options)).measure(case).items()}


def by_seed(**runs):
    """What explains again: `s1` are the scores of the texts with seed 1."""
    return lambda seed: explained(*runs[f"s{seed}"])


def test_seeds_of_the_method_by_hand():
    again = by_seed(s8=[[1, 3, 2]], s9=[[3, 2, 1]])
    found = measured(case_of(explained([1, 2, 3]), again, seed=7), repeats=3, k=2)
    # 123 and 132: pairs of words agree, agree, not: 1/3. 123 and 321: -1. 132 and 321: not, not, agree: -1/3
    assert found["kendall"] == pytest.approx([(1 / 3 - 1 - 1 / 3) / 3])
    # the top two: words 1 2, words 1 2, words 0 1: 1, 1/2 and 1/2
    assert found["overlap"] == pytest.approx([2 / 3])
    assert list(found) == ["kendall", "overlap"]


def test_a_method_is_asked_for_as_many_seeds_as_wanted():
    asked = []

    def again(seed):
        asked.append(seed)
        return explained([1, 2])

    measured(case_of(explained([1, 2]), again, seed=4), repeats=4)
    assert asked == [5, 6, 7]


def test_seeds_of_the_training_are_parts_of_their_own():
    others = [lambda: explained([1, 2, 3]), lambda: explained([3, 2, 1])]
    found = measured(case_of(explained([1, 2, 3]), None, others), k=1)
    assert found == {"training kendall": pytest.approx([-1 / 3]), "training overlap": pytest.approx([1 / 3])}
    both = measured(case_of(explained([1, 2, 3]), by_seed(s1=[[1, 2, 3]]), others), repeats=2)
    assert list(both) == ["kendall", "overlap", "training kendall", "training overlap"]
    assert both["kendall"] == pytest.approx([1])


def test_nothing_is_measured_where_nothing_varies():
    assert measured(case_of(explained([1, 2]))) == {}


def test_absolute_ranks_compare_sizes():
    again = by_seed(s1=[[1, 2, 3]])
    first = explained([1, -2, 3])
    assert measured(case_of(first, again), repeats=2, k=2) == {
        "kendall": pytest.approx([1 / 3]),
        "overlap": pytest.approx([1 / 2]),
    }
    assert measured(case_of(first, again, rank="absolute"), repeats=2, k=2) == {
        "kendall": pytest.approx([1]),
        "overlap": pytest.approx([1]),
    }


def test_texts_without_a_value():
    first = explained([], [0.3], [0.5, 0.5], [1, 2])
    found = measured(case_of(first, by_seed(s1=[[], [0.9], [1, 2], [2, 1]])), repeats=2)
    assert np.isnan(found["kendall"][:3]).all()
    assert found["kendall"][3] == pytest.approx(-1)
    assert np.isnan(found["overlap"][0])
    assert found["overlap"][1:] == [1, 1, 1]


def test_a_pair_without_a_tau_leaves_the_others():
    found = measured(case_of(explained([1, 2, 3]), by_seed(s1=[[0, 0, 0]], s2=[[1, 3, 2]])))
    assert found["kendall"] == pytest.approx([1 / 3])


def test_words_must_be_the_same():
    shorter, wider = [lambda: explained([1, 2])], [lambda: explained([1, 2, 3], width=2)]
    for others in (shorter, wider):
        found = measured(case_of(explained([1, 2, 3]), None, others))
        assert np.isnan(found["training kendall"]).all()
        assert np.isnan(found["training overlap"]).all()
    # two that agree with one another still count
    found = measured(case_of(explained([1, 2, 3]), None, shorter * 2))
    assert found["training kendall"] == pytest.approx([1])


def test_texts_keep_their_order():
    again = by_seed(s1=[[1, 2, 3], [3, 2, 1]], s2=[[1, 2, 3], [3, 2, 1]])
    assert measured(case_of(explained([1, 2, 3], [1, 2, 3]), again), repeats=2)["kendall"] == pytest.approx([1, -1])


scores = st.integers(2, 30).flatmap(
    lambda words: st.lists(
        st.lists(st.integers(-3, 3), min_size=words, max_size=words).map(lambda row: [one / 3 for one in row]),
        min_size=2,
        max_size=4,
    )
)


@given(scores)
def test_scipy_agrees(rows):
    wanted = [kendalltau(rows[i], rows[j]).statistic for i in range(len(rows)) for j in range(i + 1, len(rows))]
    assert kendall(np.array(rows)) == pytest.approx(wanted, nan_ok=True)


@given(scores, st.integers(1, 8))
def test_values_are_in_range_and_rescaling_changes_nothing(rows, k):
    one = np.array(rows)
    taus, shared = kendall(one), overlap(one, k)
    assert np.all(np.isnan(taus) | (np.abs(taus) <= 1 + 1e-12))
    assert np.all((shared >= 0) & (shared <= 1))
    assert np.array_equal(kendall(one**3 * 8 - 1), taus, equal_nan=True)
    assert np.array_equal(overlap(one**3 * 8 - 1, k), shared)


def test_long_texts_are_compared_in_parts(monkeypatch):
    rows = np.random.default_rng(0).integers(0, 50, (3, 101)).astype(float)
    whole = kendall(rows)
    assert whole == pytest.approx([kendalltau(rows[i], rows[j]).statistic for i, j in ((0, 1), (0, 2), (1, 2))])
    for cells in (1, 700, 5000):
        monkeypatch.setattr(stability, "MAX_CELLS", cells)
        assert np.array_equal(kendall(rows), whole)


def test_many_texts_take_seconds():
    random = np.random.default_rng(0)
    started = time.perf_counter()
    for _ in range(100):  # of 250 words, with 3 seeds; ten times as many are the default
        kendall(random.random((3, 250)))
    assert time.perf_counter() - started < 2


def test_its_file_says_what_it_is():
    facts = Facts.read("stability")
    assert (facts.low, facts.high, facts.better) == (-1, 1, "higher")


@pytest.mark.parametrize("options", [{"repeats": 1}, {"k": 0}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        make(Stability.Options, options)
