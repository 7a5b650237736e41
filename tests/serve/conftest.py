"""A tiny served model, a client that speaks to the app in this process, models that a test can hold up, a browser."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import pytest
from starlette.testclient import TestClient

from serve.browser import ARGUMENTS, Watch, find_browser
from serve.helpers import BASE_URL, WAIT, Gate
from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask.serve.app import build_app
from vmask.serve.config import ServeConfig
from vmask.serve.loaded_model import Examples, LoadedModel, load_models


@pytest.fixture(scope="session")
def base_folder(toy, tmp_path_factory):
    """A model folder without word scores. Do not write to it."""
    texts, labels = toy
    made = TextClassifier(mask="base", embeddings="random", epochs=2, model__filters=8, seed=1).fit(texts, labels)
    return made.save(tmp_path_factory.mktemp("models") / "base")


@pytest.fixture(scope="session")
def data_csv(tmp_path_factory):
    """Labelled texts to take examples from."""
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", *toy_texts(120, seed=3))


@pytest.fixture(scope="session")
def models(model_folder, base_folder, data_csv):
    """What is served: a CNN that ranks words, with examples, and one that does not rank them."""
    return load_models([model_folder, base_folder], data=str(data_csv), device="cpu")


@pytest.fixture
def make_client(models):
    """A client for an app with limits of the test's own; `served` for other models."""
    with clients(models) as make:
        yield make


@contextmanager
def clients(models):
    """A function that opens clients, which are closed at the end."""
    opened = []

    def make(served=None, headers=None, **limits):
        again = [
            LoadedModel(one.name, one.classifier, _anew(one.examples), one.no_examples) for one in served or models
        ]
        client = TestClient(
            build_app(again, ServeConfig(**limits)), base_url=BASE_URL, headers=headers, raise_server_exceptions=False
        )
        opened.append(client)
        client.__enter__()
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)
        assert client.app.state.api.close(WAIT)


def _anew(examples):
    return examples and Examples(examples.dataset, examples.split, examples.texts, examples.labels, examples.numbers)


@pytest.fixture(scope="module")
def client(models):
    """A client for an app with the usual limits, for all tests of a file."""
    with clients(models) as make:
        yield make()


@pytest.fixture(scope="module")
def shared_client(models):
    """A client for an app by its limits, one for all tests of a file that ask for the same."""
    with clients(models) as make:
        yield cache(make)


@pytest.fixture
def served(models):
    """The model that ranks words."""
    return models[0]


@pytest.fixture
def gated(make_client, models):
    """A client, and the gate of its only model."""
    gates = []

    def make(**limits):
        client = make_client([models[0]], **limits)
        gate = Gate(client.app.state.api.models[0].predictor)
        client.app.state.api.models[0].predictor = gate
        gates.append(gate)
        return client, gate

    yield make
    for gate in gates:
        gate.open.set()


@pytest.fixture(scope="module")
def browser():
    """Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser, site):
    """A window before the `site` of a file of tests."""
    from playwright.sync_api import expect

    found = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce", base_url=site.address)
    found.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    yield found
    found.close()


@pytest.fixture
def watch(context, site):
    """What the page complains about, which must be nothing."""
    watching = Watch(context, site.address)
    yield watching
    watching.check()


@pytest.fixture
def page(context, watch):
    """The page as it opens, with its words coloured."""
    found = context.new_page()
    found.goto("/")
    found.locator(".word").first.wait_for()
    return found
