"""Learns which words may be seen at all: a word is visible or hidden, under a budget of running words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.config import MULTI_LABEL, check_positive, option
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks._gates import Activation, ScoreNet, bernoulli_kl, logistic_noise
from vmask.masks.contract import Embedded, Masked, WordMask, mean_over_words, over_processes, spread

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
DROPOUT = 0.3
"""Chance that a word, and that a hidden unit, is left out where the evidence of words is learnt."""


@dataclass(frozen=True)
class SelectOptions(BaselineOptions):
    """Options of `select`."""

    budget: float = option(0.3, "share of running words that may be visible")
    max_words: int | None = option(None, "at most this many visible word types of the training texts")
    gate: Literal["gumbel", "hard_concrete", "kumaraswamy"] = option(
        "hard_concrete", "distribution of a gate in training"
    )
    pi: float = option(0.1, "prior chance that a word is kept, of words that have not earned to be visible")
    tau: float = option(0.5, "temperature of the gates")
    hidden: int = option(100, "hidden units of the gates' network", most=100_000)
    activation: Activation = option("tanh", "activation of the gates' network")

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "tau", "max_words")
        if not 0 < self.budget <= 1:
            raise ConfigError(f"budget is {self.budget}; it must be above 0 and at most 1.")
        if not 0 < self.pi < 1:
            raise ConfigError(f"pi is {self.pi}; it must be between 0 and 1.")


@MASKS.register("select")
class Select(WordMask):
    """Hard gates under a budget: `min E[error]` subject to `share of visible running words <= budget`.

    A gate belongs to the word type: the log odds of `G_t = 1` are `net(x_t) + scale * (|e(x_t)| - offset)`, a small
    network on the word's vector and the size of the word's evidence. The evidence e (C,) is what a word says about the
    classes by itself: an additive classifier, `softmax(sum_t e(x_t) / sqrt(T))`, learns it beside the other one. With
    several labels a text it is `sigmoid(prior + sum_t e(x_t) / sqrt(T))`, with a learnt number a label as the prior.

    While the training anneals, gates are drawn, and `multiplier * KL(q(G|x) || Bernoulli(pi))` is added to the loss.
    The multiplier starts high, so that no word is visible, and follows the constraint (dual ascent in its logarithm):
    it falls while fewer running words than the budget have a chance of at least a half, and rises while there are more.
    Then the gates and the vectors that they read are fixed, and the classifier is trained from its first weights with
    the words that it will see.

    At inference a word is visible if its log odds reach a threshold, which is set after every epoch so that the
    training texts keep to the budget.

    Attributes:
        multiplier: () Lagrange multiplier of the budget, above 0.
        threshold: () log odds from which a word is visible.
    """

    Options = SelectOptions
    recipe = {"beta": 1.0, "anneal_until": 0.6, "min_steps": 1000}
    restarts = True
    version = 2

    def __init__(self, dim: int, options: SelectOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden, options.activation)
        self.evidence = nn.Linear(dim, options.hidden)
        self.classes = nn.Linear(options.hidden, 2)
        self.register_parameter("prior", None)
        self.log_scale = nn.Parameter(torch.ones(()))
        self.offset = nn.Parameter(torch.ones(()))
        self.multiplier: Tensor
        self.threshold: Tensor
        self.register_buffer("multiplier", torch.ones(()))
        self.register_buffer("threshold", torch.zeros(()))

    def set_classes(self, classes: int) -> None:
        """Make the evidence one for this number of classes."""
        several = self.task == MULTI_LABEL
        self.classes = nn.Linear(self.options.hidden, classes, bias=not several)
        self.prior = nn.Parameter(torch.zeros(classes)) if several else None

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
        return torch.sigmoid(self.log_odds(table) - self.threshold)

    def log_odds(self, table: Tensor, evidence: Tensor | None = None) -> Tensor:
        """(U,) log odds that words with these vectors (U, D) are visible; `evidence` (U, C) if it is known."""
        evidence = self.evidence_of(table) if evidence is None else evidence
        size = evidence.square().sum(1).add(1e-12).sqrt()
        logits: Tensor = self.net(table) + self.log_scale.exp() * (size - self.offset)
        return logits

    def evidence_of(self, table: Tensor, dropout: float = 0.0) -> Tensor:
        """(U, C) what words with these vectors (U, D) say about the classes by themselves.

        It sums to 0 where classes exclude each other.
        """
        hidden = functional.dropout(torch.tanh(self.evidence(table)), dropout)
        evidence: Tensor = self.classes(hidden)
        return evidence if self.prior is not None else evidence - evidence.mean(1, keepdim=True)

    @torch.no_grad()
    def calibrate(self, table: Tensor, counts: Tensor) -> None:
        """Set the threshold so that the training texts keep to the budget, and their words to `max_words`."""
        logits, order = self.log_odds(table).sort(descending=True)
        share = counts[order].double().cumsum(0) / counts.sum().clamp_min(1)
        visible = int((share <= MARGIN * self.options.budget).sum())
        if self.options.max_words is not None:
            visible = min(visible, self.options.max_words)
        while 0 < visible < len(logits) and logits[visible - 1] - logits[visible] < TIE:
            visible -= 1  # words with equal log odds are hidden together
        ends = torch.cat([logits[:1] + 1, logits, logits[-1:] - 1])
        self.threshold.copy_((ends[visible] + ends[visible + 1]) / 2)  # between the last visible and the first hidden

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch: draws while the training anneals; else 1 for visible words and 0 for others."""
        drawn = self.training and self.progress < 1
        evidence = self.evidence_of(x.table, DROPOUT if drawn else 0.0)
        logits = self.log_odds(x.table, evidence)
        scores = spread(torch.sigmoid((logits - self.threshold).detach()), x)
        if not drawn:
            visible = (scores >= 0.5).to(scores.dtype)
            # Several processes need a gradient of all weights.
            return self.seen(visible, x, scores, 0 * logits.sum() if self.training else logits.new_zeros(()))
        scale = _GATES[self.options.gate](spread(logits, x), self.options.tau)
        masked = self.seen(scale, x, scores, self._penalty(logits, x))
        summed = _summed(evidence, x)
        return replace(masked, logits=summed if self.prior is None else summed + self.prior)

    def _penalty(self, logits: Tensor, x: Embedded) -> Tensor:
        """() the multiplier times the divergence from the prior, after a step of the multiplier."""
        with torch.no_grad():
            counts = x.counts()
            visible = torch.dot((logits >= 0).to(logits.dtype), counts)
            visible, words = over_processes(torch.stack([visible, counts.sum()]))
            share = visible / words.clamp_min(1)
            step = torch.exp(DUAL_RATE * (share - self.options.budget))
            self.multiplier.mul_(step).clamp_(WEAKEST, STRONGEST)
        return self.multiplier.clone() * mean_over_words(bernoulli_kl(logits, self.options.pi), x)


def _summed(evidence: Tensor, x: Embedded) -> Tensor:
    """(B, C) the evidence (U, C) of the words of each text, some of them left out, over the root of their number."""
    heard = (x.words & (torch.rand(x.words.shape, device=x.words.device) >= DROPOUT)).to(evidence.dtype)
    total = (functional.embedding(x.index, evidence) * heard.unsqueeze(-1)).sum(1)
    return total / x.words.sum(1, keepdim=True).clamp_min(1).to(evidence.dtype).sqrt()


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
