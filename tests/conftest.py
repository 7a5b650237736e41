"""Fixtures: toy texts of our own, and no network."""

from __future__ import annotations

import functools
import os
import socket
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers and their subprocesses share the cores

from tiny_encoders import save_encoder
from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask.errors import VmaskWarning

settings.register_profile("no clock", deadline=None)  # machines are noisy: no test asserts seconds
settings.load_profile("no clock")

ROOT = Path(__file__).parents[1]
pytest_plugins = ["masked"]


def pytest_collection_modifyitems(items):
    """The README's commands take longest: begun first, no process has to wait for them at the end."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


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


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """The folder of a tiny pretrained encoder, by its family. Do not write to it."""

    @functools.cache
    def make(family="bert", **more):
        return save_encoder(family, tmp_path_factory.mktemp("encoders") / family, **more)

    return make


@pytest.fixture(scope="session")
def fitted_encoder(encoder_folder, toy):
    """A trained tiny encoder, by its family, mask and further options."""

    @functools.cache
    def make(family="bert", mask="vmask", **options):
        texts, labels = toy
        chosen = {"epochs": 1, "batch_size": 20, "learning_rate": 1e-3, "device": "cpu", **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
            classifier = TextClassifier(str(encoder_folder(family)), mask, **chosen)
            return classifier.fit(texts[:60], labels[:60], dev=(texts[60:80], labels[60:80]))

    return make


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
