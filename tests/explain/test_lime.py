"""LIME: the same numbers as the package lime 0.2.0.1 where the samples are the same, and samples of the same kind."""

from __future__ import annotations

import numpy as np
import pytest
from lime.lime_base import LimeBase
from lime.lime_text import LimeTextExplainer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import pairwise_distances, r2_score

from games import Game, additive, doc_of, mixed
from vmask.explain import lime
from vmask.explain._local_model import Moments, explained, forward_selection, ridge
from vmask.explain.lime import Lime, LimeOptions, nearness, sample

TEXT = "the plot is lovely and the cast is awful the end"  # `\W+` and our words agree, and some of them stand twice


def kernel(distances, width=25.0):
    """The package's."""
    return np.sqrt(np.exp(-(distances**2) / width**2))


def distances_of(keep):
    """As the package has them: cosine distances to the first row, times 100."""
    return pairwise_distances(keep.astype(float), keep[:1].astype(float), metric="cosine").ravel() * 100


def drawn(features, samples=300, seed=0):
    return sample(features, samples, np.random.default_rng(seed), True)


def explained_by_the_package(keep, answers, label, selection="none", num_features=10, width=25.0):
    """Coefficients (d,), intercept, R² and the answer of the local model to the whole text."""
    base = LimeBase(lambda distances: kernel(distances, width), random_state=0)
    intercept, found, score, local = base.explain_instance_with_data(
        keep.astype(float), answers, distances_of(keep), label, num_features, selection
    )
    coefficients = np.zeros(keep.shape[1])
    for feature, value in found:
        coefficients[feature] = value
    return coefficients, intercept, score, float(local[0])


def only(game, doc, target=1, **options):
    (found,) = Lime(LimeOptions(**options)).explain(game, [doc], [target])
    return found


# As the package ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["none", "highest_weights", "forward_selection"])
@pytest.mark.parametrize(("words", "num_features"), [(1, 10), (2, 1), (7, 3), (15, 10), (24, 4)])
def test_the_same_samples_give_the_coefficients_of_the_package(monkeypatch, words, num_features, selection):
    keep = drawn(words, seed=words)
    monkeypatch.setattr(lime, "sample", lambda *_: keep)
    game, doc = mixed(words), doc_of(words)
    options = {"selection": selection, "num_features": num_features, "kernel_width": 20.0}
    for target in (0, 1):
        found = only(game, doc, target, samples=len(keep), **options)
        expected = explained_by_the_package(keep, game._answers(keep), target, selection, num_features, 20.0)
        np.testing.assert_allclose(found.scores, expected[0], rtol=0, atol=1e-6)
        assert found.details["intercept"] == pytest.approx(expected[1], abs=1e-6)
        assert found.details["fit"] == pytest.approx(expected[2], abs=1e-6)
        assert found.details["local_probability"] == pytest.approx(expected[3], abs=1e-6)
        chosen = words if selection == "none" else min(num_features, words)
        assert np.count_nonzero(found.scores) == chosen


@pytest.mark.parametrize("selection", ["none", "highest_weights", "forward_selection"])
@pytest.mark.parametrize(("features", "hide"), [("position", "unk"), ("type", "remove")])
@pytest.mark.parametrize("label", [0, 1])
def test_the_whole_way_is_that_of_the_package(fitted, monkeypatch, features, hide, selection, label):
    """The package hides words by position as UNKWORDZ, which no model knows, and removes words by type."""
    asked, samples = [], 250

    def predict(texts):
        asked.extend(texts)
        return fitted.predict_proba(texts)

    theirs = LimeTextExplainer(bow=features == "type", feature_selection=selection, random_state=4)
    expected = theirs.explain_instance(TEXT, predict, labels=(label,), num_features=5, num_samples=samples)

    def replayed(count, size, random, first):
        assert first
        assert count == (8 if features == "type" else 11)
        state = np.random.RandomState(4)  # what the package draws from
        keep = np.ones((size, count), bool)
        for row, hidden in enumerate(state.randint(1, count + 1, size - 1), start=1):
            keep[row, state.choice(range(count), hidden, replace=False)] = False
        return keep

    monkeypatch.setattr(lime, "sample", replayed)
    options = {"features": features, "selection": selection, "num_features": 5, "samples": samples}
    (found,) = fitted.explain(TEXT, "lime", target=fitted.classes_[label], hide=hide, **options)
    weights = dict(expected.local_exp[label])
    numbers = [
        list(dict.fromkeys(found.words)).index(w) if features == "type" else i for i, w in enumerate(found.words)
    ]
    np.testing.assert_allclose(found.scores, [weights.get(number, 0.0) for number in numbers], rtol=0, atol=1e-6)
    assert np.ptp(found.scores) > 1e-3
    assert found.details["intercept"] == pytest.approx(expected.intercept[label], abs=1e-6)
    assert found.details["fit"] == pytest.approx(expected.score, abs=1e-6)
    assert found.details["local_probability"] == pytest.approx(float(expected.local_pred[0]), abs=1e-6)
    assert found.probability == pytest.approx(expected.predict_proba[label], abs=1e-6)
    assert len(asked) == samples


@pytest.mark.parametrize("features", [1, 2, 5, 40])
@pytest.mark.parametrize("width", [0.5, 25.0, 400.0])
def test_the_nearness_of_a_sample_is_that_of_the_package(features, width):
    keep = np.vstack([np.ones(features, bool), drawn(features), np.zeros(features, bool)])
    np.testing.assert_allclose(nearness(keep, width), kernel(distances_of(keep), width), rtol=1e-9, atol=1e-12)


def test_a_width_of_next_to_nothing_leaves_the_whole_text_alone():
    keep = drawn(4, 20)
    np.testing.assert_array_equal(nearness(keep, 1e-200), keep.all(1))


# Samples ------------------------------------------------------------------------------------------------------------


def test_any_number_of_features_is_hidden_equally_often_and_so_is_each_feature():
    features, samples = 6, 12_000
    keep = drawn(features, samples)
    assert keep[0].all()
    hidden = ~keep[1:]
    sizes = np.bincount(hidden.sum(1), minlength=features + 1)
    assert sizes[0] == 0
    np.testing.assert_allclose(sizes[1:] / samples, 1 / features, atol=0.02)
    np.testing.assert_allclose(hidden.mean(0), (features + 1) / 2 / features, atol=0.02)
    for size in range(1, features):  # whatever the number, no feature is preferred
        np.testing.assert_allclose(hidden[hidden.sum(1) == size].mean(0), size / features, atol=0.05)


def test_later_blocks_have_no_whole_text_and_one_feature_is_always_hidden():
    random = np.random.default_rng(0)
    assert not sample(5, 200, random, False).all(1).any()
    keep = sample(1, 50, random, True)
    assert keep[0].all()
    assert not keep[1:].any()
    assert sample(0, 3, random, True).shape == (3, 0)


# From sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["none", "highest_weights", "forward_selection"])
def test_several_blocks_are_one_regression(monkeypatch, selection):
    game, doc, blocks = mixed(9), doc_of(9), []
    real = lime.sample

    def noted(*arguments):
        blocks.append(real(*arguments))
        return blocks[-1]

    monkeypatch.setattr(lime, "sample", noted)
    found = only(game, doc, samples=2500, selection=selection, num_features=4, alpha=0.5)
    assert [len(block) for block in blocks] == [1000, 1000, 500]
    assert game.calls == [[(1000, 9)], [(1000, 9)], [(500, 9)]]
    keep = np.concatenate(blocks).astype(float)
    assert keep.all(1).sum() == 1
    answers, weights = game._answers(keep)[:, 1], kernel(distances_of(keep))
    used = np.arange(9)
    if selection != "none":
        used = LimeBase(kernel).feature_selection(keep, answers, weights, 4, selection)
    model = Ridge(alpha=0.5).fit(keep[:, used], answers, weights)
    scores = np.zeros(9)
    scores[used] = model.coef_
    np.testing.assert_allclose(found.scores, scores, rtol=0, atol=1e-6)
    assert found.details["intercept"] == pytest.approx(model.intercept_, abs=1e-6)
    assert found.details["fit"] == pytest.approx(model.score(keep[:, used], answers, weights), abs=1e-6)


def sums_of(keep, answers, weights, blocks=1):
    moments = Moments(keep.shape[1])
    for part in np.array_split(np.arange(len(keep)), blocks):
        moments.add(keep[part], answers[part], weights[part])
    return moments


@pytest.mark.parametrize("seed", range(4))
def test_forward_selection_from_sums_is_that_of_fitting_every_model(seed):
    keep = drawn(12, seed=seed)
    answers = mixed(12, seed)._answers(keep)[:, 1]
    weights = kernel(distances_of(keep))
    expected = LimeBase(kernel).forward_selection(keep.astype(float), answers, weights, 12)
    found = forward_selection(sums_of(keep, answers, weights, blocks=3).centred(), 12)
    assert found.tolist() == expected.tolist()
    assert forward_selection(sums_of(keep, answers, weights).centred(), 99).tolist() == found.tolist()


def test_features_that_are_always_hidden_together():
    keep = drawn(4)[:, [0, 1, 1, 2, 3]]
    answers = (keep @ np.array([0.1, 0.2, 0.2, 0.0, -0.1])).astype(np.float32)
    weights = kernel(distances_of(keep))
    system = sums_of(keep, answers, weights).centred()
    chosen = forward_selection(system, 5)
    assert chosen[0] == 1  # of two alike the first
    assert sorted(chosen.tolist()) == [0, 1, 2, 3, 4]
    assert chosen.tolist().index(2) >= 3  # it adds nothing
    coefficients = ridge([system], [np.arange(5)], 0.0)[0]
    np.testing.assert_allclose(coefficients, [0.1, 0.2, 0.2, 0.0, -0.1], rtol=0, atol=1e-6)  # the smallest that fit
    np.testing.assert_allclose(ridge([system], [np.arange(5)], 1e-300)[0], coefficients, rtol=0, atol=1e-6)
    assert explained(system, coefficients, weights.sum()) == pytest.approx(1)


@pytest.mark.parametrize("width", [25.0, 2.0])
def test_without_a_penalty_an_additive_model_is_found_exactly(width):
    weights = np.array([0.3, -0.2, 0.05, 0.0, 0.1])
    found = only(additive(weights), doc_of(5), alpha=0.0, samples=200, kernel_width=width)
    np.testing.assert_allclose(found.scores, weights, rtol=0, atol=1e-5)
    assert found.details["intercept"] == pytest.approx(0, abs=1e-5)
    assert found.details["fit"] == pytest.approx(1)


def test_company_does_not_change_a_model_without_a_penalty():
    """A text in which nothing but the whole text has weight to speak of, beside a longer one."""
    game, docs = additive([0.3, -0.2, 0.1]), [doc_of(3)]
    long = Game(lambda keep: keep[:, :3] @ np.array([0.3, -0.2, 0.1]))
    options = LimeOptions(alpha=0.0, samples=200, kernel_width=2.0)
    (alone,) = Lime(options).explain(game, docs, [1])
    among, _ = Lime(options).explain(long, [*docs, doc_of(12)], [1, 1])
    np.testing.assert_allclose(alone.scores, [0.3, -0.2, 0.1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(among.scores, alone.scores, rtol=0, atol=1e-9)


def test_answers_that_hardly_differ_keep_their_digits():
    keep = drawn(6, 3000)
    weights = kernel(distances_of(keep))
    effects = np.array([3.0, -2.0, 1.0, 0.0, 0.5, -1.5])
    for size in (1e-4, 1e-6):
        answers = 0.75 + size * (keep @ effects)
        moments = sums_of(keep, answers, weights, blocks=3)
        model = LinearRegression().fit(keep, answers, weights)
        coefficients = ridge([moments.centred()], [np.arange(6)], 0.0)[0]
        np.testing.assert_allclose(coefficients, model.coef_, rtol=1e-6, atol=1e-12)
        noisy = coefficients + size
        expected = r2_score(
            answers, keep @ noisy + np.average(answers - keep @ noisy, weights=weights), sample_weight=weights
        )
        assert explained(moments.centred(), noisy, moments.weight) == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(moments.means, np.average(np.c_[keep, answers], axis=0, weights=weights), rtol=1e-12)


# Nothing to explain, hardly anything ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("selection", ["none", "highest_weights", "forward_selection"])
def test_answers_that_never_change_leave_nothing_to_explain(value, selection):
    game = Game(lambda keep: np.full(len(keep), value))
    found = only(game, doc_of(8), selection=selection, samples=2500)
    assert found.scores == (0.0,) * 8
    assert found.details["fit"] == 1
    assert found.details["intercept"] == found.details["local_probability"] == found.probability == np.float32(value)


def test_a_text_without_words_has_its_own_probability():
    found = only(Game(lambda keep: np.full(len(keep), 0.25)), doc_of(0))
    assert found.scores == ()
    assert found.details == {"fit": 1.0, "intercept": 0.25, "local_probability": 0.25}


def test_one_word_is_explained_by_what_it_adds():
    found = only(additive([0.5]), doc_of(1), alpha=0.0, samples=2)
    assert found.scores == pytest.approx((0.5,))
    assert found.details["intercept"] == pytest.approx(0)


def test_a_repeated_word_is_one_feature_by_type_and_each_place_by_position(fitted):
    def scores(text, features, **more):
        (found,) = fitted.explain(text, "lime", features=features, target="pos", samples=300, **more)
        return found.scores

    by_type = scores("lovely film lovely plot lovely", "type")
    assert by_type[0] == by_type[2] == by_type[4] != 0
    by_place = scores("lovely film lovely plot lovely", "position")
    assert len(set(by_place)) == 5
    assert len(set(scores("Lovely lovely", "type"))) == 2  # as in the package, by how it is written
    chosen = scores("lovely film lovely plot lovely", "type", selection="highest_weights", num_features=1)
    assert chosen[0] == chosen[2] == chosen[4] != 0
    assert chosen[1] == chosen[3] == 0
