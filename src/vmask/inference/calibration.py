"""Calibration: a temperature, and perhaps a bias of each class, that make probabilities as high as they are right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeGuard

from torch import Tensor

from vmask.errors import ModelFolderError

COLDEST, HOTTEST = 0.05, 100.0
"""Range of a temperature."""
LARGEST_BIAS = 50.0
"""Largest bias of a class, above or below 0."""


@dataclass(frozen=True)
class Calibration:
    """What is done to logits before they become probabilities: `logits / temperature + bias`.

    A temperature alone changes no predicted class; a bias may.

    Attributes:
        temperature: above 1 it makes probabilities less extreme, below 1 more.
        bias: one number for each class, or none at all.
    """

    temperature: float = 1.0
    bias: tuple[float, ...] = ()

    def apply(self, logits: Tensor) -> Tensor:
        """(B, C) calibrated logits."""
        scaled = logits / self.temperature
        return scaled + scaled.new_tensor(self.bias) if self.bias else scaled

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"temperature": self.temperature, "bias": list(self.bias)}


def read_calibration(value: Any, classes: int) -> Calibration | None:
    """The calibration in the `config.json` of a model folder; None if there is none, as in older folders.

    Args:
        value: what stands there.
        classes: number of classes C.

    Raises:
        ModelFolderError: for anything that is no calibration of this model.
    """
    if value is None:
        return None
    temperature, bias = (value.get("temperature"), value.get("bias")) if isinstance(value, dict) else (None, None)
    if not _is_number(temperature) or not COLDEST <= temperature <= HOTTEST:
        raise ModelFolderError(
            f"its calibration has no temperature between {COLDEST:g} and {HOTTEST:g}, but {temperature!r:.40}"
        )
    if not isinstance(bias, list) or len(bias) not in (0, classes):
        raise ModelFolderError(f"its calibration does not have a bias for each of {classes} classes")
    if not all(_is_number(one) and abs(one) <= LARGEST_BIAS for one in bias):
        raise ModelFolderError(f"its calibration has a bias that is no number of at most {LARGEST_BIAS:g}")
    return Calibration(float(temperature), tuple(map(float, bias)))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
