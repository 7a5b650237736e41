"""Learns for every word the chance that it is kept, under an information bottleneck (the paper's method)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks._baseline import BaselineOptions
from vmask.masks._gates import Activation, ScoreNet, bernoulli_kl, sample_keep
from vmask.masks.contract import Embedded, Masked, WordMask, mean_over_words, spread


@dataclass(frozen=True)
class VMaskOptions(BaselineOptions):
    """Options of `vmask`."""

    hidden: int = option(100, "hidden units of the inference network", most=100_000)
    activation: Activation = option("tanh", "activation of the inference network")
    pi: float = option(0.5, "prior chance that a word is kept; below 0.5 fewer words are used")
    tau: float = option(1.0, "temperature of the Gumbel-softmax draws")
    tau_end: float | None = option(
        None, "temperature at the end, reached in a straight line; by default as at the start"
    )
    relaxation: Literal["st", "soft"] = option(
        "st", "draws of 0 and 1 with straight-through gradients, or relaxed draws"
    )
    sample_per: Literal["position", "type"] = option(
        "position", "a draw for every position, or one for every word type of a text"
    )
    reduction: Literal["mean", "sum"] = option(
        "mean", "penalty as mean over words, or as the paper's sum over the words of a text"
    )
    penalty_over: Literal["words", "all"] = option("words", "penalty over words, or over padding too as released")
    inference: Literal["expectation", "threshold"] = option(
        "expectation", "what multiplies a word at inference: E[R], or 1 where E[R] is at least 0.5 and else 0"
    )

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "tau", "tau_end")
        if not 0 < self.pi < 1:
            raise ConfigError(f"pi is {self.pi}; it must be between 0 and 1.")


@MASKS.register("vmask")
class VMask(WordMask):
    """Variational word masks: `max E_q[log p(y|R,x)] - beta * KL(q(R|x) || Bernoulli(pi))` (eq. 8 and 9).

    `q(R_t = 1 | x_t)` is the sigmoid of a small network on the word's vector, so it belongs to the word type. Training
    multiplies every word by a draw of R, inference by `E[R]`.
    """

    Options = VMaskOptions
    version = 2
    recipe = {"beta": 1.0, "beta_end": 0.01}
    paper_code = {
        "mask": {"penalty_over": "all"},
        "train": {"beta": 1.0, "beta_end": 0.109, "beta_schedule": "steps"},
    }

    def __init__(self, dim: int, options: VMaskOptions) -> None:
        super().__init__(dim, options)
        self.net = ScoreNet(dim, options.hidden, options.activation)

    @classmethod
    def is_soft(cls, options: VMaskOptions) -> bool:
        """E[R] is between 0 and 1; its threshold is not."""
        return options.inference == "expectation"

    def word_level(self) -> bool:
        """E[R] depends on the word alone."""
        return True

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) E[R], the chance that each word is kept."""
        return torch.sigmoid(self.net(table))

    @property
    def anneals(self) -> bool:
        """Whether its temperature moves."""
        return self.options.tau_end not in (None, self.options.tau)

    @property
    def tau(self) -> float:
        """Temperature at this point of the training."""
        start, end = self.options.tau, self.options.tau_end
        return float(start if end is None else start + (end - start) * self.progress)

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch: a draw of R in training, E[R] in eval."""
        options = self.options
        logits = self.net(x.table)
        scores = spread(torch.sigmoid(logits.detach()), x)
        if self.training:
            scale = sample_keep(logits, x, self.tau, options.relaxation == "st", options.sample_per)
        elif options.inference == "threshold":
            scale = (scores >= 0.5).to(scores.dtype)
        else:
            scale = spread(torch.sigmoid(logits), x)
        return self.seen(scale, x, scores, self._penalty(logits, x))

    def _penalty(self, logits: Tensor, x: Embedded) -> Tensor:
        kl = bernoulli_kl(logits, self.options.pi)  # (U,)
        if self.options.penalty_over == "all":
            everywhere = spread(kl, x)  # (B, T)
            return everywhere.mean() if self.options.reduction == "mean" else everywhere.sum(1).mean()
        return mean_over_words(kl, x) if self.options.reduction == "mean" else torch.dot(kl, x.counts()) / len(x.index)
