"""Which baseline a training takes, and what then stands in it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from vmask import TextClassifier
from vmask.errors import ConfigError, ModelFolderError, VmaskWarning
from vmask.training.progress import ProgressCallback

UNDOING = {
    "modernbert": ("modernbert", {}),
    "deberta": ("deberta", {}),
    "deberta-v3": ("deberta-v2", {"position_biased_input": False}),
}
"""Encoders with a LayerNorm right behind the word vectors, which undoes a scaling."""


class Notes(ProgressCallback):
    def __init__(self):
        self.texts = []

    def note(self, text):
        self.texts.append(text)


@pytest.fixture(scope="module")
def fit(encoder_folder, toy):
    def make(family, mask="vmask", progress=None, **options):
        name, more = UNDOING.get(family, (family, {}))
        texts, labels = toy
        model = family if family in ("cnn", "lstm") else str(encoder_folder(name, **more))
        if family in ("cnn", "lstm"):
            options["embeddings"] = "random"
        classifier = TextClassifier(model, mask, epochs=1, device="cpu", **{"stages": 1, **options})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)  # that all words are masked alike
            return classifier.fit(texts[:40], labels[:40], progress=progress)

    return make


def vector_of(classifier, token):
    predictor = classifier.predictor_
    return predictor.network.get_input_embeddings().weight[predictor.tokenizer.named(token)].detach()


@pytest.mark.parametrize("family", UNDOING)
def test_auto_takes_the_mask_token_where_a_scaling_is_undone_and_says_so(fit, family):
    notes = Notes()
    classifier = fit(family, progress=notes, stages=2)
    model = classifier.predictor_.model
    assert not model.encoder.scale_matters
    torch.testing.assert_close(model.mask.baseline, vector_of(classifier, "mask"))
    (note,) = notes.texts
    assert "the vector of the mask token (--mask.baseline mask_token)" in note


@pytest.mark.parametrize("family", UNDOING)
def test_there_the_mask_acts_at_inference(fit, family):
    """Half of a word is half way to the baseline, and an answer notices it; half way to zero it does not."""
    classifier = fit(family)
    predictor = classifier.predictor_
    (doc,) = predictor.prepare(["the plot is charming and the cast tries hard"])
    keep = [np.array([np.full(len(doc.spans), share, np.float32) for share in (1.0, 0.5, 0.0)])]
    whole, half, none = predictor.predict_kept([doc], keep, "zero")[0]
    assert np.abs(whole - half).max() > 0.05 * np.abs(whole - none).max() > 0
    predictor.model.mask.baseline = None
    whole, half, none = predictor.predict_kept([doc], keep, "zero")[0]
    assert np.abs(whole - half).max() < 0.01 * np.abs(whole - none).max()


@pytest.mark.parametrize("family", ["bert", "cnn", "lstm"])
@pytest.mark.parametrize("baseline", ["auto", "zero"])
def test_elsewhere_it_is_zero_and_no_part_of_the_state(fit, family, baseline):
    notes = Notes()
    mask = fit(family, progress=notes, mask__baseline=baseline).predictor_.model.mask
    assert mask.baseline is None
    assert not any("baseline" in name for name in mask.state_dict())
    assert notes.texts == []


@pytest.mark.parametrize("family", UNDOING)
@pytest.mark.parametrize(
    ("mask", "options"),
    [("vmask", {}), ("word_dropout", {}), ("random_mask", {}), ("l2x", {"mask__mode": "soft"})],
)
def test_zero_is_refused_for_a_soft_mask_that_a_norm_would_undo(fit, family, mask, options):
    with pytest.raises(ConfigError, match=r"--mask\.baseline mask_token"):
        fit(family, mask, mask__baseline="zero", stages=2, **options)


def test_a_selection_hides_words_by_zeros_too(fit):
    assert fit("modernbert", "l2x", mask__baseline="zero").predictor_.model.mask.baseline is None


def test_masks_without_a_baseline_are_left_alone(fit):
    for mask in ("base", "iba"):
        assert fit("modernbert", mask).predictor_.model.mask.baseline is None
        with pytest.raises(ConfigError, match="Unknown option 'mask__baseline'"):
            fit("modernbert", mask, mask__baseline="mean")


def test_the_mean_is_that_of_the_words_of_the_table(fit):
    classifier = fit("bert", mask__baseline="mean", stages=2)
    encoder = classifier.predictor_.model.encoder
    table = encoder.network.get_input_embeddings().weight.detach()
    torch.testing.assert_close(classifier.predictor_.model.mask.baseline, table[encoder.is_word].mean(0))
    cnn = fit("cnn", mask__baseline="mean", train_embeddings=False).predictor_.model
    torch.testing.assert_close(cnn.mask.baseline, cnn.encoder.embedding.weight[1:].mean(0))


def test_a_learnt_one_starts_at_the_default_and_is_trained(fit):
    classifier = fit("modernbert", mask__baseline="learnt", stages=2, mask_learning_rate=1e-2)
    mask = classifier.predictor_.model.mask
    assert isinstance(mask.baseline, torch.nn.Parameter)
    moved = (mask.baseline.detach() - vector_of(classifier, "mask")).abs().max()
    assert 0 < moved < 0.5
    assert fit("cnn", mask__baseline="learnt").predictor_.model.mask.baseline.abs().max() > 0


def test_what_the_model_does_not_have_is_refused_by_name(fit):
    with pytest.raises(ConfigError, match=r"no mask token\. Use --mask\.baseline mean"):
        fit("cnn", mask__baseline="mask_token")
    with pytest.raises(ConfigError, match="placement=block"):
        fit("bert", mask__baseline="mean", model__placement="block")
    assert fit("modernbert", model__placement="block").predictor_.model.mask.baseline is None


@pytest.mark.parametrize(
    ("family", "baseline"),
    [
        *((family, "auto") for family in UNDOING),
        ("bert", "mean"),
        ("bert", "learnt"),
        ("cnn", "mean"),
        ("lstm", "learnt"),
    ],
)
def test_a_saved_model_has_it_and_answers_the_same(fit, family, baseline, tmp_path):
    classifier = fit(family, mask__baseline=baseline)
    texts = ["a charming film", "boring, tedious plot"]
    again = TextClassifier.load(classifier.save(tmp_path / "m"))
    np.testing.assert_allclose(again.predict_proba(texts), classifier.predict_proba(texts), rtol=0, atol=1e-6)
    assert torch.equal(again.predictor_.model.mask.baseline, classifier.predictor_.model.mask.baseline)
    one, two = (model.explain(texts, "occlusion", hide="zero") for model in (again, classifier))
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["modernbert", "cnn"])
def test_a_stored_one_of_another_size_is_refused(fit, family, tmp_path):
    classifier = fit(family, mask__baseline="auto" if family == "modernbert" else "mean")
    classifier.predictor_.model.mask.baseline = torch.zeros(3)
    with pytest.raises(ModelFolderError, match="baseline"):
        TextClassifier.load(classifier.save(tmp_path / "m"))
