"""The contract that every registered model of words keeps, under every mask."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from registered import WORD_MODELS
from vmask.masks import MASKS
from vmask.masks.contract import Masked
from vmask.models import MODELS
from vmask.text.batches import collate
from vmask.training.run_config import make_plan

TEXTS = [[3, 4, 5, 6, 7, 8, 9], [5, 4], [6], [7, 3, 3, 3]]
VOCABULARY, DIM, CLASSES = 12, 6, 3


@pytest.fixture(params=WORD_MODELS)
def name(request):
    return request.param


def vectors():
    table = torch.randn(VOCABULARY, DIM, generator=torch.Generator().manual_seed(0))
    table[0] = 0
    return table


def build(name, mask="vmask", tuned=False, **options):
    torch.manual_seed(0)
    return make_plan(name, mask, **options).build(vectors(), tuned, CLASSES)


def batch(texts=TEXTS, length=0):
    return collate([np.array(text, dtype=np.int32) for text in texts], length=length)


@pytest.mark.parametrize("mask", MASKS.names())
def test_neither_company_nor_order_nor_padding_changes_an_answer(name, mask):
    model = build(name, mask).eval()
    together = model(batch()).logits
    for row, text in enumerate(TEXTS):
        torch.testing.assert_close(model(batch([text])).logits[0], together[row], rtol=0, atol=1e-6)
    torch.testing.assert_close(model(batch(TEXTS[::-1])).logits.flip(0), together, rtol=0, atol=1e-6)
    torch.testing.assert_close(model(batch(length=40)).logits, together, rtol=0, atol=1e-6)


def test_narrow_windows_do_not_depend_on_the_batch_either():
    model = build("cnn", model__padding="narrow").eval()
    together = model(batch()).logits
    for row, text in enumerate(TEXTS):
        torch.testing.assert_close(model(batch([text])).logits[0], together[row], rtol=0, atol=1e-6)


def test_an_empty_text_is_legal(name):
    model = build(name).eval()
    alone, together = model(batch([[]])).logits, model(batch([[], *TEXTS])).logits
    assert torch.isfinite(alone).all()
    torch.testing.assert_close(alone[0], together[0], rtol=0, atol=1e-6)


def test_an_identity_edit_changes_nothing_and_another_does(name):
    encoder = build(name).encoder.eval()

    def times(factor):
        return lambda x: Masked(torch.full(x.index.shape, factor), None, torch.zeros(x.index.shape), torch.zeros(()))

    plain = encoder(batch())
    torch.testing.assert_close(encoder(batch(), times(1.0)), plain)
    assert (encoder(batch(), times(0.2)) - plain).abs().max() > 1e-3


def test_a_shift_is_seen(name):
    encoder = build(name).encoder.eval()

    def shifted(x):
        shift = torch.ones_like(x.dense()) * x.words.unsqueeze(-1)
        return Masked(torch.ones(x.index.shape), shift, torch.zeros(x.index.shape), torch.zeros(()))

    assert (encoder(batch(), shifted) - encoder(batch())).abs().max() > 1e-3


@pytest.mark.parametrize("mask", MASKS.names())
def test_every_trainable_parameter_gets_a_gradient(name, mask):
    model = build(name, mask, tuned=True).train()
    output = model(batch())
    (output.logits.square().sum() + output.masked.penalty).backward()
    without = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert not without


def test_frozen_vectors_get_none(name):
    model = build(name).train()
    model(batch()).logits.sum().backward()
    assert model.encoder.embedding.weight.grad is None


def test_a_mask_of_zeros_hides_everything(name):
    encoder = build(name).encoder.eval()

    def nothing(x):
        return Masked(x.words.logical_not().float(), None, torch.zeros(x.index.shape), torch.zeros(()))

    logits = encoder(batch([[3, 4, 5], [6, 7, 8]]), nothing)
    torch.testing.assert_close(logits[0], logits[1])


def test_released_quirks_can_be_had(name):
    if not MODELS.get(name).paper_code:
        pytest.skip("the paper does not have this model")
    model = build(name, preset="paper_code").train()
    output = model(batch(length=9))
    assert torch.isfinite(output.logits).all()
    if name == "lstm":  # softmax before the cross-entropy
        torch.testing.assert_close(output.logits.sum(1), torch.ones(len(TEXTS)))
    model.eval()
    short, long = model(batch([[3]])).logits, model(batch([[3]], length=9)).logits
    assert (short - long).abs().max() > 0  # padding counts, as released


def test_the_lstm_is_a_maximum_over_real_steps():
    model = build("lstm", "base").eval()
    encoder, one = model.encoder, batch([TEXTS[0]])
    states, _ = encoder.lstm(encoder.embedding(one.ids))
    torch.testing.assert_close(model(one).logits, encoder.output(states.amax(1)))
