"""The baseline of every mask that has one: `z = m x + (1 - m) b`."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import make
from vmask.inference.folding import fold
from vmask.masks import MASKS
from vmask.masks.contract import Embedded, Masked

DIM = 5
WITH = [name for name in MASKS.own() if "baseline" in MASKS.get(name).Options.__dataclass_fields__]


def embedded(seed=0):
    table = torch.randn(8, DIM, generator=torch.Generator().manual_seed(seed))
    index = torch.tensor([[1, 2, 3, 0, 0], [4, 2, 2, 5, 6]])
    return Embedded(table, index, index != 0)


def fresh(name, baseline):
    torch.manual_seed(0)
    cls = MASKS.get(name)
    mask = cls(DIM, make(cls.Options, {"baseline": baseline}))
    mask.prepare([embedded()])
    return mask


def test_the_masks_that_scale_words_have_it():
    assert {"vmask", "word_dropout", "random_mask", "l2x"} <= set(WITH)
    assert not {"base", "l2", "iba"} & set(WITH)


@pytest.mark.parametrize("name", WITH)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("baseline", ["mean", "mask_token", "learnt"])
def test_what_is_hidden_of_a_word_is_the_baseline(name, training, baseline):
    x, mask = embedded(), fresh(name, baseline).train(training)
    with torch.no_grad():
        mask.baseline.copy_(torch.arange(DIM))
        masked = mask(x)
    seen, scale = masked.apply(x.dense()), masked.scale.unsqueeze(-1)
    torch.testing.assert_close(seen, scale * x.dense() + (1 - scale) * mask.baseline)
    torch.testing.assert_close(seen[~x.words], x.dense()[~x.words])


@pytest.mark.parametrize("name", WITH)
@pytest.mark.parametrize("baseline", ["auto", "zero"])
def test_zero_has_no_shift_and_no_state(name, baseline):
    mask = fresh(name, baseline)
    assert mask(embedded()).shift is None
    assert not any("baseline" in key for key in mask.state_dict())


@pytest.mark.parametrize("name", WITH)
def test_only_a_learnt_one_is_trained(name):
    assert "baseline" in dict(fresh(name, "learnt").named_parameters())
    for kind in ("mean", "mask_token"):
        mask = fresh(name, kind)
        assert "baseline" in mask.state_dict()
        assert "baseline" not in dict(mask.named_parameters())


@pytest.mark.parametrize("name", WITH)
def test_folding_puts_it_into_the_vectors(name):
    x, mask = embedded(), fresh(name, "mean").eval()
    if not mask.word_level():
        pytest.skip(f"{name} looks at the whole text")
    mask.baseline.copy_(torch.arange(DIM))
    words = torch.arange(8) != 0
    table = fold(mask, x.table, words)
    torch.testing.assert_close(mask(x).apply(x.dense())[x.words], table[x.index[x.words]])
    assert torch.equal(table[0], x.table[0])


@given(st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_less_of_a_masked_word_is_more_of_the_baseline(scale, keep, shifted):
    x, b = torch.tensor([[[3.0, -1.0]]]), torch.tensor([0.5, 2.0])
    shift = (1 - scale) * b.view(1, 1, 2) if shifted else None
    masked = Masked(torch.full((1, 1), scale), shift, torch.zeros(1, 1), torch.zeros(()))
    z = masked.apply(x)
    torch.testing.assert_close(masked.times(torch.full((1, 1), keep), b).apply(x), keep * z + (1 - keep) * b)
    torch.testing.assert_close(masked.times(torch.full((1, 1), keep)).apply(x), keep * z)
