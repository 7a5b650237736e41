"""NAOPC: its limits against exhaustive search, and its values by closed form."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import Game, additive, doc_of, mixed
from linear import LinearWords, case_of
from predictors import piece_predictor, random_text, word_predictor
from thoroughness import examples
from vmask.errors import ConfigError
from vmask.explain.shapley import subsets
from vmask.metrics import METRICS, _orders, naopc
from vmask.metrics._orders import Search, extremes, questions, solved
from vmask.metrics.contract import Facts, Subject
from vmask.metrics.naopc import Naopc, NaopcOptions

MANY = 300  # more than the sets of one size of any text that is searched with it


def exhaustive(predictor, doc, target=1, hide="remove"):
    """Least and greatest mean probability over all orders, tried one by one."""
    words = len(doc.spans)
    (answers,) = predictor.predict_kept([doc], [subsets(words)], hide)
    worth = answers[:, target].astype(np.float64)
    orders = np.array(list(permutations(range(words))))
    left = 2**words - 1 - np.cumsum(1 << orders, axis=1)
    means = worth[left].mean(1)
    return [means.min(), means.max()]


def only(predictor, doc, beam=5, exact_up_to=8, target=1, hide="remove"):
    return extremes(predictor, [doc], [target], hide, beam, exact_up_to)[0]


def measured(case, **options):
    return Naopc(NaopcOptions(**options)).measure(case)


def close(found, expected, atol=1e-6):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# The limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("target", [0, 1])
def test_solved_limits_are_those_of_all_orders(words, seed, target):
    game, doc = mixed(words, seed), doc_of(words)
    close(only(game, doc, target=target), exhaustive(game, doc, target), 1e-12)


@pytest.mark.parametrize("words", [7, 8])
def test_solved_limits_of_the_longest_texts(words):
    game, doc = mixed(words), doc_of(words)
    found, expected = only(game, doc), exhaustive(game, doc)
    close(found, expected, 1e-12)
    assert expected[1] - expected[0] > 0.05


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("words", [1, 2, 5, 8])
def test_a_beam_that_holds_all_sets_finds_the_limits(words, seed):
    game, doc = mixed(words, seed), doc_of(words)
    close(only(game, doc, MANY, 0), only(game, doc), 1e-12)


@pytest.mark.parametrize("words", [9, 11])
def test_texts_beyond_the_default_can_be_solved_too(words):
    game, doc = mixed(words), doc_of(words)
    close(only(game, doc, 1000, 0), only(game, doc, exact_up_to=words), 1e-12)


@given(st.integers(1, 8), st.integers(0, 1000), st.integers(1, 12))
def test_beam_search_is_never_beyond_the_limits(words, seed, beam):
    game, doc = mixed(words, seed), doc_of(words)
    (low, high), (least, greatest) = only(game, doc, beam, 0), only(game, doc)
    assert least - 1e-12 <= low <= high <= greatest + 1e-12


def test_a_wider_beam_finds_what_a_narrow_one_misses():
    # Neither a nor b alone does anything, both together do all; c does a little at once.
    game = Game(lambda keep: 0.9 - 0.6 * (~keep[:, 0] & ~keep[:, 1]) - 0.1 * ~keep[:, 2])
    doc = doc_of(3)
    close(only(game, doc), [(0.9 + 0.3 + 0.2) / 3, (0.9 + 0.8 + 0.2) / 3])
    close(only(game, doc, 1, 0)[0], (0.8 + 0.8 + 0.2) / 3)
    close(only(game, doc, 3, 0), only(game, doc))


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_the_limits_of_real_models(build, kind, hide):
    options = {"model__hidden": 8} if kind == "lstm" else {}
    network = word_predictor(build, kind, "vmask", **options)
    docs = network.prepare([random_text(length) for length in (6, 1, 8, 3)])
    found = extremes(network, docs, [2, 0, 1, 2], hide, 5, 8)
    searched = extremes(network, docs, [2, 0, 1, 2], hide, MANY, 0)
    close(found, searched)
    for doc, target, limits in zip(docs[:2], (2, 0), found, strict=False):
        close(limits, exhaustive(network, doc, target, hide))
    assert np.ptp(found, axis=1)[2] > 1e-3


def test_the_limits_of_an_encoder(build_encoder):
    network = piece_predictor(build_encoder, "bert", "vmask")
    (doc,) = network.prepare(["the good movie was bad"])
    close(only(network, doc), exhaustive(network, doc))
    close(only(network, doc, MANY, 0), exhaustive(network, doc))


def test_no_words():
    game = mixed(4)
    found = extremes(game, [doc_of(0), doc_of(4)], [1, 1], "remove", 5, 8)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert np.isnan(extremes(game, [doc_of(0)], [1], "remove", 5, 0)).all()


@settings(max_examples=examples(30))
@given(st.lists(st.integers(0, 14), min_size=1, max_size=7), st.integers(1, 5), st.sampled_from([0, 5, 8]))
def test_the_company_of_a_text_makes_no_difference(lengths, beam, exact_up_to):
    weights = np.random.default_rng(0).normal(size=14)
    model = LinearWords({f"x{number}": weight for number, weight in enumerate(weights)}, 0.0, squash=True)
    docs = [doc_of(length) for length in lengths]
    together = extremes(model, docs, [1] * len(docs), "remove", beam, exact_up_to)
    alone = [only(model, doc, beam, exact_up_to) for doc in docs]
    np.testing.assert_array_equal(together, alone)


def test_memory_is_bounded_and_groups_make_no_difference(monkeypatch):
    docs = [doc_of(length) for length in (12, 3, 10, 0, 14, 5, 12)]
    weights = np.random.default_rng(0).normal(size=14)
    model = LinearWords({f"x{number}": weight for number, weight in enumerate(weights)}, 0.0, squash=True)
    scores = [np.arange(len(doc.spans)) for doc in docs]
    at_once = measured(case_of(model, docs, scores))
    sizes = []

    def held(docs, keep, hide="remove"):
        sizes.append(sum(rows.size for rows in keep))
        return LinearWords.predict_kept(model, docs, keep, hide)

    monkeypatch.setattr(_orders, "MAX_CELLS", 2 * 5 * 14 * 14)
    monkeypatch.setattr(model, "predict_kept", held)
    grouped = measured(case_of(model, docs, scores))
    assert max(sizes) <= 2 * 5 * 14 * 14
    for part, values in at_once.items():
        np.testing.assert_array_equal(values, grouped[part])


@pytest.mark.parametrize("exact_up_to", [0, 8])
def test_equal_sets_of_words_are_one_question(exact_up_to):
    class Counting(Game):
        def predict_kept(self, docs, keep, hide="remove"):
            (rows,) = keep
            half = len(rows) // 2  # both directions ask at once
            for part in [rows] if exact_up_to else [rows[:half], rows[half:]]:
                assert len(np.unique(part, axis=0)) == len(part)
            return super().predict_kept(docs, keep, hide)

    game = Counting(lambda keep: np.where(keep.any(1), 0.5, 0.2))
    only(game, doc_of(6), MANY, exact_up_to)
    rows = sum(shape[0] for call in game.calls for shape in call)
    assert rows == questions(6, MANY, exact_up_to) == (64 if exact_up_to else 2 * 63)


@given(st.integers(0, 12), st.integers(1, 9), st.integers(0, 9))
def test_no_more_questions_are_asked_than_said(words, beam, exact_up_to):
    game = mixed(words)
    only(game, doc_of(words), beam, exact_up_to)
    rows = sum(shape[0] for call in game.calls for shape in call)
    said = questions(words, beam, exact_up_to)
    assert rows <= said <= max(2 * beam * words**2, 2**words)
    assert rows == said or words > exact_up_to


def test_ties_are_broken_by_position_and_noise_breaks_none():
    def noisy(keep):
        return 0.5 + 1e-8 * np.random.default_rng(keep.sum()).normal(size=len(keep))

    search = Search(Game(noisy), [doc_of(9)], [1], "remove", 3)
    search.step()
    for beam in search.beams[0]:
        assert [row.tolist().index(False) for row in beam.keep] == [0, 1, 2]
    search.step()
    for beam in search.beams[0]:
        assert [np.flatnonzero(~row).tolist() for row in beam.keep] == [[0, 1], [0, 2], [0, 3]]


def test_a_long_text_is_searched_like_a_short_one():
    """Beyond 64 words sets are told apart in another way."""
    weights = np.sort(np.random.default_rng(1).normal(0, 0.005, 70))[::-1]
    game = additive(weights)
    low, high = only(game, doc_of(70))
    close(low, (weights.sum() - weights.cumsum()).mean())
    close(high, (weights.sum() - weights[::-1].cumsum()).mean())


def test_solved_by_hand():
    # sets of two words in their order: none, a, b, both; the whole text does not count
    assert solved(np.array([0.1, 0.4, 0.7, 0.9]), 2) == (0.1 + 0.4, 0.1 + 0.7)
    worth = np.random.default_rng(0).uniform(size=16)
    assert solved(-worth, 4) == tuple(-value for value in reversed(solved(worth, 4)))


# The values -----------------------------------------------------------------------------------------------------------

WEIGHTS = {"a": 0.12, "b": -0.09, "c": 0.1, "d": 0.05, "e": 0.01, "f": 0.08, "g": -0.02, "h": 0.03, "i": 0.04}


@pytest.mark.parametrize("text", ["a b", "c a b", "a b c d e f", "i h g f e d c b a"])
@pytest.mark.parametrize("exact_up_to", [0, 8])
@pytest.mark.parametrize("target", [0, 1])
def test_the_order_of_the_weights_is_the_best_and_its_reverse_the_worst(text, exact_up_to, target):
    model = LinearWords(WEIGHTS)
    docs = model.prepare([text, text])
    weights = np.array([WEIGHTS[word] for word in docs[0].words]) * (1 if target else -1)
    found = measured(case_of(model, docs, [weights, -weights], target), exact_up_to=exact_up_to)
    ordered = np.sort(weights)
    close(found["upper"], [ordered[::-1].cumsum().mean()] * 2)
    close(found["lower"], [ordered.cumsum().mean()] * 2)
    close(found[""], [1, 0], 1e-5)
    close(found["ascending"], [1, 0], 1e-5)


def test_an_order_between_has_the_value_of_its_closed_form():
    model = LinearWords(WEIGHTS)
    docs = model.prepare(["a b c d"])
    weights = np.array([0.12, -0.09, 0.1, 0.05])
    found = measured(case_of(model, docs, [[1, 2, 4, 3]]))  # c d b a
    upper, lower = np.sort(weights)[::-1].cumsum().mean(), np.sort(weights).cumsum().mean()
    first = weights[[2, 3, 1, 0]].cumsum().mean()
    last = weights[[0, 1, 3, 2]].cumsum().mean()
    close(found[""], [(first - lower) / (upper - lower)], 1e-5)
    close(found["ascending"], [1 - (last - lower) / (upper - lower)], 1e-5)


def test_first_and_last_differ_where_words_do_not_add():
    # a and b count only together: whichever goes first takes all.
    game = Game(lambda keep: 0.2 + 0.5 * keep[:, 0] * keep[:, 1] + 0.2 * keep[:, 2])
    case = case_of(game, [doc_of(3)], [[3, 1, 2]])
    found = measured(case)
    # 0.9; without a 0.4, without a and c 0.2, nothing 0.2: the best. The worst is c first: 0.7, 0.2, 0.2
    close(found["upper"], [0.9 - 0.8 / 3])
    close(found["lower"], [0.9 - 1.1 / 3])
    close(found[""], [1], 1e-5)
    # the reverse drops as fast: without b 0.4, without b and c 0.2, nothing 0.2
    close(found["ascending"], [0], 1e-5)


def test_the_file_says_what_it_is():
    facts = Facts.read("naopc")
    assert (facts.low, facts.high, facts.better) == (-1, 1, "higher")
    assert METRICS.get("naopc") is Naopc
    assert Naopc.hides
    assert Naopc.across_models
    assert Naopc().shown == ""
    assert Naopc().name == "naopc"


@given(st.integers(0, 10), st.integers(0, 50), st.integers(0, 1), st.integers(1, 6))
def test_values_are_from_0_to_1_and_within_the_limits(words, seed, target, beam):
    scores = np.random.default_rng(seed).integers(0, 4, words)
    found = measured(case_of(mixed(words, seed), [doc_of(words)], [scores], target), beam=beam, exact_up_to=5)
    assert list(found) == ["", "ascending", "upper", "lower"]
    if not words:
        assert all(np.isnan(values).all() for values in found.values())
        return
    assert 0 <= found[""][0] <= 1
    assert 0 <= found["ascending"][0] <= 1
    assert -1 <= found["lower"][0] <= found["upper"][0] <= 1


def test_an_order_beyond_the_limits_that_were_found_counts_as_the_limit():
    game = Game(lambda keep: 0.9 - 0.6 * (~keep[:, 0] & ~keep[:, 1]) - 0.1 * ~keep[:, 2])
    found = measured(case_of(game, [doc_of(3)], [[3, 2, 1]]), beam=1, exact_up_to=0)
    assert found[""][0] == 1
    close(found["upper"], [0.9 - 1.8 / 3])


@pytest.mark.parametrize("words", [1, 2, 6, 10])
def test_where_the_order_makes_no_difference_the_value_is_0(words):
    rng = np.random.default_rng(0)
    game = Game(lambda keep: 0.2 + 0.05 * keep.sum(1) + rng.uniform(-1e-7, 1e-7, len(keep)))
    found = measured(case_of(game, [doc_of(words)], [range(words)]))
    assert found[""][0] == found["ascending"][0] == 0


@given(st.integers(1, 9), st.integers(0, 30))
def test_only_the_order_of_scores_counts_and_ties_go_to_the_earlier_position(words, seed):
    scores = np.random.default_rng(seed).integers(-2, 3, words).astype(float)
    cases = [case_of(mixed(words), [doc_of(words)], [one]) for one in (scores, 3 * scores**3 + 1)]
    cases.append(case_of(mixed(words), [doc_of(words)], [scores - np.arange(words) / 100]))
    first, *others = map(measured, cases)
    for other in others:
        for part, values in first.items():
            np.testing.assert_array_equal(values, other[part])


def test_the_limits_are_searched_once_for_all_methods_and_not_by_their_company():
    model = LinearWords(WEIGHTS)
    docs = model.prepare(["a b c d e f g h i", "a b"])
    case = case_of(model, docs, [np.arange(9), [1, 0]])
    first = measured(case)
    asked = len(model.asked)
    other = type(case)(case.questions, case_of(model, docs, [np.arange(9)[::-1], [0, 1]]).explanations, [1, 1])
    second = measured(other)
    assert len(model.asked) - asked == 2 * (9 + 2)
    for part in ("upper", "lower"):
        np.testing.assert_array_equal(first[part], second[part])
    assert first[""][0] != second[""][0]
    measured(other, beam=2)
    assert len(case.questions.memo) == 2
    measured(type(case)(case.questions, case.explanations, [0, 0]))
    assert len(case.questions.memo) == 3


def test_the_search_leaves_nothing_in_the_memory_of_questions():
    model = LinearWords(WEIGHTS)
    docs = model.prepare(["a b c d e f g h i"])
    case = case_of(model, docs, [np.arange(9)])
    measured(case)
    assert [len(known) for known in case.questions._known] == [1]


# Options and cost -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"exact_up_to": -1}, {"exact_up_to": 17}])
def test_options_that_cannot_work(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        NaopcOptions(**wrong)


def subject(texts, sample=None, hides=("remove",), **options):
    model = LinearWords({f"w{number}": 0.01 for number in range(30)}, **options)
    chosen = np.arange(len(texts)) if sample is None else np.array(sample)
    return Subject(model, texts, None, np.zeros((len(texts), 2), np.float32), chosen, hides)


def text_of(words):
    return " ".join(f"w{number % 30}" for number in range(words))


def test_the_cost_is_said_before():
    texts = [text_of(length) for length in (3, 20, 20, 0, 50)]
    asked = questions(3, 5, 8) + 2 * questions(20, 5, 8)
    said = Naopc().cost(subject(texts, [0, 1, 2, 3]))
    assert said.startswith(f"naopc: 4 texts, about {asked:,} predictions (beam 5); about ")
    assert said.endswith(" s on this machine, from a try on 2")
    both = Naopc(NaopcOptions(beam=7)).cost(subject(texts, [0, 1, 2, 3], ("remove", "zero")))
    asked = 2 * (questions(3, 7, 8) + 2 * questions(20, 7, 8))
    assert f"about {asked:,} predictions (beam 7; 2 ways of hiding)" in both


def test_the_cost_of_much():
    said = Naopc().cost(subject([text_of(20)] * 1000))
    # from the whole text 20 sets, from five each with 19 … 2 words left as many, and at last no words
    assert questions(20, 5, 8) == 2 * (20 + 5 * sum(range(2, 20)) + 1)
    assert said.startswith("naopc: 1,000 texts, about 1.9 million predictions (beam 5); about ")


def test_nothing_costs_nothing():
    assert Naopc().cost(subject([])) == ""
    assert Naopc().cost(subject(["", " "])) == ""


def test_the_try_is_short_where_the_model_is_slow(monkeypatch):
    now = [0.0]
    asked = subject([text_of(length) for length in (1, 40, 45, 300)])
    answer = asked.predictor.predict_kept

    def slow(docs, keep, hide="remove"):
        now[0] += 0.01 * sum(map(len, keep))  # 10 ms a question
        return answer(docs, keep, hide)

    asked.predictor.predict_kept = slow
    monkeypatch.setattr(naopc.time, "perf_counter", lambda: now[0])
    said = Naopc().cost(asked)
    assert now[0] < 10  # two tries of a second step at most
    total = sum(questions(length, 5, 8) for length in (1, 40, 45, 300))
    assert f"about {total * 0.01 / 60:.0f} min on this machine" in said


def test_the_try_is_on_a_few_texts_of_about_median_length():
    assert naopc._middle([0, 3, 500, 20, 0]) == [1, 3]
    assert len(naopc._middle([20] * 100)) == 6
    assert naopc._middle([1000, 900, 800]) == [1]


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (70, "70 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds, said):
    assert naopc._duration(seconds) == said
