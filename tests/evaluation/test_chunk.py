"""The part of an evaluation that other processes can share."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from toy import toy_texts
from vmask import TextClassifier, evaluate
from vmask.evaluation import run
from vmask.inference.work import Here

TEXTS, LABELS = toy_texts(24)
MEASURED = {"metrics": "all", "explainers": {"lime": {"samples": 20}, "mask": {}}, "n": 20}


class Elsewhere(Here):
    """Does the work as another process would: all that is sent and returned is pickled."""

    def __call__(self, work, jobs):
        assert not list(find_models(work))
        there = pickle.loads(pickle.dumps(work))
        results = super().__call__(there, (pickle.loads(pickle.dumps(job)) for job in jobs))
        return (pickle.loads(pickle.dumps(result)) for result in results)


def find_models(work):
    """The values of a work that are models."""
    return (value for value in vars(work).values() if hasattr(value, "predict_docs"))


def same(one, other):
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())
    for mine, theirs in zip(one.found, other.found, strict=True):
        assert list(mine) == list(theirs)
        for key in mine:
            np.testing.assert_array_equal(mine[key].values, theirs[key].values)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_evaluation_that_is_shared_is_the_same(fitted, monkeypatch, threads):
    monkeypatch.setattr(run, "CHUNK", 8)
    here = evaluate(fitted, (TEXTS, LABELS), **MEASURED)
    same(evaluate(fitted, (TEXTS, LABELS), **MEASURED, share=Elsewhere([fitted.predictor_], threads)), here)


def test_several_trainings_are_told_apart(fitted, toy):
    other = TextClassifier(embeddings="random", epochs=6, model__filters=12, seed=2).fit(*toy)
    measured = {**MEASURED, "metrics": "accuracy,aopc,stability"}
    share = Elsewhere([fitted.predictor_, other.predictor_])
    same(
        evaluate([fitted, other], (TEXTS, LABELS), **measured, share=share),
        evaluate([fitted, other], (TEXTS, LABELS), **measured),
    )


def test_the_batch_size_is_that_of_the_models_elsewhere(fitted):
    measured = {**MEASURED, "metrics": "accuracy,aopc", "batch_size": 3}
    share = Elsewhere([fitted.predictor_.batched(3)])
    same(
        evaluate(fitted, (TEXTS, LABELS), **measured, share=share),
        evaluate(fitted, (TEXTS, LABELS), **measured),
    )
