"""Learns how much noise to mix into every word (IBA's readout bottleneck, trained jointly as in the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vmask.config import check_positive, option
from vmask.masks import MASKS
from vmask.masks._gates import Activation, ScoreNet
from vmask.masks.contract import Embedded, Masked, WordMask, at_words, mean_over_words, spread


@dataclass(frozen=True)
class IBAOptions:
    """Options of `iba`."""

    hidden: int = option(100, "hidden units of the readout network", most=100_000)
    activation: Activation = option("tanh", "activation of the readout network")
    min_std: float = option(0.01, "floor of the standard deviation of an embedding dimension")

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "min_std")


@MASKS.register("iba")
class IBA(WordMask):
    """Information bottleneck attribution (Schulz et al. 2020) as a mask layer (appendix C of the paper).

    `z_t = lambda_t x_t + (1 - lambda_t) eps`, `eps ~ N(mu, sigma^2)` with the mean and deviation of every embedding
    dimension over the words of the training texts. The penalty is the capacity, KL(p(z|x) || N(mu, sigma^2)) in nats,
    as mean over dimensions and words. Inference uses the expectation, `lambda_t x_t + (1 - lambda_t) mu`.
    """

    Options = IBAOptions
    recipe = {"beta": 0.1}

    def __init__(self, dim: int, options: IBAOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden, options.activation)
        last = self.net.net[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            # Starts near the identity, lambda = 0.989. The original starts at 5, on the edge of its clamp, where
            # about half of the words have no gradient.
            last.weight.mul_(1e-3)
            last.bias.fill_(4.5)
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    @property
    def hidden_vector(self) -> Tensor:
        """(D,) the mean of the noise."""
        return self.mean

    def prepare(self, batches: Iterable[Embedded]) -> None:
        """Estimate mean and deviation of every embedding dimension over the words of the training texts."""
        total = torch.zeros(self.dim, dtype=torch.float64)
        squares = torch.zeros(self.dim, dtype=torch.float64)
        count = 0
        with torch.no_grad():
            for x in batches:
                vectors = x.dense()[x.words].cpu().double()  # not every device has float64
                total += vectors.sum(0)
                squares += vectors.square().sum(0)
                count += len(vectors)
        if count:
            mean = total / count
            std = (squares / count - mean.square()).clamp_min(0).sqrt().clamp_min(self.options.min_std)
            self.mean.copy_(mean)
            self.std.copy_(std)

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) lambda, the share of each word that passes."""
        # Beyond 5 the capacity diverges; the clamp is the original's.
        return torch.sigmoid(self.net(table).clamp(-5.0, 5.0))

    def forward(self, x: Embedded) -> Masked:
        """Mix noise into the words of a batch; its mean in eval."""
        share = self.scores_of(x.table)  # (U,)
        scale = at_words(spread(share, x), x, 1.0)
        rest = (1 - scale).unsqueeze(-1)
        if self.training:
            noise = torch.randn((*scale.shape, self.dim), dtype=scale.dtype, device=scale.device)
            shift = rest * (self.mean + self.std * noise)
        else:
            shift = rest * self.mean
        capacity = mean_over_words(self._capacity(share, x.table), x)
        return Masked(scale, shift, at_words(scale.detach(), x, 0.0), capacity)

    def _capacity(self, share: Tensor, table: Tensor) -> Tensor:
        """(U,) KL in nats of each word's distribution from the noise, mean over dimensions."""
        normed = (table - self.mean) / self.std
        variance = (1 - share).square()
        mean_square = share.square() * normed.square().mean(1)
        return -0.5 * (1 + variance.log() - mean_square - variance)
