"""IBA against torch's own KL divergence."""

from __future__ import annotations

import torch
from torch.distributions import Normal, kl_divergence

from vmask.config import make
from vmask.masks.contract import Embedded
from vmask.masks.iba import IBA, IBAOptions


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    index = torch.tensor([[1, 2, 3, 3], [4, 1, 0, 0]])
    return Embedded(torch.randn(5, 3, generator=generator) * 2 + 1, index, index != 0)


def prepared(x):
    torch.manual_seed(0)
    mask = IBA(3, make(IBAOptions, {}))
    mask.prepare([x])
    return mask


def test_statistics_are_those_of_the_words_and_not_of_the_padding():
    x = batch()
    mask, words = prepared(x), x.dense()[x.words]
    torch.testing.assert_close(mask.mean, words.mean(0))
    torch.testing.assert_close(mask.std, words.std(0, correction=0))


def test_the_penalty_is_the_kl_from_the_noise():
    x = batch()
    mask = prepared(x)
    with torch.no_grad():
        mask.net.net[-1].bias.fill_(0.3)
    share = mask.scores_of(x.table).unsqueeze(1)
    mixed = Normal(share * x.table + (1 - share) * mask.mean, (1 - share) * mask.std)
    kl = kl_divergence(mixed, Normal(mask.mean, mask.std)).mean(1)
    torch.testing.assert_close(mask(x).penalty, kl[x.index][x.words].mean(), rtol=1e-4, atol=1e-5)


def test_training_mixes_in_noise_and_inference_its_mean():
    x = batch()
    mask = prepared(x)
    with torch.no_grad():
        mask.net.net[-1].bias.fill_(0.0)
    share = mask.scores_of(x.table)[x.index].unsqueeze(-1)
    expected = torch.where(x.words.unsqueeze(-1), share * x.dense() + (1 - share) * mask.mean, x.dense())
    torch.testing.assert_close(mask.eval()(x).apply(x.dense()), expected)
    mask.train()
    draws = torch.stack([mask(x).apply(x.dense()) for _ in range(4000)])
    torch.testing.assert_close(draws.mean(0), expected, rtol=0, atol=0.15)
    spread = (1 - share) * mask.std * x.words.unsqueeze(-1)
    torch.testing.assert_close(draws.std(0), spread, rtol=0, atol=0.1)


def test_it_starts_near_the_identity():
    x = batch()
    assert (prepared(x).scores_of(x.table) > 0.98).all()
