"""Texts in shards: the explanations of `explain_texts`, exactly."""

from __future__ import annotations

import pytest

from toy import toy_texts
from vmask.errors import ConfigError, UnknownName
from vmask.explain import shards
from vmask.explain.api import CHUNK, explain_texts
from vmask.explain.shards import ExplainWork, explain_shards
from vmask.inference.work import Here

TEXTS = [f"{text} {number}" for number, text in enumerate(toy_texts(70)[0])]


class Noted(Here):
    """Does the work here, and notes the shards."""

    def __call__(self, work, jobs):
        self.jobs.extend(jobs := list(jobs))
        return super().__call__(work, jobs)


@pytest.fixture
def share(fitted):
    noted = Noted([None, fitted.predictor_])
    object.__setattr__(noted, "jobs", [])
    return noted


@pytest.mark.parametrize(
    ("method", "options", "target"),
    [("lime", {"samples": 30}, None), ("shapley", {"permutations": 2}, "pos"), ("mask", {}, None)],
)
def test_explanations_are_the_same(fitted, share, monkeypatch, method, options, target):
    monkeypatch.setattr(shards, "QUICK_BATCHES", 2)
    work = ExplainWork(method, options, target=target, seed=3, model=1)
    found = list(explain_shards(share, work, fitted, iter(TEXTS), first=100))
    assert found == list(explain_texts(fitted, TEXTS, method, target=target, seed=3, **options))
    assert [(job.first, len(job.texts)) for job in share.jobs] == [(100, 64), (164, 6)]


def test_shards_are_whole_batches_and_end_early_if_texts_are_long(fitted, share, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_CHARACTERS", 100)
    list(explain_shards(share, ExplainWork("mask", model=1), fitted, TEXTS))
    assert [len(job.texts) for job in share.jobs] == [CHUNK, CHUNK, len(TEXTS) - 2 * CHUNK]


def test_a_shard_of_a_slow_model_is_one_batch(fitted, share, monkeypatch):
    monkeypatch.setattr(type(fitted.predictor_), "quick", False)
    work = ExplainWork("lime", {"samples": 1000}, model=1)
    found = list(explain_shards(share, work, fitted, TEXTS[:5]))
    assert [len(job.texts) for job in share.jobs] == [2, 2, 1]
    assert found == list(explain_texts(fitted, TEXTS[:5], "lime", samples=1000))


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (ExplainWork("lime", {"samples": 1}), ConfigError),
        (ExplainWork("lime", hide="mask"), ConfigError),
        (ExplainWork("lime", target="poss"), UnknownName),
    ],
)
def test_wrong_options_are_said_before_a_text_is_read(fitted, share, work, error):
    def texts():
        raise AssertionError("a text is read")
        yield ""

    with pytest.raises(error):
        explain_shards(share, work, fitted, texts())
