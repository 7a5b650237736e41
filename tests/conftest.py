"""Fixtures: toy texts of our own, and no network."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import warnings
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers and their subprocesses share the cores

os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_worker_niceness="0")  # Ray stays on this machine

# torch and all that imports it is imported by fixtures: the process that hands out the tests has no use for it.
from toy import toy_texts, write_csv
from vmask.errors import VmaskWarning

settings.register_profile("deep", deadline=None)  # machines are noisy: no test asserts seconds
settings.register_profile("quick", deadline=None, max_examples=20)  # see `thoroughness.examples`
settings.load_profile("deep")

ROOT = Path(__file__).parents[1]
pytest_plugins = ["masked"]


MANY = 8
"""Cases of a test above which `make test` runs a part of their product."""


def pytest_configure(config):
    """Properties are tried with few examples by `make test`, and once more with many by `make test-full`."""
    if config.option.markexpr == "not full":
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` says
def pytest_collection_modifyitems(config, items):
    """Mark what `make test` leaves to `make test-full`; begin with the README's commands, which take longest."""
    cases = {}
    deep = config.option.markexpr == "full"
    for item in items:
        if "slow" in item.keywords or (deep and is_hypothesis_test(getattr(item, "obj", None))):
            item.add_marker("full")
        if hasattr(item, "callspec"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for product in cases.values():
        if len(product) > MANY:
            for item in without_new_combinations(product):
                item.add_marker("full")
    items.sort(key=lambda item: item.path.name != "test_readme.py")


def without_new_combinations(product):
    """Cases of a product that can be left out: of n parameters, every combination of values of n - 1 stays.

    Of a product of two parameters every value of each stays, of three every pair. Cases that are no product, such as
    inputs with their answers, each have a value of their own and stay.
    """
    seen = set()
    for item in product:
        values = sorted((name, spelt(value)) for name, value in item.callspec.params.items())
        size = max(len(values) - 1, 1)
        combinations = set(itertools.combinations(values, size))
        if combinations <= seen:
            yield item
        seen |= combinations


def spelt(value):
    """A value as it can be compared with others."""
    try:
        return repr(value)
    except ValueError:  # a number of thousands of digits
        return str(id(value))


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
    from vmask import TextClassifier

    texts, labels = toy
    options = {"embeddings": "random", "epochs": 6, "model__filters": 12, "seed": 1, "duplicates": "ignore"}
    return TextClassifier(**options).fit(texts, labels)


@pytest.fixture(scope="session")
def model_folder(fitted, tmp_path_factory):
    """The same as a model folder. Do not write to it."""
    return fitted.save(tmp_path_factory.mktemp("models") / "cnn")


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """The folder of a tiny pretrained encoder, by its family. Do not write to it."""
    from tiny_encoders import save_encoder

    @functools.cache
    def make(family="bert", **more):
        return save_encoder(family, tmp_path_factory.mktemp("encoders") / family, **more)

    return make


@pytest.fixture(scope="session")
def fitted_encoder(encoder_folder, toy):
    """A trained tiny encoder, by its family, mask and further options."""
    from vmask import TextClassifier

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
