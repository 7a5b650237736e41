"""SampleShapley: exact where it can be, unbiased elsewhere, with standard errors that are true."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest
import torch

from games import Game, additive, doc_of, mixed
from predictors import random_text, word_predictor
from vmask.errors import ConfigError
from vmask.explain import shapley
from vmask.explain.shapley import (
    OrderStream,
    Running,
    SampleShapley,
    ShapleyOptions,
    contributions,
    exact_values,
    prefixes,
    subsets,
)

VARIANTS = ("plain", "antithetic", "stratified")


def only(game, doc, target=1, seed=0, **options):
    (found,) = SampleShapley(ShapleyOptions(**options)).explain(game, [doc], [target], seed)
    return found


def exact(game, words):
    keep = subsets(words)
    return exact_values(keep, game._answers(keep)[:, 1])


def sampled(game, words, variant, orders, seed):
    """Mean and standard error of every word."""
    drawn = OrderStream(words, variant, np.random.default_rng(seed)).take(orders)
    running = Running(words, variant)
    running.add(contributions(drawn, game._answers(prefixes(drawn))[:, 1]))
    return running.mean, running.errors


# The exact values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [1, 2, 5])
def test_the_exact_values_are_the_mean_over_all_orders(words):
    game = mixed(words)
    orders = np.array(list(permutations(range(words))))
    expected = contributions(orders, game._answers(prefixes(orders))[:, 1]).mean(0)
    np.testing.assert_allclose(exact(game, words), expected, rtol=0, atol=1e-12)


def test_a_short_text_is_enumerated_and_says_so():
    game = mixed(6)
    found = only(game, doc_of(6), seed=3)
    np.testing.assert_allclose(found.scores, exact(game, 6), rtol=0, atol=1e-12)
    assert found.details == {"standard_errors": [0.0] * 6, "orders": factorial(6)}
    assert found.seed is None
    assert game.calls[0] == [(64, 6)]
    longer = only(mixed(8), doc_of(8), seed=3)
    assert longer.seed == 3
    assert longer.details["orders"] == 25


def test_how_long_an_enumerated_text_may_be_is_an_option():
    game = mixed(10)
    found = only(game, doc_of(10), enumerate_up_to=10)
    np.testing.assert_allclose(found.scores, exact(game, 10), rtol=0, atol=1e-12)
    assert only(mixed(2), doc_of(2), enumerate_up_to=0).details["orders"] == 25
    with pytest.raises(ConfigError, match="at most 10"):
        ShapleyOptions(enumerate_up_to=11)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("orders", [1, 2, 25])
def test_an_additive_game_is_exact_whatever_is_drawn(variant, orders):
    weights = np.linspace(-0.2, 0.3, 9)
    found = only(additive(weights), doc_of(9), permutations=orders, variant=variant)
    np.testing.assert_allclose(found.scores, weights, rtol=0, atol=1e-6)
    if found.details["standard_errors"] is not None:
        np.testing.assert_allclose(found.details["standard_errors"], 0, atol=1e-6)


def test_words_that_do_the_same_have_the_same_value_and_one_that_does_nothing_has_none():
    def worth(keep):
        return 0.5 * (keep[:, 0] & keep[:, 2]) + 0.3 * (keep[:, 1] | keep[:, 3]) * keep[:, 4]

    values = exact(Game(worth), 6)
    assert values[0] == pytest.approx(values[2], abs=1e-12)
    assert values[1] == pytest.approx(values[3], abs=1e-12)
    assert values[5] == 0
    assert values[0] == pytest.approx(0.25, abs=1e-6)
    for variant in VARIANTS:
        found = only(Game(worth), doc_of(6), variant=variant, enumerate_up_to=0)
        assert found.scores[5] == 0
        assert found.details["standard_errors"][5] == 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("orders", [1, 2, 3, 7, 25, 40])
@pytest.mark.parametrize("target", [0, 1])
def test_the_scores_sum_to_the_difference_that_the_text_makes(variant, orders, target):
    for words in (1, 2, 9, 30):
        game = mixed(words)
        whole, nothing = (game._answers(np.full((1, words), kept))[0, target] for kept in (True, False))
        found = only(game, doc_of(words), target, permutations=orders, variant=variant, enumerate_up_to=0)
        assert sum(found.scores) == pytest.approx(float(whole) - float(nothing), abs=1e-6)
        assert found.probability == pytest.approx(float(whole))


# As captum ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(build):
    """An LSTM, untrained, in which every word counts."""
    return word_predictor(build, "lstm", "vmask", model__hidden=8)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("hide", ["remove", "unk", "zero"])
def test_the_same_orders_give_the_values_of_captum(network, hide, variant, monkeypatch):
    captum = pytest.importorskip("captum.attr")
    (doc,) = network.prepare([random_text(11)])
    orders = OrderStream(11, variant, np.random.default_rng(5)).take(8)
    monkeypatch.setattr(OrderStream, "take", lambda self, count: orders[:count])

    def forward(kept):
        (answers,) = network.predict_kept([doc], [kept.bool().numpy()], hide)
        return torch.from_numpy(answers)

    theirs = captum.ShapleyValueSampling(forward)
    theirs.permutation_generator = lambda features, samples: (order.tolist() for order in orders)
    expected = theirs.attribute(torch.ones(1, 11), target=2, n_samples=8, perturbations_per_eval=4)[0].numpy()
    (found,) = SampleShapley(ShapleyOptions(permutations=8, variant=variant)).explain(network, [doc], [2], hide=hide)
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-6)
    assert np.ptp(expected) > 1e-3


# Standard errors ------------------------------------------------------------------------------------------------------

GAMES = {
    "mixed": mixed,
    "the best word": lambda words: Game(lambda keep: (keep * np.linspace(0.2, 1, words)).max(1)),
    "more than half": lambda words: Game(lambda keep: keep.sum(1) > words / 2),
    "neighbours": lambda words: Game(lambda keep: np.tanh((keep[:, 1:] & keep[:, :-1]).sum(1) / 2)),
    "ever more": lambda words: Game(lambda keep: (keep.sum(1) / words) ** 3),
    "an odd number of three": lambda words: Game(lambda keep: keep[:, :3].sum(1) % 2),
    "all of three": lambda words: Game(lambda keep: keep[:, :3].all(1)),
}


def spread(game, words, variant, orders, times):
    """True spread of every word's mean over many draws, and the errors that were reported (root mean square)."""
    runs = [sampled(game, words, variant, orders, [seed, orders]) for seed in range(times)]
    means, errors = (np.array(part) for part in zip(*runs, strict=True))
    return means.std(0, ddof=1), np.sqrt((errors**2).mean(0))


def test_plain_orders_are_off_by_what_their_standard_errors_say():
    off = []
    for words in (4, 7, 10):
        for seed in range(4):
            game = mixed(words, seed)
            truth = exact(game, words)
            for draw in range(5):
                mean, errors = sampled(game, words, "plain", 40, [draw, seed])
                off.append((mean - truth) / errors)
    off = np.concatenate(off)
    assert len(off) == 420
    assert abs(off.mean()) < 0.1
    assert 0.85 < off.std() < 1.2
    assert (np.abs(off) > 3).mean() < 0.015  # of 40 observations each: 0.5 % by Student's t


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_unbiased(variant):
    """Over so many sets of orders that what is left is the error of the mean."""
    for words in (5, 8):
        game = mixed(words)
        means = np.array([sampled(game, words, variant, 10, seed)[0] for seed in range(300)])
        off = (means.mean(0) - exact(game, words)) / (means.std(0, ddof=1) / np.sqrt(len(means)))
        assert np.abs(off).max() < 3.5


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("orders", [10, 24])
def test_no_variant_is_more_spread_out_than_its_standard_errors_say(game, orders):
    made = GAMES[game](8)
    for variant in VARIANTS:
        true, reported = spread(made, 8, variant, orders, 250)
        ratio = np.sqrt((true**2).mean() / (reported**2).mean())
        assert ratio < 1.1
        if variant != "stratified":  # there the errors are an upper bound
            assert ratio > 0.9


def test_pairs_are_never_torn_apart(monkeypatch):
    """An order alone would be noise that the errors of the pairs do not know of."""
    pairs = Game(lambda keep: (keep[:, 0::2] & keep[:, 1::2]).sum(1) / 5)  # exact for an order and its reverse
    for orders in (2, 3, 25):
        found = only(pairs, doc_of(10), permutations=orders, variant="antithetic")
        assert found.details["orders"] == orders // 2 * 2
        np.testing.assert_allclose(found.scores, 0.1, rtol=0, atol=1e-6)
    assert only(pairs, doc_of(10), permutations=1, variant="antithetic").details == {
        "standard_errors": None,
        "orders": 1,
    }
    monkeypatch.setattr(shapley, "BLOCK_ROWS", 5)  # not even one order fits
    found = only(pairs, doc_of(10), permutations=7, variant="antithetic")
    np.testing.assert_allclose(found.details["standard_errors"], 0, atol=1e-6)
    assert found.details["orders"] == 6


@pytest.mark.parametrize("variant", VARIANTS)
def test_mean_and_error_do_not_depend_on_the_blocks(variant):
    values = np.random.default_rng(0).normal(3, 1, (24, 5))
    whole, parts = Running(5, variant), Running(5, variant)
    whole.add(values)
    for start, stop in ((0, 2), (2, 14), (14, 20), (20, 24)):
        parts.add(values[start:stop])
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(parts.errors, whole.errors, rtol=1e-9)
    units = values.reshape(12, 2, 5).mean(1) if variant == "antithetic" else values
    np.testing.assert_allclose(whole.errors, units.std(0, ddof=1) / np.sqrt(len(units)), rtol=1e-9)
    np.testing.assert_allclose(whole.mean, values.mean(0), rtol=1e-12)
    assert whole.orders == parts.orders == 24


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_block_in_which_orders_are_asked_for_does_not_matter(monkeypatch, variant):
    game, doc = mixed(12), doc_of(12)
    expected = only(game, doc, permutations=30, variant=variant)
    assert game.calls[-1] == [(30 * 13, 12)]
    monkeypatch.setattr(shapley, "BLOCK_ROWS", 4 * 13)
    found = only(game, doc, permutations=30, variant=variant)
    assert game.calls[-1] == [(2 * 13, 12)]
    assert game.calls[-2] == [(4 * 13, 12)]
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.details["standard_errors"], expected.details["standard_errors"], atol=1e-12)


# Stopping early -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_text_is_asked_about_until_its_errors_are_below_the_tolerance(variant):
    game, docs = mixed(12), [doc_of(12), doc_of(9, "y")]
    stopped = {}
    for tolerance in (0.03, 0.012):
        explainer = SampleShapley(ShapleyOptions(permutations=2000, tolerance=tolerance, variant=variant))
        games = Game(lambda keep: mixed(keep.shape[1])._answers(keep)[:, 1])
        for found in explainer.explain(games, docs, [1, 1]):
            assert 10 <= found.details["orders"] < 2000
            assert found.details["orders"] % 10 == 0
            assert max(found.details["standard_errors"]) <= tolerance
            stopped[tolerance, len(found.words)] = found.details["orders"]
        alone = only(game, docs[0], permutations=2000, tolerance=tolerance, variant=variant)
        assert alone.details["orders"] == stopped[tolerance, 12]
        again = only(game, docs[0], permutations=alone.details["orders"], variant=variant)
        np.testing.assert_allclose(again.scores, alone.scores, rtol=0, atol=1e-12)
    assert stopped[0.012, 12] > stopped[0.03, 12]


def test_a_tolerance_that_is_not_reached_ends_with_the_last_order():
    found = only(mixed(12), doc_of(12), permutations=25, tolerance=1e-9)
    assert found.details["orders"] == 25
    assert max(found.details["standard_errors"]) > 1e-9
    few = only(mixed(12), doc_of(12), permutations=5, tolerance=10.0)
    assert few.details["orders"] == 5  # too few to believe an error


# Orders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("words", [1, 2, 9])
def test_the_orders_do_not_depend_on_how_many_are_taken_at_once(variant, words):
    whole = OrderStream(words, variant, np.random.default_rng(3)).take(40)
    stream = OrderStream(words, variant, np.random.default_rng(3))
    np.testing.assert_array_equal(np.concatenate([stream.take(count) for count in (1, 2, 7, 30)]), whole)
    np.testing.assert_array_equal(np.sort(whole, 1), np.tile(np.arange(words), (40, 1)))


def test_antithetic_orders_are_followed_by_their_reverse():
    orders = OrderStream(7, "antithetic", np.random.default_rng(0)).take(20)
    np.testing.assert_array_equal(orders[0::2], orders[1::2, ::-1])
    assert len(np.unique(orders, axis=0)) > 15


@pytest.mark.parametrize("words", [2, 5, 12])
def test_in_a_stratified_set_every_word_takes_every_place_once(words):
    orders = OrderStream(words, "stratified", np.random.default_rng(0)).take(3 * words)
    for start in range(0, len(orders), words):
        for place in range(words):
            assert sorted(orders[start : start + words, place].tolist()) == list(range(words))
    assert len(np.unique(orders, axis=0)) > 2 * words or words == 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_order_is_as_likely_as_any_other(variant):
    drawn = OrderStream(3, variant, np.random.default_rng(1)).take(6000)
    for part in (drawn[0::6], drawn[1::6], drawn[5::6]):  # wherever in a set
        _, counts = np.unique(part, axis=0, return_counts=True)
        assert len(counts) == 6
        np.testing.assert_allclose(counts / len(part), 1 / 6, atol=0.05)


def test_prefixes_add_the_words_one_by_one():
    keep = prefixes(np.array([[2, 0, 1]]))
    assert keep.astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]]
    answers = np.array([0.1, 0.4, 0.5, 0.9], np.float32)
    np.testing.assert_allclose(contributions(np.array([[2, 0, 1]]), answers), [[0.1, 0.4, 0.3]], rtol=0, atol=1e-7)
    assert prefixes(np.zeros((2, 0), np.int64)).shape == (2, 0)
