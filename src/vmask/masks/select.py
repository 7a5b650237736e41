"""Learns which words may be seen at all: a word is visible or hidden, under a budget of running words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks._gates import Activation, ScoreNet, bernoulli_kl, logistic_noise
from vmask.masks.contract import Embedded, Masked, WordMask, mean_over_words, spread

DUAL_RATE = 0.03
"""Step size of the multiplier's logarithm."""
STRONGEST, WEAKEST = 10.0, 1e-3
"""Limits of the multiplier."""
TIE = 1e-5
"""Difference of log odds below which no threshold fits between two words."""
MARGIN = 0.98
"""Share of the budget that the training texts use, so that other texts keep within it too."""
LOW, HIGH = -0.1, 1.1
"""What a relaxed gate is stretched to before it is cut to 0 and 1."""


@dataclass(frozen=True)
class SelectOptions(BaselineOptions):
    """Options of `select`."""

    budget: float = option(0.3, "share of running words that may be visible")
    max_words: int | None = option(None, "at most this many visible word types of the training texts")
    gate: Literal["gumbel", "hard_concrete", "kumaraswamy"] = option("gumbel", "distribution of a gate in training")
    pi: float = option(0.1, "prior chance that a word is kept, of words that have not earned to be visible")
    tau: float = option(1.0, "temperature of the gates' gradient")
    dropout: float = option(0.0, "chance that a visible word is dropped in the last part of the training")
    hidden: int = option(100, "hidden units of the gates' network", most=100_000)
    activation: Activation = option("tanh", "activation of the gates' network")

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "tau", "max_words")
        if not 0 < self.budget <= 1:
            raise ConfigError(f"budget is {self.budget}; it must be above 0 and at most 1.")
        if not 0 < self.pi < 1:
            raise ConfigError(f"pi is {self.pi}; it must be between 0 and 1.")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout is {self.dropout}; it must be at least 0 and below 1.")


@MASKS.register("select")
class Select(WordMask):
    """Hard gates under a budget: `min E[error]` subject to `share of visible running words <= budget`.

    A gate belongs to the word type: `P(G_t = 1 | x_t)` is the sigmoid of a small network on the word's vector. While
    the training anneals, gates are drawn, and `multiplier * KL(q(G|x) || Bernoulli(pi))` is added to the loss. The
    multiplier starts high, so that no word is visible, and follows the constraint (dual ascent in its logarithm): it
    falls while fewer running words than the budget have a chance of at least a half, and rises while there are more.
    Then the gates are fixed and the classifier is trained on with the words that it will see.

    At inference a word is visible if its log odds reach a threshold, which is set after every epoch so that the
    training texts keep to the budget.

    Attributes:
        multiplier: () Lagrange multiplier of the budget, above 0.
        threshold: () log odds from which a word is visible.
    """

    Options = SelectOptions
    recipe = {"beta": 1.0, "epochs": 14, "anneal_until": 0.65}

    def __init__(self, dim: int, options: SelectOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden, options.activation)
        self.multiplier: Tensor
        self.threshold: Tensor
        self.register_buffer("multiplier", torch.ones(()))
        self.register_buffer("threshold", torch.zeros(()))

    @classmethod
    def is_soft(cls, options: SelectOptions) -> bool:
        """A gate is 0 or 1."""
        return False

    @property
    def anneals(self) -> bool:
        """The multiplier moves, until the gates are fixed."""
        return True

    def excess(self, visible: float) -> float:
        """How much more than the budget is visible."""
        return float(max(visible - self.options.budget, 0.0))

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) sigmoid of the log odds above the threshold: at least 0.5 exactly for the words that are visible."""
        return torch.sigmoid(self.net(table) - self.threshold)

    @torch.no_grad()
    def calibrate(self, table: Tensor, counts: Tensor) -> None:
        """Set the threshold so that the training texts keep to the budget, and their words to `max_words`."""
        logits, order = self.net(table).sort(descending=True)
        share = counts[order].double().cumsum(0) / counts.sum().clamp_min(1)
        visible = int((share <= MARGIN * self.options.budget).sum())
        if self.options.max_words is not None:
            visible = min(visible, self.options.max_words)
        while 0 < visible < len(logits) and logits[visible - 1] - logits[visible] < TIE:
            visible -= 1  # words with equal log odds are hidden together
        ends = torch.cat([logits[:1] + 1, logits, logits[-1:] - 1])
        self.threshold.copy_((ends[visible] + ends[visible + 1]) / 2)  # between the last visible and the first hidden

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch: draws while the training anneals; in eval 1 for visible words and 0 for others."""
        logits = self.net(x.table)
        scores = spread(torch.sigmoid((logits - self.threshold).detach()), x)
        visible = (scores >= 0.5).to(scores.dtype)
        nothing = logits.new_zeros(())
        if not self.training:
            return self.seen(visible, x, scores, nothing)
        if self.progress >= 1:
            kept = torch.rand_like(visible) >= self.options.dropout
            return self.seen(visible * kept, x, scores, nothing * logits.sum())  # several processes need a gradient
        scale = _GATES[self.options.gate](spread(logits, x), self.options.tau)
        return self.seen(scale, x, scores, self._penalty(logits, x))

    def _penalty(self, logits: Tensor, x: Embedded) -> Tensor:
        """() the multiplier times the divergence from the prior, after a step of the multiplier."""
        with torch.no_grad():
            share = mean_over_words((logits >= 0).to(logits.dtype), x)
            step = torch.exp(DUAL_RATE * (share - self.options.budget))
            self.multiplier.mul_(step).clamp_(WEAKEST, STRONGEST)
        return self.multiplier.clone() * mean_over_words(bernoulli_kl(logits, self.options.pi), x)


def _gumbel(logits: Tensor, tau: float) -> Tensor:
    """Draws of 0 and 1 with the gradient of a relaxed draw (straight-through)."""
    soft = torch.sigmoid((logits + logistic_noise(logits.shape, logits)) / tau)
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())


def _hard_concrete(logits: Tensor, tau: float) -> Tensor:
    """Relaxed draws, stretched and cut to [0, 1] (Louizos et al. 2018)."""
    soft = torch.sigmoid((logits + logistic_noise(logits.shape, logits)) / tau)
    return (soft * (HIGH - LOW) + LOW).clamp(0, 1)


def _kumaraswamy(logits: Tensor, tau: float) -> Tensor:
    """Draws of a Kumaraswamy distribution, stretched and cut to [0, 1] (Bastings et al. 2019).

    Its shapes are `exp(logits / 2 tau)` and `exp(-logits / 2 tau)`, so that half of the draws are above 0.5 at 0.
    """
    shape = torch.exp((logits / (2 * tau)).clamp(-4, 4))
    uniform = torch.rand(logits.shape, dtype=logits.dtype, device=logits.device).clamp_(1e-6, 1 - 1e-6)
    soft = torch.exp(torch.log((1 - torch.exp(uniform.log() * shape)).clamp_min(1e-7)) / shape)
    return (soft * (HIGH - LOW) + LOW).clamp(0, 1)


_GATES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "gumbel": _gumbel,
    "hard_concrete": _hard_concrete,
    "kumaraswamy": _kumaraswamy,
}
