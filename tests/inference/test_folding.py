"""Folding: a classifier over folded vectors answers as the masked one does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmask.inference import folding
from vmask.inference.folding import fold
from vmask.masks import MASKS
from vmask.text.batches import collate

TEXTS = [[3, 4, 5, 6, 7, 8, 9], [5, 4], [6], [7, 3, 3, 1], []]


def batch():
    return collate([np.array(text, dtype=np.int32) for text in TEXTS])


def folded(model):
    table = model.encoder.embedding.weight
    return fold(model.mask, table, torch.arange(len(table)) != 0)


@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_a_classifier_over_folded_vectors_needs_no_mask(build, name, mask):
    model = build(name, mask)
    if not model.mask.word_level():
        with pytest.raises(ValueError, match="depends on the rest of its text"):
            folded(model)
        return
    expected = model(batch()).logits
    model.encoder.embedding.weight.data = folded(model)
    torch.testing.assert_close(model.encoder(batch()), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("mask", "options"), [("l2x", {"mask__mode": "soft"}), ("vmask", {"mask__inference": "threshold"})]
)
def test_options_that_make_a_mask_word_level_are_exact_too(build, mask, options):
    model = build("cnn", mask, **options)
    expected = model(batch()).logits
    model.encoder.embedding.weight.data = folded(model)
    torch.testing.assert_close(model.encoder(batch()), expected, rtol=0, atol=1e-5)


def test_vmask_gives_the_expectation_and_iba_mixes_in_the_mean(build):
    model = build("cnn", "vmask")
    x = model.encoder.embedding.weight[1:]
    torch.testing.assert_close(folded(model)[1:], model.mask.scores_of(x).unsqueeze(1) * x)
    model = build("cnn", "iba")
    share = model.mask.scores_of(x).unsqueeze(1)
    torch.testing.assert_close(folded(model)[1:], share * x + (1 - share) * model.mask.mean)


@pytest.mark.parametrize("mask", ["vmask", "iba", "word_dropout"])
def test_what_is_no_word_stays_as_it_is(build, mask):
    model = build("cnn", mask)
    table = model.encoder.embedding.weight
    words = torch.arange(len(table)) > 4
    seen = fold(model.mask, table, words)
    assert torch.equal(seen[:5], table[:5])
    assert (seen[5:] - table[5:]).abs().max() > 0.1


def test_words_are_folded_in_chunks(build, monkeypatch):
    model = build("cnn", "iba")
    whole = folded(model)
    monkeypatch.setattr(folding, "CHUNK", 7)
    torch.testing.assert_close(folded(model), whole)


def test_a_mask_in_training_is_folded_as_at_inference_and_trains_on(build):
    model = build("cnn", "vmask")
    expected = folded(model)
    model.mask.train()
    assert torch.equal(folded(model), expected)
    assert model.mask.training
