"""Random 0/1 gates and the small networks that decide them, shared by the masks."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from vmask.masks.contract import Embedded, spread

Activation: TypeAlias = Literal["tanh", "sigmoid", "relu", "leaky_relu"]
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
}


class ScoreNet(nn.Module):
    """One number for each word vector: `Linear -> activation -> Linear` (the paper's inference network).

    Two categories need one logit: softmax over (hide, keep) is the sigmoid of the difference of their logits.
    """

    def __init__(self, dim: int, hidden: int, activation: Activation = "tanh") -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), _ACTIVATIONS[activation](), nn.Linear(hidden, 1))

    def forward(self, table: Tensor) -> Tensor:
        """(U, D) vectors -> (U,) logits."""
        logits: Tensor = self.net(table).squeeze(-1)
        return logits


def logistic_noise(shape: torch.Size | tuple[int, ...], like: Tensor) -> Tensor:
    """Draws of Logistic(0, 1), the difference of two Gumbel(0, 1) draws (eq. 18 of the paper)."""
    tiny = torch.finfo(like.dtype).eps
    u = torch.rand(shape, dtype=like.dtype, device=like.device).clamp_(tiny, 1 - tiny)
    return u.log() - torch.log1p(-u)


def sample_keep(
    logits: Tensor, x: Embedded, tau: float, hard: bool = True, per: Literal["position", "type"] = "position"
) -> Tensor:
    """(B, T) Gumbel-softmax draws of R, the chance of 1 being `sigmoid(logits)` (eq. 18 and 19 of the paper).

    Args:
        logits: (U,) log odds of keeping each distinct word.
        x: the batch.
        tau: temperature of the relaxation.
        hard: give 0 or 1 and pass the gradient of the relaxed draw (straight-through).
        per: draw for every position, or once for every word type of a text.
    """
    at_position = spread(logits, x)
    if per == "position":
        noise = logistic_noise(at_position.shape, logits)
    else:
        noise = logistic_noise((len(x.index), len(logits)), logits).gather(1, x.index)
    soft = torch.sigmoid((at_position + noise) / tau)
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach()) if hard else soft


def bernoulli_kl(logits: Tensor, pi: float) -> Tensor:
    """(U,) KL(Bernoulli(sigmoid(logits)) || Bernoulli(pi)) in nats; `log 2 - H` for pi = 0.5 (eq. 8, 9)."""
    prior_logit = math.log(pi) - math.log1p(-pi)
    # p (log p/(1-p) - log pi/(1-pi)) + log (1-p)/(1-pi), finite for every logit
    return torch.sigmoid(logits) * (logits - prior_logit) - nn.functional.softplus(logits) - math.log1p(-pi)
