"""Saliency: the size of the gradient at a word, whichever way it points (Simonyan et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from vmask.config import option
from vmask.explain import EXPLAINERS
from vmask.explain._gradients import GradientExplainer

if TYPE_CHECKING:
    from vmask.inference.gradients import AtSeam

ORDERS = {"l2": 2.0, "l1": 1.0, "max": float("inf")}


@dataclass(frozen=True)
class SaliencyOptions:
    """Options of `saliency`."""

    norm: Literal["l2", "l1", "max"] = option("l2", "size of a gradient over the dimensions of a vector")


@EXPLAINERS.register("saliency")
class Saliency(GradientExplainer):
    """The norm of the gradient of the target's probability at what is seen of a word. A hidden word has one too."""

    Options = SaliencyOptions
    signed = False
    of_pieces = "highest of its pieces"
    kind = "Saliency"
    baseline = ""

    def attribute(self, seam: AtSeam, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, T) scores of positions."""
        z = seam.z.clone().requires_grad_()  # captum warns otherwise
        gradient = self.captum()(seam.answer).attribute(z, targets, additional_forward_args=(seam.index, seam.lengths))
        return torch.linalg.vector_norm(gradient, ORDERS[self.options.norm], dim=-1), {}
