"""The graph in torch: the same probabilities as the model, under every mask and option, whatever the padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.errors import ConfigError
from vmask.export.graph import word_graph
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.models.contract import WordEncoder
from vmask.text.batches import collate

TEXTS = [[3, 4, 5, 6, 7, 8, 9], [5, 4], [6], [7, 3, 3, 3], [], [1, 1], list(range(1, 30))]
WORD_MODELS = [name for name in MODELS.names() if issubclass(MODELS.get(name), WordEncoder)]
L2X = {"mask": "l2x", "mask__k": 2}


def batch(texts, length=0):
    return collate([np.array(text, dtype=np.int32) for text in texts], length=length)


def padded(texts, length=0):
    longest = max([length, *map(len, texts)])
    return torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts], dtype=torch.long)


def assert_same(graph, model, texts, pad_length=0, extra=0):
    with torch.no_grad():
        expected = torch.softmax(model(batch(texts, pad_length)).logits, 1)
        answer = graph(padded(texts, extra))
    torch.testing.assert_close(answer, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("name", WORD_MODELS)
def test_every_mask_and_model_answers_the_same(build, name, mask):
    model = build(name, mask)
    graph = word_graph(model)
    assert (graph.mask is None) == model.mask.word_level()
    assert_same(graph, model, TEXTS)
    assert_same(graph, model, TEXTS, extra=50)
    for text in TEXTS:
        assert_same(graph, model, [text])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cnn", {"model__padding": "narrow"}),
        ("cnn", {"model__padding": "narrow", "model__widths": (1, 9)}),
        ("cnn", {"model__widths": (2,), **L2X}),
        ("cnn", {"mask": "l2x", "mask__mode": "soft"}),
        ("cnn", {"mask": "l2x", "mask__mode": "soft", "mask__normalise": True}),
        ("cnn", {"mask__inference": "threshold"}),
        ("lstm", {"model__squash": True, "model__embedding_dropout": 0.3, "model__double_softmax": True}),
        ("lstm", L2X),
    ],
)
def test_options_are_kept(build, name, options):
    model = build(name, **{"mask": "vmask", **options})
    graph = word_graph(model)
    assert_same(graph, model, TEXTS)
    assert_same(graph, model, [[]])


@pytest.mark.parametrize("mask", ["vmask", "iba", "l2x"])
@pytest.mark.parametrize(("name", "length"), [("cnn", 40), ("cnn", 2), ("lstm", 40)])
def test_padding_that_counts_is_that_of_the_predictor(build, name, mask, length):
    model = build(name, mask, preset="paper_code")
    graph = word_graph(model, pad_length=length)
    texts = [text for text in TEXTS if len(text) <= length]
    assert_same(graph, model, texts, pad_length=length)
    for text in texts:
        assert_same(graph, model, [text], pad_length=length)
        assert_same(graph, model, [text], pad_length=length, extra=length + 9)


@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_a_model_whose_answer_depends_on_the_batch_is_refused(build, name):
    with pytest.raises(ConfigError, match=r"depends on the other texts.*Train it with --pad-to-max"):
        word_graph(build(name, "vmask", model__count_padding=True))


@pytest.mark.parametrize("mask", ["vmask", "l2x"])
def test_the_model_is_not_changed(build, mask):
    model = build("cnn", mask)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    word_graph(model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert {name for name, parameter in model.named_parameters() if parameter.requires_grad} == trained


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(st.lists(st.integers(1, 29), max_size=12), min_size=1, max_size=5),
    st.integers(0, 20),
    st.sampled_from([("cnn", {"mask": "vmask"}), ("cnn", L2X), ("lstm", {"mask": "iba"}), ("lstm", L2X)]),
)
def test_any_texts_with_any_padding(build, texts, extra, case):
    name, options = case
    model = build(name, **options)
    assert_same(word_graph(model), model, texts, extra=extra)
