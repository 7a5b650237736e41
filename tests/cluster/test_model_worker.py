"""What a worker does, in this process."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from vmask import __version__
from vmask.cluster import model_worker
from vmask.cluster.model_worker import ModelWorker
from vmask.errors import ConfigError, DataError, ModelFolderError
from vmask.inference.work import PredictWork, Shard


class Parcel:
    def __init__(self, path):
        self.path = path

    def unpacked(self):
        return self.path


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """What a worker sets for its whole process."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setattr(model_worker, "import_ray", lambda: SimpleNamespace(get=lambda reference: reference))
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_worker_loads_the_models_once_and_does_jobs_by_one_thread(fitted, model_folder):
    begun = []

    class Noted(PredictWork):
        def begin(self, models):
            begun.append(models[self.model].batch_rows)
            return super().begin(models)

    worker = ModelWorker()
    assert worker.load(__version__, [Parcel(model_folder)], "cpu", 7) is None
    assert torch.get_num_threads() == 1
    for text in ("a lovely film", "awful"):
        np.testing.assert_array_equal(worker.do(1, [Noted()], Shard(0, [text])), fitted.predict_proba([text]))
    assert begun == [7]


def test_errors_of_the_user_are_returned(model_folder, tmp_path):
    worker = ModelWorker()
    assert isinstance(worker.load("0.0.1", [], "cpu", None), ConfigError)
    assert "Install the same version" in str(worker.load("0.0.1", [], "cpu", None))
    assert isinstance(worker.load(__version__, [Parcel(tmp_path)], "cpu", None), ModelFolderError)

    class Bad:
        def begin(self, models):
            def fail(job):
                raise DataError(job)

            return fail

    assert str(worker.do(1, [Bad()], "It cannot be read.")) == "It cannot be read."
