"""Words and texts that stand for many explanations, by hand and beside the lime package."""

from __future__ import annotations

import weakref
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lime.submodular_pick import SubmodularPick

from vmask.errors import ConfigError, UnknownName
from vmask.explain.aggregate import RANKINGS, WordSums, global_importance, pick
from vmask.explain.contract import Explanation


def explained(text, *scores, target="pos", method="lime", **options):
    """An explanation of words between spaces."""
    words = text.split()
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    spans = tuple((start, start + len(word)) for start, word in zip(starts, words, strict=True))
    return Explanation(text, tuple(words), spans, scores, target, 0.9, method, options)


THREE = (
    explained("Good film good", 0.5, -0.25, 0.25),
    explained("good plot", 0.25, 0.125),
    explained("good awful film film", -0.5, 2.0, 0.25, -0.5, target="neg"),
)


def words_of(ranked):
    return [word.word for word in ranked]


def test_sums_by_hand():
    ranked = {word.word: word for word in global_importance(THREE)}
    good, film = ranked["good"], ranked["film"]
    assert (good.signed, good.absolute, good.texts, good.count) == (0.5, 1.5, 3, 4)
    assert good.mean == pytest.approx(0.5 / 3)
    assert good.by_label == {"pos": 1.0, "neg": -0.5}
    # Of one text the scores are added up before their sign is dropped, as the lime package does.
    assert (film.signed, film.absolute, film.mean, film.texts, film.count) == (-0.5, 0.5, -0.25, 2, 3)
    assert ranked["plot"].by_label == {"pos": 0.125}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("signed", ["awful", "good", "plot", "film"]),
        ("absolute", ["awful", "good", "film", "plot"]),
        ("mean", ["awful", "good", "plot", "film"]),
        ("count", ["good", "film", "awful", "plot"]),
    ],
)
def test_words_are_ranked(by, expected):
    assert words_of(global_importance(THREE, by)) == expected


def test_a_label_counts_its_own_explanations_alone():
    ranked = global_importance(THREE, label="pos")
    assert [(w.word, w.signed, w.absolute, w.texts, w.count) for w in ranked] == [
        ("good", 1.0, 1.0, 2, 3),
        ("plot", 0.125, 0.125, 1, 1),
        ("film", -0.25, 0.25, 1, 1),
    ]
    assert ranked[0].by_label == {"pos": 1.0, "neg": -0.5}
    assert words_of(global_importance(THREE, label="neg")) == ["awful", "film", "good"]


def test_a_label_may_be_spelt_out():
    one = explained("good", 1.0, target=5)
    assert global_importance([one], label="5") == global_importance([one], label=5)


def test_rare_words_are_left_out():
    assert words_of(global_importance(THREE, "mean", min_count=3)) == ["good", "film"]


def test_ties_go_to_the_more_frequent_word_then_by_the_alphabet():
    ranked = global_importance([explained("d c b c a", 1.0, 0.5, 1.0, 0.5, 1.0)])
    assert words_of(ranked) == ["c", "a", "b", "d"]


def test_capitals_may_count():
    ranked = global_importance(THREE, lower=False)
    assert {w.word: w.count for w in ranked if w.word.lower() == "good"} == {"good": 3, "Good": 1}


def test_a_coefficient_that_places_share_counts_once_a_text():
    """`The` and `the` are two features of lime, `the` and `the` are one."""
    shared = explained("the film The the", 0.5, 0.25, 0.125, 0.5, features="type")
    (the,) = (word for word in global_importance([shared]) if word.word == "the")
    assert (the.signed, the.texts, the.count) == (0.625, 1, 3)
    apart = explained("the film The the", 0.5, 0.25, 0.125, 0.5, features="position")
    assert global_importance([apart])[0].signed == 1.125


@pytest.mark.parametrize("join", [global_importance, pick])
def test_a_stream_is_read_once_and_not_held(join):
    given = []

    def stream():
        for _ in range(100):
            one = explained("good plot", 0.25, 0.125)
            given.append(weakref.ref(one))
            yield one
            del one
            assert sum(earlier() is not None for earlier in given) <= 1

    assert join(stream()) == join([explained("good plot", 0.25, 0.125)] * 100)
    assert len(given) == 100


def test_no_explanations_no_words():
    assert global_importance([]) == global_importance([], label="pos") == pick([]) == []
    assert global_importance([explained("")]) == pick([explained("")]) == []


@pytest.mark.parametrize("join", [global_importance, pick])
def test_methods_do_not_mix(join):
    with pytest.raises(ConfigError, match="by lime and by mask"):
        join([THREE[0], explained("good", 0.5, method="mask")])
    assert join([explained("good", 0.5, method="mask")])


def test_unknown_names_are_refused():
    with pytest.raises(UnknownName, match="Did you mean 'absolute'"):
        global_importance(THREE, "absolut")
    with pytest.raises(UnknownName, match="Available: neg, pos"):
        global_importance(THREE, label="positive")


# Explanations that come one at a time -----------------------------------------------------------------------------


def test_what_is_added_one_at_a_time_is_ranked_at_any_time():
    sums = WordSums()
    assert sums.ranked() == sums.ranked(label="pos") == []
    for number, explanation in enumerate(THREE, 1):
        sums.add(explanation)
        for by in RANKINGS:
            assert sums.ranked(by) == global_importance(THREE[:number], by)
    assert sums.ranked("mean", "pos", 2) == global_importance(THREE, "mean", label="pos", min_count=2)
    assert sums.ranked() == global_importance(THREE)  # asking changes nothing


def test_sums_may_tell_capitals_apart():
    sums = WordSums(lower=False)
    for explanation in THREE:
        sums.add(explanation)
    assert sums.ranked("count") == global_importance(THREE, "count", lower=False)
    assert "Good" in words_of(sums.ranked())


def test_an_explanation_of_another_method_is_refused_and_leaves_no_trace():
    sums = WordSums()
    sums.add(THREE[0])
    with pytest.raises(ConfigError, match="by lime and by mask"):
        sums.add(explained("good", 0.5, method="mask"))
    assert sums.ranked() == global_importance(THREE[:1])
    sums.add(THREE[1])
    assert sums.ranked() == global_importance(THREE[:2])


def test_sums_hold_no_explanation():
    sums, one = WordSums(), explained("good plot", 0.25, 0.125)
    held = weakref.ref(one)
    sums.add(one)
    del one
    assert held() is None
    assert words_of(sums.ranked()) == ["good", "plot"]


def test_an_unknown_ranking_is_refused_before_a_stream_is_read():
    stream = iter(THREE)
    with pytest.raises(UnknownName):
        global_importance(stream, "absolut")
    assert next(stream) is THREE[0]
    with pytest.raises(UnknownName):
        WordSums().ranked("absolut")


# The pick -------------------------------------------------------------------------------------------------------


def test_each_text_adds_most_to_those_before():
    """I is 2 for a (from two texts), 1 for b, sqrt(2) for c, 0.5 for d."""
    texts = [explained("a d", 2.0, 0.25), explained("a b", -2.0, 1.0), explained("b c", 0.0, 2.0), explained("d", 0.0)]
    assert pick(texts) == [1, 2, 0]  # 3.0; then sqrt(2) for c before 0.5 for d; nothing is left for the last
    assert pick(texts, 2) == [1, 2]
    assert pick(texts, 0) == []


def test_ties_go_to_the_earlier_text():
    assert pick([explained("a b", 1.0, 2.0), explained("b a", 2.0, 1.0), explained("c", 16.0)]) == [2, 0]


def test_only_the_strongest_words_of_a_text_are_covered():
    texts = [explained("a b c d e f", 1.0, 0.9, 0.8, 0.7, 0.6, 0.5), explained("g h", 1.5, -1.4)]
    assert pick(texts, top_words=None) == pick(texts) == [0, 1]
    assert pick(texts, top_words=2) == [1, 0]


@pytest.mark.parametrize("wrong", [{"count": -1}, {"top_words": 0}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} is .*; it must be at least"):
        pick(THREE, **wrong)


class Stub:
    """What SubmodularPick asks of an explainer: the row is an explanation of ours, so this explains nothing."""

    def explain_instance(self, row, predict, num_features, top_labels):
        weights = dict(zip(row.words, row.scores, strict=True))
        shown = sorted(weights.items(), key=lambda item: -abs(item[1]))[:num_features]
        return SimpleNamespace(mode="classification", available_labels=lambda: [1], as_list=lambda label: shown)


@pytest.mark.parametrize("top_words", [3, 10, None])
@pytest.mark.parametrize("seed", range(3))
def test_the_pick_is_that_of_the_lime_package(seed, top_words):
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(40):
        words = random.choice(60, random.integers(1, 20), replace=False)
        texts.append(explained(" ".join(f"w{word}" for word in words), *random.normal(size=len(words)).tolist()))
    ours = pick(texts, 6, top_words)
    theirs = SubmodularPick(Stub(), texts, None, "full", num_exps_desired=6, num_features=top_words)
    assert ours == [int(number) for number in theirs.V]


# Properties -----------------------------------------------------------------------------------------------------

SCORES = st.integers(-16, 16).map(lambda n: n / 8)  # sums of eighths are exact in any order
TEXTS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefg"), SCORES), max_size=8).map(
        lambda places: explained(" ".join(word for word, _ in places), *(score for _, score in places))
    ),
    max_size=8,
)


def matrix(texts):
    """W and its columns, as the lime package makes it."""
    columns = sorted({word for text in texts for word in text.words})
    weights = np.zeros((len(texts), len(columns)))
    for row, text in zip(weights, texts, strict=True):
        for word, score in zip(text.words, text.scores, strict=True):
            row[columns.index(word)] += score
    return weights, columns


@given(TEXTS)
def test_coverage_rises_to_all_there_is(texts):
    weights, _ = matrix(texts)
    importance = np.sqrt(np.abs(weights).sum(0))
    picked = pick(texts, len(texts), None)
    covered = [(np.abs(weights[picked[:n]]).sum(0) > 0) @ importance for n in range(len(picked) + 1)]
    gains = np.diff(covered)
    assert (gains > 0).all()
    assert (np.diff(gains) <= 1e-9).all()  # greedy on a submodular function
    assert covered[-1] == pytest.approx(importance.sum())


@given(TEXTS, st.integers(1, 4))
def test_a_smaller_pick_is_the_beginning_of_a_larger(texts, top_words):
    everything = pick(texts, len(texts), top_words)
    for count in range(len(texts)):
        assert pick(texts, count, top_words) == everything[:count]


@given(TEXTS)
def test_the_order_of_absolute_is_that_of_the_lime_package(texts):
    weights, columns = matrix(texts)
    importance = dict(zip(columns, np.sum(abs(weights), axis=0) ** 0.5, strict=True))
    ranked = global_importance(texts, "absolute")
    assert [sqrt(word.absolute) for word in ranked] == sorted(importance.values(), reverse=True)
    assert all(sqrt(word.absolute) == importance[word.word] for word in ranked)


@given(TEXTS, st.sampled_from(RANKINGS))
def test_every_ranking_falls(texts, by):
    values = [getattr(word, by) for word in global_importance(texts, by)]
    assert values == sorted(values, reverse=True)
