"""Checks that an export predicts what the model predicts."""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from vmask.errors import ExportError
from vmask.inference.predictor import TextPredictor

TOLERANCE = 1e-4
"""Maximum difference of a probability from the model's."""
P = TypeVar("P", bound=TextPredictor)


def copy_to_cpu(predictor: P) -> P:
    """A copy of the predictor on the CPU; the original stays on its device."""
    predictor = copy.copy(predictor)
    predictor.model, predictor.device = copy.deepcopy(predictor.model).cpu(), torch.device("cpu")
    return predictor


def check_predictions(exported: NDArray[np.float32], expected: NDArray[np.float32], subject: str, fix: str) -> float:
    """The maximum difference between the probabilities (N, C) of an export and of the model.

    Args:
        exported: probabilities of the export.
        expected: probabilities of the model.
        subject: what was exported, for the message.
        fix: what to do, for the message.

    Raises:
        ExportError: if they differ by more than `TOLERANCE`.
    """
    difference = float(np.abs(exported - expected).max())
    if not difference <= TOLERANCE:  # NaN too
        raise ExportError(
            f"{subject} gives probabilities that differ from the model's by {difference:.2g}, so it was not kept. {fix}"
        )
    return difference


def nothing_to_fold(name: str) -> str:
    """The note on a mask that does nothing."""
    return f"no mask to fold: {name} leaves the word vectors as they are"
