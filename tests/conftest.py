"""Fixtures: toy texts of our own, and no network."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no clock", deadline=None)  # machines are noisy: no test asserts seconds
settings.load_profile("no clock")

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers and their subprocesses share the cores

from toy import toy_texts, write_csv
from vmask import TextClassifier

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def no_network(request, monkeypatch):
    """A test that reaches for the network fails, unless it says that it is slow and downloads."""
    if "slow" in request.keywords:
        return

    def refuse(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise OSError(f"no network in tests: {address}")
        return connect(self, address)

    connect = socket.socket.connect
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch, request):
    """No test reads or writes the user's cache."""
    if "slow" not in request.keywords:
        monkeypatch.setenv("VMASK_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("VMASK_DATA", raising=False)


@pytest.fixture(scope="session")
def toy():
    """Texts and labels that a small model learns."""
    return toy_texts(160)


@pytest.fixture(scope="session")
def fitted(toy):
    """A trained CNN-VMASK."""
    texts, labels = toy
    return TextClassifier(embeddings="random", epochs=6, model__filters=12, seed=1).fit(texts, labels)


@pytest.fixture(scope="session")
def model_folder(fitted, tmp_path_factory):
    """The same as a model folder. Do not write to it."""
    return fitted.save(tmp_path_factory.mktemp("models") / "cnn")


@pytest.fixture
def toy_csv(tmp_path):
    """A CSV with the columns `review` and `stars`."""
    return write_csv(tmp_path / "reviews.csv", *toy_texts(120), header=("review", "stars"))


@pytest.fixture(scope="session")
def shared():
    """The development data beside the checkout, where there is any."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("needs the development data folder beside the checkout")
    return folder
