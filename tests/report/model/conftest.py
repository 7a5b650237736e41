"""A dataset of toy texts, a model that was trained on it, and its report."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from toy import toy_texts
from vmask import TextClassifier
from vmask.data.datasets import Dataset, Split
from vmask.errors import VmaskWarning
from vmask.evaluation.dataset_training import describe_training, fit_dataset
from vmask.inference.contract import BasePredictor, Doc
from vmask.report.model.collect import collect

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>"


def split(texts, labels, name):
    return Split(list(texts), list(labels), [f"{name}-{i}" for i in range(len(texts))])


def dataset_of(*, label=str, **splits):
    """A dataset of these splits, each (texts, labels)."""
    made = {name: split(texts, [label(one) for one in labels], name) for name, (texts, labels) in splits.items()}
    labels = tuple(sorted({one for part in made.values() for one in part.labels}))
    return Dataset("toys", made, labels, None, ("A note.",), "f" * 64, "review", "mood")


@pytest.fixture(scope="session")
def toys():
    """Toy reviews in three splits."""
    return dataset_of(train=toy_texts(120, 0), dev=toy_texts(30, 1), test=toy_texts(40, 2))


@pytest.fixture(scope="session")
def train():
    """A model trained on a dataset as `vmask train` does it."""

    def make(dataset, mask="vmask", model="cnn", **options):
        few = {"embeddings": "random", "epochs": 3, "model__filters": 8, "learning_rate": 0.01, "seed": 1}
        options = {**(few if model == "cnn" else {}), **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
            classifier = fit_dataset(TextClassifier(model, mask, device="cpu", **options), dataset)
        describe_training(classifier, dataset, 1.5)
        return classifier

    return make


@pytest.fixture(scope="session")
def model(train, toys):
    """A CNN-VMASK."""
    return train(toys)


@pytest.fixture(scope="session")
def base(train, toys):
    """A CNN without a ranking of words."""
    return train(toys, "base")


@pytest.fixture(scope="session")
def tiny_encoder(train, toys, encoder_folder):
    """A tiny encoder, by its mask."""

    @functools.cache
    def make(mask="vmask"):
        return train(toys, mask, str(encoder_folder("bert")), epochs=1, batch_size=20, learning_rate=1e-3)

    return make


@pytest.fixture(scope="session")
def content(model, toys):
    """The full report of the CNN-VMASK."""
    return collect(model, toys, folder="my model")


@pytest.fixture(scope="session")
def evil(train):
    """The report of a model whose words, labels and texts are markup."""
    texts = [f"{EVIL} {one} \u2028 <b>" for one in toy_texts(60)[0]]
    labels = [f"{EVIL}{one}" for one in toy_texts(60)[1]]
    data = dataset_of(
        train=(texts[:40], labels[:40]), dev=(texts[40:50], labels[40:50]), test=(texts[50:], labels[50:])
    )
    data = replace(data, name=EVIL, notes=(EVIL,), text=EVIL)
    return collect(train(data), data, folder=EVIL)


class Table(BasePredictor):
    """A predictor that says of each text what a table says."""

    quick = True

    def __init__(self, labels, table):
        self.labels, self.table = labels, table

    def prepare(self, texts):
        return [Doc(text, (), np.zeros(0, np.int32)) for text in texts]

    def predict_docs(self, docs):
        return np.array([self.table[doc.text] for doc in docs], np.float32).reshape(len(docs), len(self.labels))


@pytest.fixture(scope="session")
def table():
    """A predictor of the given answers and the dataset of its texts."""

    def make(labels, truth, probabilities, split="test"):
        texts = [f"text {at}" for at in range(len(truth))]
        parts = {"train": (texts, truth), "dev": (texts, truth), "test": ([], [])}
        parts[split] = (texts, truth)
        return Table(labels, dict(zip(texts, probabilities, strict=True))), dataset_of(**parts)

    return make


class Reader(HTMLParser):
    """Tags, what could load something, what is shown; and that every tag is closed."""

    VOID = {"meta", "link", "img", "br", "input"}

    def __init__(self, html):
        super().__init__()
        self.tags, self.loads, self.open, self.handlers, self.text = [], [], [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "xlink:href")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "rect", "line", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text += data


@pytest.fixture
def read():
    """What a page is made of."""
    return Reader
