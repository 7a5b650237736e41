"""Many texts at once: the probabilities of each alone, whatever the company, the order and what is cached."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import VmaskWarning
from vmask.inference import many_texts
from vmask.text.vocabulary import WordTokenizer

TEXTS = [
    *toy_texts(30)[0],
    "",
    "   ",
    "unheard of",
    "Grüße 电影 👍🏽",
    "lovely " * 500,
    "half \ud83d",
    *toy_texts(9)[0],
]


@pytest.fixture(scope="module", params=[("cnn", "vmask"), ("cnn", "base"), ("cnn", "select"), ("lstm", "vmask")])
def predictor(request):
    model, mask = request.param
    texts, labels = toy_texts(60)
    size = {"model__filters": 4} if model == "cnn" else {"model__hidden": 4}
    classifier = TextClassifier(model=model, mask=mask, embeddings="random", epochs=2, **size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # trained too little to rank words
        return classifier.fit(texts, labels).predictor_


@pytest.mark.parametrize("positions", [1, 300, 1 << 19])
@pytest.mark.parametrize("words", [2, 1 << 15])
def test_they_are_those_of_prepared_texts(predictor, monkeypatch, positions, words):
    monkeypatch.setattr(many_texts, "MANY_TEXTS", 3)
    monkeypatch.setattr(many_texts, "POSITIONS", positions)
    monkeypatch.setattr(many_texts, "WORDS", words)
    expected = predictor.predict_docs(predictor.prepare(TEXTS))
    np.testing.assert_allclose(predictor.predict_texts(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(predictor.predict_texts(TEXTS[::-1]), expected[::-1], atol=1e-6)


def test_equal_texts_are_read_once(predictor, monkeypatch):
    read = []
    monkeypatch.setattr(type(predictor), "ids_of", lambda self, texts: read.append(texts) or _ids(self, texts))
    rows = predictor.predict_texts(["a", "b", "a", "a"])
    assert read == [["a", "b"]]
    assert (rows[0] == rows[2]).all()
    assert predictor.predict_texts([]).shape == (0, 2)


def _ids(predictor, texts):
    return [doc.ids for doc in predictor.prepare(texts)]


def test_a_model_that_is_quicker_by_it_uses_the_cache(predictor, monkeypatch):
    monkeypatch.setattr(many_texts, "MANY_TEXTS", 3)
    monkeypatch.setattr(type(predictor.model), "forward", lambda *given: pytest.fail("run on every text"))
    if predictor.model.encoder.reads_many:
        predictor.predict_texts(["a", "b", "c"])
    else:
        with pytest.raises(pytest.fail.Exception):
            predictor.predict_texts(["a", "b", "c"])


@pytest.mark.parametrize("cleaning", ["paper", "gentle"])
@given(texts=st.lists(st.text(max_size=30)), most=st.integers(1, 5))
@settings(max_examples=examples(50))
def test_ids_alone_are_those_of_encode(cleaning, texts, most):
    tokenizer = WordTokenizer.build(["a", "b", "0", "!"], cleaning, most)
    assert [ids.tolist() for ids in tokenizer.ids(texts)] == [one.ids.tolist() for one in tokenizer.encode(texts)]
