"""Training of tiny encoders."""

from __future__ import annotations

import functools
import warnings

import pytest
import torch

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import VmaskWarning

TEXTS, LABELS = toy_texts(60)
DEV = toy_texts(20, seed=1)
STEPS = 3
"""Steps of an epoch."""


@pytest.fixture(scope="session")
def fit(encoder_folder):
    """Train a tiny encoder for a few steps."""

    def run(mask="vmask", family="bert", *, dev=DEV, texts=TEXTS, labels=LABELS, quiet=True, **options):
        during = {name: options.pop(name) for name in ("checkpoint", "resume", "progress") if name in options}
        chosen = {"epochs": 2, "batch_size": 20, "learning_rate": 1e-3, "device": "cpu", **options}
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
            classifier = TextClassifier(str(encoder_folder(family)), mask, **chosen)
            return classifier.fit(texts, labels, dev=dev, **during)

    return run


@pytest.fixture(scope="session")
def fit_once(fit):
    """The same, trained once for all tests that ask for the same. Do not change it."""
    return functools.cache(fit)


@pytest.fixture(scope="session")
def weights():
    """A copy of all weights, by name."""

    def copy(classifier):
        return {name: t.clone() for name, t in classifier.predictor_.model.state_dict().items()}

    return copy


@pytest.fixture(scope="session")
def equal():
    """Whether two sets of weights are the same to the last bit, in the parts whose names have a word in them."""

    def compare(one, two, part=""):
        names = [name for name in one if part in name]
        assert names
        assert names == [name for name in two if part in name]
        return all(torch.equal(one[name], two[name]) for name in names)

    return compare
