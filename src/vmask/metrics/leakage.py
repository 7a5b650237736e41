"""Whether the places of the selected words alone tell which class the model predicts.

Family: sanity
Range: -1 to 1
Direction: lower is better
Definition: of each text the most important words are selected (the option `percent`, rounded up). A probe, logistic
    regression with classes weighed alike, learns to predict the explained class from the share of the selected words in
    each of `bins` equal parts of the text, and from the log of its number of words, which sets the number of selected
    ones; it sees no words. It predicts every text from the others, in `folds` parts by seed and text, so equal texts
    stay together. The value is its balanced accuracy, the mean over classes of the share of their texts that it gets
    right, less that of a constant guess, 1 over the number of classes. 0 means that nothing leaks; below 0 is chance.
    Undefined with one class. A text without words has no value.
Citation: that a selection can carry the label by itself is the trojan explanation of Jacovi and Goldberg, Aligning
    Faithful Interpretations with their Social Attribution, TACL 2021; Yu, Chang, Zhang and Jaakkola, Rethinking
    Cooperative Rationalization, EMNLP 2019, call it degeneration. Hase, Zhang, Xie and Bansal, Leakage-Adjusted
    Simulatability, EMNLP Findings 2020, find leaks by a classifier that sees the explanation alone. The probe over
    positions is our own; we know of no published definition.
Limits: it is a lower bound: a probe with more features may find a leak that this one does not. The length of a text may
    tell its class without any explanation, and so may habits of the language, such as praise at the end: compare with
    the random floor, which knows the length alone. A leak shows that a selection could carry the label, not that the
    model reads it there. The interval draws the predictions again, not the probe, and is too narrow for few texts; for
    fewer than about 50 the value means little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.metrics import METRICS
from vmask.metrics._shares import counts
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class LeakageOptions:
    """Options of `leakage`."""

    percent: int = option(20, "share of a text's words that is selected, in percent")
    bins: int = option(10, "parts of a text in which selected words are counted", most=1_000)
    folds: int = option(5, "parts of the texts, each predicted from the others", most=1_000)

    def __post_init__(self) -> None:
        check_positive(self, "percent", "bins", minimum=1)
        check_positive(self, "folds", minimum=2)
        if self.percent > 100:
            raise ConfigError(f"percent is {self.percent}; it must be at most 100.")


@METRICS.register("leakage")
class Leakage(ExplanationMetric):
    """The class of every text, and whether the probe finds it."""

    Options = LeakageOptions
    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """Balanced accuracy above chance of records (N, 2): the class, and whether the probe predicts it."""
        present = records[np.isfinite(records).all(1)]
        _, numbers = np.unique(present[:, 0], return_inverse=True)
        texts = np.bincount(numbers)
        if len(texts) < 2:
            return float("nan")
        return float((np.bincount(numbers, weights=present[:, 1]) / texts).mean() - 1 / len(texts))

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One record per text: its fold, its class, and what the probe sees of it."""
        records = np.full((len(case.docs), self.options.bins + 3), np.nan)
        for number, (count,) in enumerate(counts(case, [self.options.percent])):
            if count:
                doc = case.docs[number]
                fold = numpy_stream(case.seed, "leakage", doc.text).integers(self.options.folds)
                places = case.orders[number][:count] * self.options.bins // len(doc.spans)
                shares = np.bincount(places, minlength=self.options.bins) / count
                records[number] = [fold, case.targets[number], *shares, np.log(len(doc.spans))]
        return {"": records}

    def combine(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, 2) the class of each text, and whether the probe of the other folds predicts it."""
        results = np.full((len(values), 2), np.nan)
        present = np.flatnonzero(np.isfinite(values).all(1))
        present = present[np.lexsort(values[present].T)]  # sums of the probe must not depend on the order of texts
        folds, classes, seen = values[present, 0], values[present, 1], values[present, 2:]
        for fold in np.unique(folds):
            here = folds == fold
            predicted = _predicted(seen[~here], classes[~here], seen[here])
            results[present[here]] = np.stack([classes[here], predicted == classes[here]], 1)
        return results


def _predicted(seen: NDArray[np.float64], classes: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[Any]:
    """(M,) predicted classes of `new` (M, F), by a probe trained on `seen` (N, F) and their classes (N,)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(np.unique(classes)) < 2:
        return np.full(len(new), classes[0] if len(classes) else np.nan)
    probe = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
    predicted: NDArray[Any] = probe.fit(seen, classes).predict(new)
    return predicted
