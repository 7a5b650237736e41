"""Integrated gradients: the gradient along the way from no words to the text (Sundararajan et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vmask.config import check_positive, option
from vmask.explain import EXPLAINERS
from vmask.explain._gradients import GradientExplainer

if TYPE_CHECKING:
    from vmask.inference.gradients import AtSeam


@dataclass(frozen=True)
class IntegratedGradientsOptions:
    """Options of `integrated_gradients`."""

    steps: int = option(50, "points on the way from no words to the text, of a Gauss-Legendre quadrature", most=2_000)

    def __post_init__(self) -> None:
        check_positive(self, "steps")


@EXPLAINERS.register("integrated_gradients")
class IntegratedGradients(GradientExplainer):
    """The mean gradient of the target's probability on the path from no words to the text, times what is seen of each.

    On the path the vectors of all words grow from zero, or from the mask's baseline; special tokens and padding stay
    as they are. The scores of a text sum to its probability minus that without words, up to the error of the
    quadrature: `difference` in the details. If a LayerNorm directly follows the seam, as in ModernBERT, it takes many
    more steps from zero to make it small.
    """

    Options = IntegratedGradientsOptions
    kind = "IntegratedGradients"

    def attribute(self, seam: AtSeam, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, T) scores of positions, and the error of their sum."""
        start = torch.where(seam.words.unsqueeze(-1), seam.baseline, seam.z)
        by_dimension = self.captum()(seam.answer).attribute(
            seam.z,
            start,
            targets,
            (seam.index, seam.lengths),
            n_steps=self.options.steps,
            method="gausslegendre",
            internal_batch_size=seam.most,
        )
        scores = by_dimension.sum(-1)
        with torch.no_grad():
            rise = seam.probabilities - seam.answer(start, seam.index, seam.lengths)
        return scores, {"difference": scores.sum(1) - rise.gather(1, targets.unsqueeze(1)).squeeze(1)}
