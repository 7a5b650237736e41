"""VMASK against its formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from vmask.config import make
from vmask.errors import ConfigError
from vmask.masks._gates import bernoulli_kl, logistic_noise, sample_keep
from vmask.masks.contract import Embedded
from vmask.masks.vmask import VMask, VMaskOptions

DIM = 5


def batch(texts=300, positions=4, words=6):
    torch.manual_seed(0)
    index = torch.randint(0, words, (texts, positions))
    return Embedded(torch.randn(words, DIM), index, torch.ones_like(index, dtype=torch.bool))


def vmask(**options):
    torch.manual_seed(1)
    return VMask(DIM, make(VMaskOptions, options))


def test_the_penalty_is_log_2_minus_the_entropy_when_the_prior_is_even():
    logits = torch.linspace(-6, 6, 13)
    p = torch.sigmoid(logits)
    entropy = torch.special.entr(p) + torch.special.entr(1 - p)
    torch.testing.assert_close(bernoulli_kl(logits, 0.5), math.log(2) - entropy)


@pytest.mark.parametrize("pi", [0.1, 0.5, 0.9])
def test_the_general_penalty_is_the_kl_of_torch(pi):
    logits = torch.linspace(-5, 5, 11)
    expected = torch.distributions.kl_divergence(
        torch.distributions.Bernoulli(logits=logits), torch.distributions.Bernoulli(torch.tensor(pi))
    )
    torch.testing.assert_close(bernoulli_kl(logits, pi), expected)


def test_the_penalty_stays_finite_for_sure_words():
    logits = torch.tensor([-80.0, 80.0], requires_grad=True)
    bernoulli_kl(logits, 0.5).sum().backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("hard", [True, False])
def test_draws_and_gradients_are_those_of_gumbel_softmax_over_two_categories(hard, monkeypatch):
    """One logistic draw against torch's two Gumbel draws, the noise being the same."""
    x = batch(texts=50)
    gumbels = -torch.empty(50, 4, 2).exponential_(generator=torch.Generator().manual_seed(2)).log()
    monkeypatch.setattr("vmask.masks._gates.logistic_noise", lambda shape, like: gumbels[..., 1] - gumbels[..., 0])
    logits = torch.randn(6, requires_grad=True)
    ours = sample_keep(logits, x, tau=0.7, hard=hard)
    weights = torch.randn(50, 4)
    (ours * weights).sum().backward()

    two = logits.detach().clone().requires_grad_()
    stacked = torch.stack([torch.zeros(50, 4), two[x.index]], -1)
    soft = torch.softmax((stacked + gumbels) / 0.7, -1)
    theirs = functional.one_hot(soft.argmax(-1), 2) + soft - soft.detach() if hard else soft
    (theirs[..., 1] * weights).sum().backward()
    torch.testing.assert_close(ours, theirs[..., 1])
    torch.testing.assert_close(logits.grad, two.grad)


def test_logistic_noise_is_standard_logistic():
    noise = logistic_noise((200_000,), torch.zeros(()))
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - math.pi / math.sqrt(3)) < 0.02


def test_words_are_kept_as_often_as_their_chance_says():
    x = batch(texts=20_000)
    logits = torch.tensor([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0])
    keep = sample_keep(logits, x, tau=1.0)
    assert set(keep.unique().tolist()) == {0.0, 1.0}
    for word, logit in enumerate(logits):
        assert abs(keep[x.index == word].mean() - torch.sigmoid(logit)) < 0.02


def test_one_draw_per_type_gives_equal_words_of_a_text_equal_draws():
    index = torch.tensor([[0, 1, 0, 1]]).expand(400, 4)
    x = Embedded(torch.randn(2, DIM), index, torch.ones_like(index, dtype=torch.bool))
    per_type = sample_keep(torch.zeros(2), x, tau=1.0, per="type")
    assert (per_type[:, 0] == per_type[:, 2]).all()
    assert (per_type[:, 0] != per_type[:, 1]).any()
    per_position = sample_keep(torch.zeros(2), x, tau=1.0)
    assert (per_position[:, 0] != per_position[:, 2]).any()


def test_inference_multiplies_by_the_expectation():
    mask, x = vmask().eval(), batch()
    masked = mask(x)
    torch.testing.assert_close(masked.scale, torch.sigmoid(mask.net(x.table))[x.index])
    torch.testing.assert_close(masked.scale, masked.scores)


def test_threshold_inference_keeps_or_hides():
    masked = vmask(inference="threshold").eval()(batch())
    torch.testing.assert_close(masked.scale, (masked.scores >= 0.5).float())


def test_reductions_and_padding_in_the_penalty():
    index = torch.tensor([[1, 2, 0], [3, 0, 0]])
    x = Embedded(torch.randn(4, DIM), index, index != 0)
    kl = bernoulli_kl(vmask().net(x.table), 0.5)[index]
    torch.testing.assert_close(vmask()(x).penalty, (kl[0, :2].sum() + kl[1, 0]) / 3)
    torch.testing.assert_close(vmask(reduction="sum")(x).penalty, (kl[0, :2].sum() + kl[1, 0]) / 2)
    torch.testing.assert_close(vmask(penalty_over="all")(x).penalty, kl.mean())


def test_the_temperature_follows_the_progress():
    mask = vmask(tau=1.0, tau_end=0.5)
    assert mask.tau == 1.0
    mask.progress = 0.5
    assert mask.tau == 0.75


@pytest.mark.parametrize("options", [{"pi": 0.0}, {"pi": 1.2}, {"tau": 0.0}, {"hidden": 0}, {"relaxation": "hard"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        make(VMaskOptions, options)
