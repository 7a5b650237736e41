"""From probabilities to labels: the most probable one; with several labels a text, all that reach a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import MULTI_LABEL, SINGLE_LABEL

LEAST = 1e-7
"""Distance of probabilities from 0 and 1 where log odds are computed; float32 is imprecise beyond."""


def leading(probabilities: NDArray[Any], thresholds: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """(N,) number of the label that a text is about most, from probabilities (N, C).

    With one label a text that is the most probable one. With several it is the one whose log odds are highest above
    those of its threshold (C,), or least below them if none reaches it. Ties go to the first label.
    """
    if thresholds is not None:
        probabilities = _log_odds(probabilities) - _log_odds(thresholds)
    numbers: NDArray[np.int64] = probabilities.argmax(1).astype(np.int64)
    return numbers


def decided(probabilities: NDArray[Any], thresholds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(..., C) whether each label is predicted: its probability (..., C) reaches its threshold (C,)."""
    reached: NDArray[np.bool_] = probabilities >= thresholds
    return reached


def predictions(predictor: Any, probabilities: NDArray[Any]) -> NDArray[Any]:
    """What a predictor predicts from probabilities (..., C).

    The number of a class (...); with several labels a text whether each label is predicted (..., C).
    """
    thresholds = thresholds_of(predictor)
    if thresholds is not None:
        return decided(probabilities, thresholds)
    numbers: NDArray[np.int64] = probabilities.argmax(-1).astype(np.int64)
    return numbers


def thresholds_of(predictor: Any) -> NDArray[np.float64] | None:
    """(C,) the thresholds of a predictor of several labels a text; None of another."""
    if getattr(predictor, "task", SINGLE_LABEL) != MULTI_LABEL:
        return None
    thresholds: NDArray[np.float64] = np.asarray(predictor.thresholds, np.float64)
    return thresholds


def predicted_labels(row: Sequence[float], labels: Sequence[Any], thresholds: NDArray[np.float64]) -> tuple[Any, ...]:
    """The labels of a text whose probabilities (C,) reach their thresholds (C,), in the order of the labels."""
    return label_tuples(decided(np.asarray(row), thresholds)[None], labels)[0]


def label_tuples(reached: NDArray[np.bool_], labels: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The labels of each text, given which of them each has (N, C)."""
    return [tuple(labels[at] for at in np.flatnonzero(row).tolist()) for row in reached]


def _log_odds(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    cut = np.clip(np.asarray(probabilities, np.float64), LEAST, 1 - LEAST)
    odds: NDArray[np.float64] = np.log(cut) - np.log1p(-cut)
    return odds
