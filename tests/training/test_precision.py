"""Batches in parts, and mixed precision: the same training, other arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError, VmaskWarning
from vmask.masks import MASKS

TEXTS, LABELS = toy_texts(63)
DEV = toy_texts(20, seed=1)
TEST = toy_texts(40, seed=2)[0]
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SKEWED = [i for i, label in enumerate(LABELS) if label == "neg" or i % 5 == 0]
"""Rows in which one class is rare."""


@pytest.fixture
def fit(encoder_folder):
    """Train a small model without dropout."""

    def run(model, mask="base", **options):
        chosen = {"epochs": 3, "batch_size": 16, "device": "cpu", **options}
        if model == "cnn":
            chosen |= {"embeddings": "random", "model__filters": 8, "model__dropout": 0.0, "learning_rate": 5e-3}
        else:
            model, chosen = str(encoder_folder(model, **NO_DROPOUT)), {"learning_rate": 1e-3, **chosen}
        texts, labels = [TEXTS[i] for i in SKEWED], [LABELS[i] for i in SKEWED]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)
            return TextClassifier(model, mask, **chosen).fit(texts, labels, dev=DEV)

    return run


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("model", ["cnn", "bert"])
def test_a_batch_in_four_parts_gives_the_step_of_the_whole_batch(fit, model, class_weight):
    whole = fit(model, class_weight=class_weight)
    parts = fit(model, class_weight=class_weight, accumulate=4)
    np.testing.assert_allclose(parts.predict_proba(TEST), whole.predict_proba(TEST), rtol=0, atol=1e-5)
    losses = [[row["loss"] for row in one.history_] for one in (whole, parts)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert losses[0][0] > losses[0][-1]


def test_more_parts_than_texts_is_one_text_a_part(fit):
    alone = fit("cnn", accumulate=1_000, epochs=1)
    np.testing.assert_allclose(alone.predict_proba(TEST), fit("cnn", epochs=1).predict_proba(TEST), rtol=0, atol=1e-5)


@pytest.mark.parametrize("model", ["cnn", "bert"])
def test_the_penalty_of_parts_is_that_of_the_batch_but_for_the_lengths_of_texts(fit, model):
    one_step = {"epochs": 1, "batch_size": 64, "stages": 1}  # so the penalty is that of fresh weights
    whole, parts = (fit(model, "vmask", accumulate=n, **one_step) for n in (1, 4))
    assert whole.history_[0]["penalty"] == pytest.approx(parts.history_[0]["penalty"], rel=0.1)


def test_accumulate_must_be_above_0():
    with pytest.raises(ConfigError, match="accumulate is 0"):
        TextClassifier(accumulate=0).plan()


# Mixed precision ------------------------------------------------------------------------------------------


@pytest.fixture
def plain_kernels(monkeypatch):
    """Without oneDNN: some virtual machines promise it instructions for bf16 that they do not have, and it crashes."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize(("model", "mask"), [("bert", "vmask"), ("roberta", "base"), ("deberta-v2", "iba")])
def test_after_a_training_in_bf16_the_model_answers_in_float32(fit, tmp_path, model, mask):
    classifier = fit(model, mask, precision="bf16", epochs=1)
    module = classifier.predictor_.model
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert module.forward.__func__ is type(module).forward  # no wrapper is left
    seen = []
    linear = next(m for m in module.modules() if isinstance(m, torch.nn.Linear))
    hook = linear.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    probabilities = classifier.predict_proba(TEST)
    hook.remove()
    assert set(seen) == {torch.float32}
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(TEST), probabilities)


@pytest.mark.full
@pytest.mark.usefixtures("plain_kernels")
def test_training_in_bf16_is_another_training_that_ends_near(fit):
    def losses(classifier):
        return [row["loss"] for row in classifier.history_]

    full, mixed = fit("bert"), fit("bert", precision="bf16")
    assert losses(full) != losses(mixed)
    np.testing.assert_allclose(losses(full), losses(mixed), rtol=0.05)
    assert losses(fit("bert")) == losses(full)  # a later training in another precision is not disturbed
    assert losses(fit("bert", precision="auto")) == losses(full)


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("placement", ["word", "block"])
def test_every_mask_is_computed_in_float32(fit, mask, placement, monkeypatch):
    seen = []
    forward = MASKS.get(mask).forward

    def watched(self, x):
        masked = forward(self, x)
        shift = masked.scale if masked.shift is None else masked.shift
        seen.extend([x.table.dtype, masked.scale.dtype, masked.penalty.dtype, shift.dtype])
        return masked

    monkeypatch.setattr(MASKS.get(mask), "forward", watched)
    fit("bert", mask, precision="bf16", epochs=1, stages=1, model__placement=placement)
    assert set(seen) == {torch.float32}


def test_fp16_on_a_cpu_is_refused_before_training(fit):
    with pytest.raises(ConfigError, match="fp16"):
        fit("bert", precision="fp16")


@pytest.mark.parametrize("precision", ["bf16", "fp16", "auto"])
def test_models_of_words_have_one_precision(precision):
    for model in ("cnn", "lstm"):
        with pytest.raises(ConfigError, match=f"precision is for encoders; a {model}"):
            TextClassifier(model, precision=precision).plan()
        assert TextClassifier(model, precision="no").plan().train.precision == "no"
