"""The seam of encoders: the same promises for every family."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from tiny_encoders import FAMILIES, network, tokenizer
from vmask.errors import VmaskError
from vmask.masks import MASKS
from vmask.masks.contract import Masked
from vmask.models.transformer import Transformer, TransformerOptions
from vmask.text.batches import collate
from vmask.training.run_config import make_plan

TEXTS = [[20, 30, 40, 25, 35, 45, 50], [21, 31], [22], [33, 20, 20, 44]]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def special(family):
    """(pad, first, last, all that are never words)."""
    made = tokenizer(FAMILIES[family][0])
    never = [made.pad_token_id, made.cls_token_id, made.sep_token_id, made.mask_token_id]
    return made.pad_token_id, made.cls_token_id, made.sep_token_id, never


def encoder(family, placement="word", **options):
    chosen = TransformerOptions(encoder="tiny", placement=placement, **options)
    return Transformer(network(family), special(family)[3], chosen).eval()


def build(family, mask="vmask", placement="word"):
    torch.manual_seed(0)
    plan = make_plan("transformer", mask, model__encoder="tiny", model__placement=placement)
    return plan.with_mask(encoder(family, placement), 3).eval()


def batch(family, texts=TEXTS, length=0):
    pad, first, last, _ = special(family)
    return collate([np.array([first, *text, last], np.int32) for text in texts], length=length, pad=pad)


def plain(family, texts=TEXTS):
    """What the untouched network of transformers says, one text at a time."""
    _, first, last, _ = special(family)
    untouched = network(family)
    with torch.no_grad():
        return torch.cat([untouched(input_ids=torch.tensor([[first, *text, last]])).logits for text in texts])


def times(factor):
    def edit(x):
        scale = torch.where(x.words, factor, 1.0)
        return Masked(scale, None, torch.zeros_like(scale), torch.zeros(()))

    return edit


@pytest.mark.parametrize("placement", ["word", "block"])
def test_an_identity_edit_is_the_plain_model_and_another_is_not(family, placement):
    made = encoder(family, placement)
    with torch.no_grad():
        same, other = made(batch(family), times(1.0)), made(batch(family), times(0.3))
    torch.testing.assert_close(same, plain(family), rtol=0, atol=2e-6)
    torch.testing.assert_close(made(batch(family)), plain(family), rtol=0, atol=2e-6)
    assert (other - same).abs().max() > 1e-3


@pytest.mark.parametrize("placement", ["word", "block"])
@pytest.mark.parametrize("mask", MASKS.names())
def test_padding_order_and_neighbours_change_nothing(family, mask, placement):
    model = build(family, mask, placement)
    with torch.no_grad():
        together = model(batch(family)).logits
        for row, text in enumerate(TEXTS):
            torch.testing.assert_close(model(batch(family, [text])).logits[0], together[row], rtol=0, atol=2e-6)
        turned = model(batch(family, TEXTS[::-1])).logits.flip(0)
        padded = model(batch(family, length=30)).logits
    torch.testing.assert_close(turned, together, rtol=0, atol=2e-6)
    torch.testing.assert_close(padded, together, rtol=0, atol=2e-6)


@pytest.mark.parametrize("mask", MASKS.names())
def test_gradients_reach_the_mask(family, mask):
    model = build(family, mask).train()
    model.encoder.freeze_embeddings()
    output = model(batch(family))
    (output.logits.square().sum() + output.masked.penalty).backward()
    assert not [n for n, p in model.mask.named_parameters() if p.requires_grad and p.grad is None]
    table = model.encoder.network.get_input_embeddings().weight
    assert table.grad is None
    assert not table.requires_grad


def test_four_threads_on_one_model_give_the_answers_of_one(family):
    model = build(family)
    edits = [None, times(0.2), times(0.7), times(0.0)]
    jobs = [(edit, [text]) for edit in edits for text in TEXTS] * 3

    def answer(job):
        edit, texts = job
        with torch.no_grad():
            return model.encoder(batch(family, texts), edit)

    alone = [answer(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(answer, jobs), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=2e-6)


def test_the_size_is_read_at_the_seam(family):
    sizes = {"electra": 8, "albert": 8}
    assert encoder(family).dim == sizes.get(family, 16)


def test_special_tokens_are_never_masked_wherever_they_stand(family):
    made = encoder(family)
    pad, first, last, never = special(family)
    unknown = tokenizer(FAMILIES[family][0]).unk_token_id
    ids = torch.tensor([[first, 20, last, unknown, never[3], last, pad]])
    assert made.words(ids).tolist() == [[False, True, False, True, False, False, False]]
    everything = encoder(family, mask_special_tokens=True).words(ids)
    assert everything.tolist() == [[True, True, True, True, True, True, False]]


def test_behind_the_block_a_word_has_another_vector_at_every_place(family):
    x = encoder(family, "block").embedded(batch(family, [[20, 20, 20, 20]]))
    y = encoder(family, "word").embedded(batch(family, [[20, 20, 20, 20]]))
    assert len(x.table) == 6
    assert len(y.table) == 3  # first, 20, last
    assert x.words.tolist() == y.words.tolist() == [[False, True, True, True, True, False]]
    if family not in ("deberta-v2", "modernbert"):  # these add no positions to the vectors
        dense = x.dense()[0]
        assert (dense[1] - dense[2]).abs().max() > 1e-4


def test_two_wrappers_share_a_network_without_editing_twice():
    made = network("bert")
    options = [TransformerOptions(encoder="tiny", placement=p) for p in ("word", "word", "block")]
    never = special("bert")[3]
    one, again, block = (Transformer(made, never, option).eval() for option in options)
    with torch.no_grad():
        torch.testing.assert_close(one(batch("bert"), times(0.5)), again(batch("bert"), times(0.5)))
        torch.testing.assert_close(
            block(batch("bert"), times(0.5)), encoder("bert", "block")(batch("bert"), times(0.5))
        )


def test_a_model_without_such_a_seam_is_refused_by_name():
    from transformers import BartConfig, BartForSequenceClassification

    config = BartConfig(
        vocab_size=60, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=40,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, num_labels=2,
    )  # fmt: skip
    with pytest.raises(VmaskError, match="BartForSequenceClassification"):
        Transformer(BartForSequenceClassification(config), [0, 1, 2], TransformerOptions(encoder="tiny"))


def test_a_layernorm_right_behind_the_word_vectors_is_noticed(family):
    assert encoder(family).scale_matters == (family != "modernbert")
    assert encoder(family, "block").scale_matters
    if family == "deberta-v2":  # as DeBERTa-v3 is
        made = network(family, position_biased_input=False)
        assert not Transformer(made, special(family)[3], TransformerOptions(encoder="tiny")).scale_matters


def test_the_last_layer_is_found(family):
    assert encoder(family).head is not None


def test_an_error_in_an_edit_leaves_the_seam_free():
    made = encoder("bert")

    def fail(x):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        made(batch("bert"), fail)
    torch.testing.assert_close(made(batch("bert")), plain("bert"), rtol=0, atol=2e-6)


def test_the_released_code_masks_behind_the_block_and_special_tokens_too():
    plan = make_plan("minilm", "vmask", "paper_code")
    assert plan.model_options.placement == "block"
    assert plan.model_options.mask_special_tokens
    assert (plan.train.learning_rate, plan.train.batch_size, plan.train.epochs) == (1e-5, 8, 10)


def test_a_typo_is_no_encoder():
    with pytest.raises(VmaskError, match="Did you mean 'cnn'"):
        make_plan("cmn", "vmask")
