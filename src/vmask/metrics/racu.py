"""How much faster accuracy falls than in a random order as words are hidden, relative to the fastest fall.

Family: faithfulness
Range: -10 to 10
Direction: higher is better
Definition: accuracy is the share of texts whose true class is predicted with 0%, 10%, … 100% of their words hidden,
    the most important first; numbers of words are rounded down. The random curve is the mean over random orders (the
    option `orders`), drawn from the seed and the text. RACU is the area between the random curve and that of the
    explanation, divided by the area between the random curve and its last value, to which the best explanation falls
    at once; areas by the trapezoidal rule. 0 is as good as random, below 0 worse. It is a ratio over all texts, cut at
    -10 and 10; undefined if accuracy does not fall in a random order. Texts without words change nothing.
Citation: Madsen, Meade, Adlakha and Reddy, Evaluating the Faithfulness of Importance Measures in NLP by Recursively
    Masking Allegedly Important Tokens and Retraining, EMNLP Findings 2022; Madsen, Reddy and Chandar, Faithfulness
    Measurable Masked Language Models, ICML 2024. Checked against the code of the latter: curves, areas and rounding
    are the same. They explain the true class, and anew at every step, with the words hidden so far; here a text is
    explained once, for the predicted class. They take one random order and the metric of each dataset, here it is the
    mean of several and always accuracy.
Limits: it is meant for models that were trained with words hidden in the same way, of which the mask `word_dropout`
    (and hide=zero) comes closest here; for other models the fall is partly that of strange texts. Above 1 the
    explanation misleads the model more than no words at all. Where accuracy hardly falls the ratio is unstable, and
    few texts give a wide interval. Short texts hide no word at the first steps. It is about a set of texts and says
    nothing of a single explanation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics.contract import ExplanationMetric, Subject

if TYPE_CHECKING:
    from vmask.metrics._case import Case

PERCENTS = range(0, 101, 10)
MOST = 10.0
"""Largest size of a value."""


@dataclass(frozen=True)
class RacuOptions:
    """Options of `racu`."""

    orders: int = option(5, "random orders of the words of each text, for the random curve", most=1_000)

    def __post_init__(self) -> None:
        check_positive(self, "orders", minimum=1)


@METRICS.register("racu")
class Racu(ExplanationMetric):
    """The area between two curves, and the largest that it could be, of every text."""

    Options = RacuOptions
    hides = True
    averaged = False

    def statistic(self, records: NDArray[np.float64]) -> float:
        """RACU of records (N, 2): the area between random and explanation, and between random and its last value."""
        area, largest = records.sum(0)
        return float(np.clip(area / largest, -MOST, MOST)) if largest > 1e-9 else float("nan")

    def unfit(self, subject: Subject) -> str:
        """It needs the true labels."""
        return "" if subject.labels is not None else "the texts have no labels"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One record per text."""
        counts = [[len(doc.spans) * percent // 100 for percent in PERCENTS] for doc in case.docs]
        explained = _right(case, case.questions.ask_once(case.top_rows(counts, hidden=True)))
        random = self._random_curve(case, counts)
        return {"": np.stack([_area(random - explained), _area(random - random[:, -1:])], 1)}

    def _key(self, case: Case) -> tuple[Any, ...]:
        """What the random curve depends on."""
        return "racu", self.options.orders, case.seed, tuple(case.targets) if case.several else ()

    def _random_curve(self, case: Case, counts: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """(N, 11) share of the random orders with which each text is predicted right; the same for all methods."""
        orders, memo, key = self.options.orders, case.questions.memo, self._key(case)
        if key not in memo:
            keep = []
            for doc, hidden in zip(case.docs, counts, strict=True):
                draws = numpy_stream(case.seed, "racu", doc.text).random((orders, len(doc.spans)))
                ranks = draws.argsort(1).argsort(1)
                rows = ranks[:, None, :] >= np.array(hidden)[:, None]  # (orders, 11, W)
                keep.append(rows.reshape(orders * len(PERCENTS), len(doc.spans)))
            memo[key] = _right(case, case.questions.ask_once(keep)).reshape(-1, orders, len(PERCENTS)).mean(1)
        curve: NDArray[np.float64] = memo[key]
        return curve


def _right(case: Case, answers: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """(N, S) 1 where the true class of a text is predicted, given (S, C) probabilities of each.

    With several labels a text: where the decision about the explained label is right.
    """
    assert case.labels is not None
    labels = case.labels if case.labels.ndim == 1 else case.labels[np.arange(len(case.labels)), list(case.targets)]
    right: NDArray[np.bool_] = case.decisions(np.stack(answers)) == labels[:, None]
    return right.astype(np.float64)


def _area(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) areas under curves (N, 11) from 0 to 1, by the trapezoidal rule."""
    areas: NDArray[np.float64] = ((curves[:, 1:] + curves[:, :-1]) / 2).mean(1)
    return areas
