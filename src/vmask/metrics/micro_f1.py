"""F1 score over all labels of all texts together, where a text may have several.

Family: prediction
Range: 0 to 1
Direction: higher is better
Definition: F1 = 2 TP / (2 TP + FP + FN), where every label of every text is counted once: TP are the labels that a text
    has and is given, FP those that it is given without having them, FN those that it has and is not given. 0 where no
    text has a label or is given one.
Citation: as `f1_score(average="micro")` of scikit-learn, to which a test holds it; Tsoumakas and Katakis, Multi-Label
    Classification: An Overview, 2007.
Limits: common labels rule it, so a rare label may be lost unseen: read macro_f1 and the table of labels beside it. It
    depends on the thresholds. With one label a text it is the accuracy, so it is not measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics.contract import PredictionMetric, Series, Subject


def micro_f1(true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """F1 score over all labels (N, C) together."""
    total = int(true.sum()) + int(predicted.sum())
    return 2 * int((true & predicted).sum()) / total if total else 0.0


@METRICS.register("micro_f1")
class MicroF1(PredictionMetric):
    """Number of hits, of true and of predicted labels of every text."""

    averaged = False

    def unfit(self, subject: Subject) -> str:
        """It needs several labels a text."""
        if subject.several:
            return super().unfit(subject)
        return "each text has one label, and it would be the accuracy"

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Micro F1 of records (N, 2): number of hits, and of true and predicted labels together."""
        hits, total = records.sum(0)
        return float(2 * hits / total) if total else 0.0

    def measure(self, subject: Subject) -> Iterator[Series]:
        """One record per text."""
        assert subject.labels is not None
        true, predicted = subject.labels, subject.predicted
        yield Series(np.stack([(true & predicted).sum(1), true.sum(1) + predicted.sum(1)], 1).astype(np.float64))
