"""What predictions of several labels a text are worth, label by label."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.inference.decisions import thresholds_of
from vmask.metrics.contract import Subject


def label_scores(subject: Subject) -> list[dict[str, Any]]:
    """A row for every label: `label`, `threshold`, `precision`, `recall`, `f1`, `support` and `predicted`.

    Support is the number of texts that have the label. Precision is NaN where it is never predicted, recall where no
    text has it, F1 where neither is the case. Empty where each text has one label, or labels are not known.
    """
    thresholds = thresholds_of(subject.predictor)
    if thresholds is None or subject.labels is None:
        return []
    true: NDArray[np.bool_] = subject.labels
    columns = zip(subject.predictor.labels, thresholds.tolist(), true.T, subject.predicted.T, strict=True)
    return [_row(*column) for column in columns]


def _row(label: Any, threshold: float, true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> dict[str, Any]:
    hits, support, given = int((true & predicted).sum()), int(true.sum()), int(predicted.sum())
    return {
        "label": label,
        "threshold": threshold,
        "precision": hits / given if given else nan,
        "recall": hits / support if support else nan,
        "f1": 2 * hits / (support + given) if support + given else nan,
        "support": support,
        "predicted": given,
    }
