"""How good predictions are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def accuracy(true: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Share of texts whose class is right."""
    return float(np.mean(true == predicted))


def macro_f1(true: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Mean over classes of the F1 score, so that a rare class weighs as much as a common one."""
    from sklearn.metrics import f1_score

    return float(f1_score(true, predicted, average="macro", zero_division=0.0))
