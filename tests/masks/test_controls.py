"""The controls do what they say."""

from __future__ import annotations

import torch

from vmask.config import make
from vmask.masks.contract import Embedded
from vmask.masks.random_mask import RandomMask, RandomMaskOptions
from vmask.masks.word_dropout import WordDropout, WordDropoutOptions


def batch(texts=2000):
    index = torch.randint(1, 50, (texts, 5), generator=torch.Generator().manual_seed(0))
    return Embedded(torch.randn(50, 8, generator=torch.Generator().manual_seed(1)), index, index != 0)


def test_word_dropout_drops_by_chance_and_scales_by_the_expectation():
    mask = WordDropout(8, make(WordDropoutOptions, {"p": 0.3}))
    assert abs(mask.train()(batch()).scale.mean() - 0.7) < 0.02
    assert (mask.eval()(batch()).scale == 0.7).all()


def test_random_masks_differ_between_words_and_are_frozen():
    torch.manual_seed(0)
    mask = RandomMask(8, make(RandomMaskOptions, {}))
    mask.prepare([batch()])
    logits = torch.logit(mask.scores_of(batch().table)[batch().index])
    assert abs(logits.mean()) < 0.01
    assert abs(logits.std() - 2.0) < 0.01
    assert not [p for p in mask.parameters() if p.requires_grad]
