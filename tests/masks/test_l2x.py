"""L2X selects."""

from __future__ import annotations

import pytest
import torch

from vmask.config import make
from vmask.errors import ConfigError
from vmask.masks.contract import Embedded
from vmask.masks.l2x import L2X, L2XOptions


def batch():
    index = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0]])
    return Embedded(torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), index, index != 0)


def l2x(**options):
    torch.manual_seed(0)
    return L2X(4, make(L2XOptions, options))


def test_inference_keeps_the_k_words_with_the_highest_scores():
    x = batch()
    masked = l2x(k=3).eval()(x)
    assert masked.scale[0].sum() == 3
    kept, hidden = masked.scores[0][masked.scale[0] == 1], masked.scores[0][masked.scale[0] == 0]
    assert kept.min() > hidden.max()
    assert masked.scale[1].tolist() == [1, 1, 1, 1, 1]  # a shorter text keeps all its words


def test_ties_go_to_the_earlier_position():
    index = torch.tensor([[1, 1, 1, 1]])
    x = Embedded(torch.randn(2, 4), index, index != 0)
    assert l2x(k=2).eval()(x).scale.tolist() == [[1, 1, 0, 0]]


def test_training_draws_between_one_and_k_words():
    mask, x = l2x(k=2, tau=0.01).train(), batch()
    draws = torch.stack([mask(x).scale[0] for _ in range(50)])
    assert (draws.sum(1) <= 2.01).all()
    assert (draws.amax(1) > 0.9).all()


def test_soft_weights_are_word_level_unless_normalised():
    assert l2x(mode="soft").word_level()
    assert not l2x(mode="soft", normalise=True).word_level()
    assert not l2x().word_level()
    masked = l2x(mode="soft", normalise=True).eval()(batch())
    assert masked.scale[0].sum().item() == pytest.approx(5, abs=1e-5)


def test_an_option_without_effect_is_refused():
    with pytest.raises(ConfigError, match="normalise"):
        L2XOptions(normalise=True)
