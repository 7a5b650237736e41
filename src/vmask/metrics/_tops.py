"""Shared by metrics that hide the top 1, 2, … K words of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class TopOptions:
    """How many words are hidden."""

    k: int = option(5, "most words that are hidden", most=10_000)

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)


class EveryTop(ExplanationMetric):
    """A value for every k = 1 … K, with all words of a shorter text hidden. A text without words has no value."""

    Options = TopOptions
    hides = True
    across_models = False

    @property
    def shown(self) -> str:
        """The part with the most words hidden."""
        return f"k={self.options.k}"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for every k."""
        ks = range(1, self.options.k + 1)
        values = self.of_tops(case, ks)
        values[[not doc.spans for doc in case.docs]] = np.nan
        return {f"k={k}": values[:, at] for at, k in enumerate(ks)}

    def of_tops(self, case: Case, ks: range) -> NDArray[np.float64]:
        """(N, K) a value for every text and k."""
        raise NotImplementedError
