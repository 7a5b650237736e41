"""No mask, with l2 regularisation of the weights (the paper's second baseline)."""

from __future__ import annotations

from vmask.masks import MASKS
from vmask.masks.base import NoMask


@MASKS.register("l2")
class L2(NoMask):
    """As `base`, with weight decay in the gradient of Adam."""

    recipe = {"weight_decay": 1e-4, "optimizer": "adam", "stages": 1}
