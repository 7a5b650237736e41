"""Gradient times input: how the probability would change with a little less of a word (Shrikumar et al. 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vmask.explain import EXPLAINERS
from vmask.explain._gradients import GradientExplainer

if TYPE_CHECKING:
    from vmask.inference.gradients import AtSeam


@EXPLAINERS.register("gradient_x_input")
class GradientXInput(GradientExplainer):
    """The gradient of the target's probability at what is seen of a word, times what is seen: one step of a line to 0.

    It is the derivative by how much is kept of the word, with `hide=zero`. If the mask has a baseline, the line goes
    there.
    """

    kind = "InputXGradient"

    def attribute(self, seam: AtSeam, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, T) scores of positions."""
        baseline = torch.where(seam.words.unsqueeze(-1), seam.baseline, 0.0)

        def answer(above: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
            return seam.answer(above + baseline, index, lengths)

        above = (seam.z - baseline).requires_grad_()  # captum warns otherwise
        return self.captum()(answer).attribute(above, targets, (seam.index, seam.lengths)).sum(-1), {}
