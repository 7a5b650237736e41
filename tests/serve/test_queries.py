"""A model that looks up between slices of its work gives the same answers, and can be stopped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from predictors import piece_predictor, random_text, word_predictor
from serve.helpers import TEXT
from vmask.explain import EXPLAINERS
from vmask.explain.api import explain_texts
from vmask.serve.jobs import JobCancelled
from vmask.serve.queries import (
    GPU_POSITIONS,
    QUICK_POSITIONS,
    SLOW_POSITIONS,
    CancellablePredictor,
    ExplanationQuery,
    slice_positions,
)

TEXTS = [random_text(length, seed) for seed, length in enumerate((9, 0, 1, 23, 9, 14))]
OPTIONS = {
    "lime": {"samples": 40},
    "shapley": {"permutations": 3, "enumerate_up_to": 2},
    "integrated_gradients": {"steps": 8},
}


@pytest.fixture(scope="module", params=["cnn", "lstm", "bert"])
def predictor(request, build, build_encoder):
    if request.param == "bert":
        return piece_predictor(build_encoder, "bert", "vmask")
    return word_predictor(build, request.param, "vmask")


class Counting:
    """Counts the looks, and stops at one of them."""

    def __init__(self, stop_at=None):
        self.looks, self.stop_at = 0, stop_at

    def __call__(self):
        self.looks += 1
        if self.looks == self.stop_at:
            raise JobCancelled


@pytest.mark.parametrize("positions", [1, 25, 10**9])
@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
def test_perturbations_are_answered_alike_however_they_are_sliced(predictor, positions, hide):
    docs = predictor.prepare(TEXTS)
    random = np.random.default_rng(0)
    keep = [random.random((rows, len(doc.spans))) > 0.4 for rows, doc in zip((5, 3, 0, 8, 1, 2), docs, strict=True)]
    check = Counting()
    found = CancellablePredictor(predictor, check, positions).predict_kept(docs, keep, hide)
    for one, expected in zip(found, predictor.predict_kept(docs, keep, hide), strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-6)
        assert one.dtype == np.float32
    rows = sum(map(len, keep))
    assert check.looks == {1: rows, 10**9: 1}.get(positions, check.looks)
    assert check.looks <= rows


@pytest.mark.parametrize("positions", [1, 25, 10**9])
def test_texts_are_answered_alike_however_they_are_sliced(predictor, positions):
    check = Counting()
    watched = CancellablePredictor(predictor, check, positions)
    docs = watched.prepare(TEXTS)
    expected = predictor.predict_docs(predictor.prepare(TEXTS))
    np.testing.assert_allclose(watched.predict_docs(docs), expected, atol=1e-6)
    looks = check.looks
    assert looks == {1: len(set(TEXTS)), 10**9: 1}.get(positions, looks)
    np.testing.assert_allclose(watched.predict_docs(docs[::-1]), expected[::-1], atol=1e-6)
    assert check.looks == looks  # what is known is not asked again
    others = predictor.prepare(TEXTS[:2])  # cut by another: nothing is known of these
    mixed = [docs[3], *others, docs[0]]
    np.testing.assert_allclose(watched.predict_docs(mixed), expected[[3, 0, 1, 0]], atol=1e-6)
    assert check.looks > looks
    assert watched.predict_docs([]).shape == (0, 3)


@pytest.mark.parametrize("positions", [1, 25])
@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_explanations_are_those_of_the_model_itself(predictor, method, positions):
    options = OPTIONS.get(method, {})
    check = Counting()
    found = list(explain_texts(CancellablePredictor(predictor, check, positions), TEXTS, method, **options))
    for one, expected in zip(found, explain_texts(predictor, TEXTS, method, **options), strict=True):
        assert (one.words, one.target, one.method, one.options) == (
            expected.words,
            expected.target,
            expected.method,
            expected.options,
        )
        np.testing.assert_allclose(one.scores, expected.scores, atol=1e-5)
        assert one.probability == pytest.approx(expected.probability, abs=1e-6)
    assert check.looks > 0


@pytest.mark.full
@pytest.mark.parametrize("method", ["lime", "shapley", "occlusion", "integrated_gradients"])
def test_work_ends_at_the_look_that_says_so(predictor, method):
    texts, options = TEXTS[3:], OPTIONS.get(method, {})
    whole = Counting()
    list(explain_texts(CancellablePredictor(predictor, whole, 25), texts, method, **options))
    assert whole.looks > 4
    for stop_at in (1, whole.looks // 2, whole.looks):
        check = Counting(stop_at)
        with pytest.raises(JobCancelled):
            list(explain_texts(CancellablePredictor(predictor, check, 25), texts, method, **options))
        assert check.looks == stop_at  # nothing more was begun


def test_a_method_that_asks_the_model_but_once_is_watched_between_texts(served):
    texts = [f"{TEXT} {number}" for number in range(9)]
    explaining, check = ExplanationQuery("random", None, None, 0, {}), Counting()
    assert len(explaining.explain(served, texts, check)) == 9
    assert check.looks >= 9
    with pytest.raises(JobCancelled):
        explaining.explain(served, texts, Counting(5))


def test_gradients_look_up_between_the_steps_of_one_text(predictor):
    check = Counting()
    list(explain_texts(CancellablePredictor(predictor, check, 25), TEXTS[:1], "integrated_gradients", steps=20))
    assert check.looks >= 5


def test_no_slice_is_larger_than_it_may_be(predictor):
    class Measured:
        def __getattr__(self, name):
            return getattr(predictor, name)

        def predict_kept(self, docs, keep, hide="remove"):
            sizes.append(sum(len(rows) * max(len(doc.ids), 1) for doc, rows in zip(docs, keep, strict=True)))
            return predictor.predict_kept(docs, keep, hide)

    sizes = []
    docs = predictor.prepare(TEXTS)
    keep = [np.ones((7, len(doc.spans)), bool) for doc in docs]
    CancellablePredictor(Measured(), lambda: None, 60).predict_kept(docs, keep)
    assert sum(sizes) == sum(7 * max(len(doc.ids), 1) for doc in docs)
    assert max(sizes) <= 60
    assert all(one + after > 60 for one, after in itertools.pairwise(sizes))  # and none is needlessly small


def test_what_it_does_not_know_is_asked_of_the_model(predictor):
    watched = CancellablePredictor(predictor, lambda: None)
    assert watched.labels == predictor.labels
    assert watched.batched(2)._predictor.batch_rows == 2
    with pytest.raises(AttributeError):
        _ = watched.none
    with pytest.raises(Exception, match="burn"):
        watched.predict_kept([], [], "burn")


def test_slow_models_are_sliced_finely(predictor):
    assert slice_positions(predictor) == (QUICK_POSITIONS if predictor.quick else SLOW_POSITIONS)
    on_gpu = type("OnGpu", (), {"quick": False, "device": torch.device("cuda")})()
    assert slice_positions(on_gpu) == GPU_POSITIONS
