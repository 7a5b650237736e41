"""Work that can be shared, and computation by one thread."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmask.inference.threads import single_threaded
from vmask.inference.work import Here, PredictWork, Shard, numbered, with_jobs


def test_shards_know_which_texts_they_are():
    shards = list(numbered([["a", "b"], ["c"]], first=1_000))
    assert shards == [Shard(1_000, ["a", "b"]), Shard(1_002, ["c"])]
    assert str(shards[0]) == "texts 1,001 to 1,002"


class Double:
    def begin(self, models):
        return lambda job: models[0] * job


@pytest.mark.parametrize("threads", [1, 3])
def test_each_job_comes_with_its_result(threads):
    assert list(with_jobs(Here([2], threads), Double(), iter(range(9)))) == [(job, 2 * job) for job in range(9)]


def test_predictions_of_shards_are_those_of_the_model(fitted):
    shards = list(numbered([["a lovely film", "awful"], ["so boring"]]))
    parts = list(Here([None, fitted.predictor_])(PredictWork(model=1), shards))
    for shard, part in zip(shards, parts, strict=True):
        np.testing.assert_array_equal(part, fitted.predict_proba(shard.texts))


def test_one_thread_computes_until_the_end_of_the_context():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with single_threaded():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
