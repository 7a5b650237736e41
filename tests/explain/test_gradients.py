"""Integrated gradients, gradient times input and saliency: what they must sum to, and what they are by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from torch import nn

import vmask.inference.predictor
from predictors import piece_predictor, random_text, word_predictor
from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError, MissingExtra
from vmask.explain import EXPLAINERS
from vmask.explain._gradients import per_word
from vmask.explain.api import explain_texts
from vmask.inference.contract import Doc
from vmask.inference.gradients import word_positions
from vmask.inference.predictor import WordPredictor
from vmask.masks import MASKS
from vmask.models.contract import MaskedClassifier, WordEncoder
from vmask.text.batches import collate
from vmask.text.vocabulary import WordTokenizer

METHODS = ["integrated_gradients", "gradient_x_input", "saliency"]
WORD_TEXTS = [random_text(length) for length in (1, 2, 7, 0, 15, 30)]
PIECE_TEXTS = [*toy_texts(5)[0], "", "Don't go! (It's 42° outside.)"]


@pytest.fixture(scope="module")
def make(build, build_encoder):
    """A predictor with texts for it: `cnn`, `lstm`, or the family of an encoder."""

    def made(model, mask="vmask", **options):
        if model in ("cnn", "lstm"):
            return word_predictor(build, model, mask, **options), WORD_TEXTS
        return piece_predictor(build_encoder, model, mask, **options), PIECE_TEXTS

    return made


def explained(method, predictor, texts, targets=None, **options):
    kind = EXPLAINERS.get(method)
    return list(kind(kind.Options(**options)).explain(predictor, predictor.prepare(texts), targets))


def without_words(predictor, texts):
    docs = predictor.prepare(texts)
    nothing = [np.zeros((1, len(doc.spans)), np.float32) for doc in docs]
    return np.concatenate(predictor.predict_kept(docs, nothing, "zero"))


# Known answers ---------------------------------------------------------------------------------------------


class Linear(WordEncoder):
    """Its second logit is a bias and a sum over the words."""

    def __init__(self, embedding):
        super().__init__(embedding, 2, None)
        self.weight = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))

    def encode(self, x, lengths, masked):
        z = x.dense() if masked is None else masked.apply(x.dense())
        logit = (z @ self.weight * x.words).sum(1) + 0.3
        return torch.stack([torch.zeros_like(logit), logit], 1)


VECTORS = torch.tensor([[0.0, 0, 0], [0.1, 0.1, 0.1], [0.7, 0.2, 0.1], [-0.4, 0.3, 0.6], [0.2, -0.9, 0.4]])


@pytest.fixture(scope="module")
def linear():
    base = MASKS.get("base")
    model = MaskedClassifier(Linear(nn.Embedding.from_pretrained(VECTORS)), base(3, base.Options()))
    words = WordTokenizer.build(["one", "two", "three"], "gentle", 10)
    ones = np.ones(5, np.int64)
    return WordPredictor(model, words, ["no", "yes"], ones, ones.astype(bool), torch.device("cpu"))


@pytest.mark.parametrize("target", [0, 1])
def test_scores_of_a_linear_model_are_those_of_the_formulas(linear, target):
    text = "one two three one"
    parts = (VECTORS[[2, 3, 4, 2]] @ linear.model.encoder.weight).detach().double()
    total, sign = float(parts.sum()), 2 * target - 1

    def probability(logit):
        return float(torch.sigmoid(torch.tensor(sign * logit, dtype=torch.float64)))

    here = probability(total + 0.3)
    slope = sign * here * (1 - here)
    (found,) = explained("gradient_x_input", linear, [text], [target])
    np.testing.assert_allclose(found.scores, slope * parts, atol=1e-6)
    (found,) = explained("integrated_gradients", linear, [text], [target])
    np.testing.assert_allclose(found.scores, parts / total * (here - probability(0.3)), atol=1e-6)
    assert found.details["difference"] == pytest.approx(0, abs=1e-6)
    assert found.probability == pytest.approx(here)
    for norm, size in (("l2", 5.25**0.5), ("l1", 3.5), ("max", 2.0)):
        (found,) = explained("saliency", linear, [text], [target], norm=norm)
        np.testing.assert_allclose(found.scores, [abs(slope) * size] * 4, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "mask", "tolerance"),
    [
        ("cnn", "base", 0.01),  # a maximum over time has corners, which a quadrature misses
        ("cnn", "vmask", 0.01),
        ("cnn", "iba", 0.01),
        ("cnn", "l2x", 0.01),
        ("lstm", "base", 1e-3),
        ("lstm", "vmask", 1e-3),
        ("lstm", "iba", 1e-3),
        ("lstm", "l2x", 1e-3),
        ("bert", "base", 1e-5),
        ("bert", "vmask", 1e-5),
        ("bert", "iba", 1e-5),
        ("bert", "l2x", 1e-5),
    ],
)
def test_integrated_gradients_sum_to_what_the_words_do(make, model, mask, tolerance):
    predictor, texts = make(model, mask)
    rise = predictor.predict_docs(predictor.prepare(texts)) - without_words(predictor, texts)
    for row, found in enumerate(explained("integrated_gradients", predictor, texts)):
        expected = rise[row, predictor.labels.index(found.target)]
        assert sum(found.scores) == pytest.approx(expected, abs=tolerance)
        assert found.details["difference"] == pytest.approx(sum(found.scores) - expected, abs=1e-6)
    assert np.abs(rise).max() > 10 * tolerance


def test_more_steps_bring_the_sum_nearer(make):
    predictor, texts = make("cnn")

    def miss(steps):
        found = explained("integrated_gradients", predictor, texts, steps=steps)
        return max(abs(one.details["difference"]) for one in found)

    assert miss(400) < 0.2 * miss(10)


@pytest.mark.parametrize("options", [{"model__placement": "block"}, {"model__mask_special_tokens": True}])
def test_integrated_gradients_are_complete_wherever_the_mask_acts(make, options):
    predictor, texts = make("bert", **options)
    for found in explained("integrated_gradients", predictor, texts):
        assert found.details["difference"] == pytest.approx(0, abs=1e-5)


def test_padding_that_counts_stays_as_it_is(make):
    predictor, texts = make("cnn", preset="paper_code")
    assert predictor.pad_length
    rise = predictor.predict_docs(predictor.prepare(texts)) - without_words(predictor, texts)
    for row, found in enumerate(explained("integrated_gradients", predictor, texts, steps=200)):
        assert sum(found.scores) == pytest.approx(rise[row, predictor.labels.index(found.target)], abs=0.01)


@pytest.mark.parametrize("mask", ["base", "vmask", "iba", "l2x"])
@pytest.mark.parametrize("model", ["cnn", "lstm", "bert", "modernbert"])
def test_gradient_times_input_is_the_derivative_by_how_much_is_kept_of_a_word(make, model, mask):
    predictor, texts = make(model, mask)
    docs = predictor.prepare(texts)
    for doc, found in zip(docs, explained("gradient_x_input", predictor, texts), strict=True):
        keep = torch.ones(1, max(len(doc.ids), 1), requires_grad=True)
        logits = predictor.model(collate([doc.ids], pad=predictor.pad), keep).logits
        probability = torch.softmax(logits, 1)[0, predictor.labels.index(found.target)]
        (slope,) = torch.autograd.grad(probability, keep)
        expected = per_word(slope[0].double().numpy(), doc, signed=True)
        np.testing.assert_allclose(found.scores, expected, atol=1e-6)


@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
def test_keeping_a_little_less_of_a_word_changes_the_answer_as_gradient_times_input_says(make, model):
    predictor, texts = make(model)
    text, less = texts[2], 0.01
    (doc,) = predictor.prepare([text])
    (found,) = explained("gradient_x_input", predictor, [text])
    keep = 1 - less * np.vstack([np.zeros(len(doc.spans)), np.eye(len(doc.spans))])
    (answers,) = predictor.predict_kept([doc], [keep.astype(np.float32)], "zero")
    column = answers[:, predictor.labels.index(found.target)]
    np.testing.assert_allclose(found.scores, (column[0] - column[1:]) / less, atol=0.05 * np.abs(found.scores).max())


@pytest.mark.parametrize("norm", ["l2", "l1", "max"])
@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
def test_saliency_is_the_size_of_the_gradient_of_a_vector_in_the_table(make, model, norm):
    predictor, _ = make(model, "base")
    text = "my plot is what" if model == "bert" else "w3 w7 w1 w12 w5"  # every word once, in one piece
    (doc,) = predictor.prepare([text])
    encoder = predictor.model.encoder
    table = (encoder.network.get_input_embeddings() if model == "bert" else encoder.embedding).weight
    frozen = not table.requires_grad
    table.requires_grad_()
    probability = torch.softmax(predictor.model(collate([doc.ids])).logits, 1)[0, 2]
    (gradient,) = torch.autograd.grad(probability, table)
    table.requires_grad_(not frozen)
    ids = doc.ids[1:-1] if model == "bert" else doc.ids
    order = {"l2": 2, "l1": 1, "max": np.inf}[norm]
    (found,) = explained("saliency", predictor, [text], [2], norm=norm)
    np.testing.assert_allclose(found.scores, np.linalg.norm(gradient[ids].numpy(), order, axis=1), atol=1e-6)
    assert min(found.scores) > 0
    assert not found.signed


# Pieces and words ------------------------------------------------------------------------------------------


def test_pieces_are_summed_or_the_highest_taken_and_a_shared_piece_keeps_the_sum():
    owners = np.array([[1, 0], [2, 0], [3, 1], [3, 2]], np.int32)
    doc = Doc("ab c d \x07", ((0, 2), (3, 4), (5, 6), (7, 8)), np.arange(5, dtype=np.int32), 0, owners)
    values = np.array([9.0, 0.5, -0.25, 0.5, 9.0, 9.0])
    assert per_word(values, doc, signed=True).tolist() == [0.25, 0.25, 0.25, 0]
    assert per_word(np.abs(values), doc, signed=False).tolist() == [0.5, 0.5, 0.5, 0]
    words = Doc("a b", ((0, 1), (2, 3)), np.arange(2, dtype=np.int32))
    assert per_word(values, words, signed=True).tolist() == [9.0, 0.5]
    assert word_positions([doc, words], 6).astype(int).tolist() == [[0, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]]


def test_the_rule_that_made_the_scores_is_recorded(make):
    predictor, texts = make("bert")
    recorded = {method: explained(method, predictor, texts[:1])[0].options for method in METHODS}
    assert recorded["integrated_gradients"]["baseline"] == recorded["gradient_x_input"]["baseline"] == "zero"
    assert recorded["integrated_gradients"]["steps"] == 50
    assert recorded["saliency"]["norm"] == "l2"
    assert "baseline" not in recorded["saliency"]  # a gradient is compared with nothing
    assert "sum over its pieces" in recorded["gradient_x_input"]["merging"]
    assert "highest of its pieces" in recorded["saliency"]["merging"]
    assert not any("mean over" in options["merging"] for options in recorded.values())
    assert "merging" not in explained("saliency", make("cnn")[0], ["w1"])[0].options


# What must make no difference ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
def test_neither_order_nor_company_nor_batches_change_a_score(make, model, method, monkeypatch):
    predictor, texts = make(model)
    options = {"steps": 12} if method == "integrated_gradients" else {}
    scores = [one.scores for one in explained(method, predictor, texts, **options)]

    def same(others):
        for one, other in zip(scores, others, strict=True):
            np.testing.assert_allclose(other.scores, one, atol=1e-6)

    same(explained(method, predictor, texts[::-1], **options)[::-1])
    same([explained(method, predictor, [text], **options)[0] for text in texts])
    same(explained(method, predictor.batched(2), texts, **options))
    same(explain_texts(predictor, texts, method, workers=2, **options))
    monkeypatch.setattr(vmask.inference.predictor, "MAX_POSITIONS", 50)
    same(explained(method, predictor, texts, **options))


def test_the_network_is_given_no_more_than_it_may(make, monkeypatch):
    predictor, texts = make("cnn")
    shapes = []
    forward = predictor.model.encoder.encode

    def counting(x, lengths, masked):
        shapes.append(x.index.shape)
        return forward(x, lengths, masked)

    monkeypatch.setattr(predictor.model.encoder, "encode", counting)
    monkeypatch.setattr(vmask.inference.predictor, "MAX_POSITIONS", 64)
    explained("integrated_gradients", predictor, texts * 3, steps=9)
    assert max(rows * width for rows, width in shapes) <= 64
    shapes.clear()
    explained("integrated_gradients", predictor.batched(3), texts, steps=9)
    assert max(rows for rows, _ in shapes) <= 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_left_as_it_was(make, method, training):
    for model in ("cnn", "bert"):
        predictor, texts = make(model)
        parameters = dict(predictor.model.named_parameters())
        before = {name: (one.requires_grad, one.detach().clone()) for name, one in parameters.items()}
        predictor.model.train(training)
        explained(method, predictor, texts)
        assert all(module.training == training for module in predictor.model.modules())
        predictor.model.eval()
        for name, one in parameters.items():
            assert one.grad is None
            assert one.requires_grad == before[name][0]
            assert torch.equal(one, before[name][1])


@pytest.mark.parametrize("method", METHODS)
def test_a_caller_without_gradients_gets_the_same(make, method):
    for model in ("cnn", "lstm", "bert"):
        predictor, texts = make(model)
        expected = explained(method, predictor, texts)
        with torch.no_grad():
            found = explained(method, predictor, texts)
            assert not torch.is_grad_enabled()
        assert [one.scores for one in found] == [one.scores for one in expected]
        predictor.model.requires_grad_(False)
        assert [one.scores for one in explained(method, predictor, texts)] == [one.scores for one in expected]
        predictor.model.requires_grad_(True)


# The edges -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
def test_a_text_without_words_has_no_scores_and_one_word_has_one(make, model, method):
    predictor, _ = make(model)
    empty, one = explained(method, predictor, ["", "film" if model == "bert" else "w3"])
    assert empty.scores == ()
    assert 0 < empty.probability < 1
    assert empty.details.get("difference", 0) == pytest.approx(0, abs=1e-6)
    assert len(one.scores) == 1
    assert one.scores[0] != 0


def test_no_texts_have_no_explanations(make):
    assert explained("saliency", make("cnn")[0], []) == []


def test_the_decisive_word_of_a_trained_model_is_found(toy):
    texts, labels = toy
    model = TextClassifier("lstm", embeddings="random", epochs=8, learning_rate=0.01, model__hidden=16, seed=1)
    model.fit(texts, labels)
    for method in ("integrated_gradients", "gradient_x_input"):
        (found,) = model.explain("my neighbour called it superb", method=method, target="pos")
        assert found.top(1)[0][0] == "superb"


@pytest.mark.parametrize("method", METHODS)
def test_without_captum_the_message_names_the_extra(make, method, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "captum"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "captum", None)
    with pytest.raises(MissingExtra, match=rf"method={method} needs the 'gradients' extra.*vmask\[gradients\]"):
        explain_texts(make("cnn")[0], ["w1"], method)


def test_a_plain_function_and_options_that_cannot_work_are_refused(make):
    with pytest.raises(ConfigError, match="plain function"):
        explain_texts(lambda texts: np.full((len(texts), 2), 0.5), ["a"], "saliency")
    for method, options in (("integrated_gradients", {"steps": 0}), ("saliency", {"norm": "l3"})):
        with pytest.raises(ConfigError):
            explain_texts(make("cnn")[0], ["w1"], method, **options)
    with pytest.raises(ConfigError, match="hides no words"):
        explain_texts(make("cnn")[0], ["w1"], "saliency", hide="zero")
