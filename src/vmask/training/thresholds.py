"""The probability from which a label is predicted, where a text may have several: chosen on dev, label by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT = 0.5
"""Threshold of a label that dev cannot tell anything about."""
FEWEST = 5
"""Fewest dev texts with a label, and fewest without it, from which its threshold is chosen."""


def best_thresholds(probabilities: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """(C,) for each label the threshold with the highest F1 on dev texts.

    A threshold lies in the middle between two neighbouring probabilities; of several with the highest F1, the one
    nearest to 0.5, then the higher one. A label that fewer than `FEWEST` texts have, or lack, keeps 0.5.

    Args:
        probabilities: (N, C) of the texts.
        labels: (N, C) whether each text has each label.
    """
    columns = zip(np.asarray(probabilities, np.float64).T, np.asarray(labels).T > 0, strict=True)
    return np.array([_best(*column) for column in columns], np.float64)


def _best(probabilities: NDArray[np.float64], has: NDArray[np.bool_]) -> float:
    count = int(has.sum())
    if min(count, len(has) - count) < FEWEST:
        return DEFAULT
    order = np.argsort(-probabilities, kind="stable")
    falling = probabilities[order]
    ends = np.flatnonzero(falling[:-1] > falling[1:])  # the label is predicted for the texts up to here
    if not len(ends):
        return DEFAULT
    # In integers, so that equal scores are equal.
    hits, predicted = np.cumsum(has[order])[ends], ends + 1
    scores = 2 * hits / (predicted + count)
    middles = (falling[ends] + falling[ends + 1]) / 2
    return float(min(middles[scores == scores.max()], key=lambda one: (abs(one - DEFAULT), -one)))
