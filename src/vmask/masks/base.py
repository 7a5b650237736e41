"""No mask: the classifier as it is, trained on cross-entropy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from vmask.config import NoOptions
from vmask.masks import MASKS
from vmask.masks.contract import Embedded, Masked, WordMask


@MASKS.register("base")
class NoMask(WordMask):
    """Every word is seen as it is; there is no ranking of words."""

    Options = NoOptions
    recipe: ClassVar[Mapping[str, Any]] = {"stages": 1}
    penalised = False
    ranks = False

    def forward(self, x: Embedded) -> Masked:
        """Leave the batch alone."""
        ones = x.words.new_ones(x.words.shape, dtype=x.table.dtype)
        return Masked(ones, None, torch.zeros_like(ones), ones.new_zeros(()), untouched=True)
