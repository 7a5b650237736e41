"""Where in a text its most important words stand: 0 is the beginning, 1 the end.

Family: global
Range: 0 to 1
Direction: neither
Definition: mean position of the k most important words, the first word at 0 and the last at 1. A text of one word or
    none has no value.
Citation: none, an example.
Limits: it says nothing of whether the words matter to the model. Compare it with that of random scores, which is 0.5
    on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class TopPositionOptions:
    """Options of `top_position`."""

    k: int = option(1, "how many of the most important words count")

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)


@METRICS.register("top_position")
class TopPosition(ExplanationMetric):
    """The mean position of the top words."""

    Options = TopPositionOptions

    def measure(self, case: Case) -> Mapping[str, list[float]]:
        """A value a text."""
        k = self.options.k
        ends = [len(order) - 1 for order in case.orders]
        pairs = zip(case.orders, ends, strict=True)
        return {"": [float(order[:k].mean()) / end if end > 0 else float("nan") for order, end in pairs]}
