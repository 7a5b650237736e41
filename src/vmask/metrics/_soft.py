"""Shared by metrics that hide words at random, with chances by their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.metrics._shares import scaled
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case

SAME = 1e-6
"""Probabilities this close together count as equal, because of the noise of float32."""


@dataclass(frozen=True)
class SoftOptions:
    """How words are drawn."""

    rate: float = option(0.5, "mean chance over the words of a text to be selected, the same for all methods")
    draws: int = option(10, "random draws for each text", most=10_000)

    def __post_init__(self) -> None:
        check_positive(self, "draws", minimum=1)
        if not 0 < self.rate < 1:
            raise ConfigError(f"rate is {self.rate}; it must be between 0 and 1.")


class SoftDrops(ExplanationMetric):
    """The drop in probability with words drawn by their scores, relative to the drop without any words.

    Attributes:
        hidden: whether the words that are drawn are hidden; else all others.
    """

    Options = SoftOptions
    hides = True
    across_models = False
    hidden: ClassVar[bool]

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text."""
        keep = []
        for doc, scores in zip(case.docs, case.scores, strict=True):
            # The same draws for all methods, so that only their chances differ.
            draws = numpy_stream(case.seed, "soft", doc.text).random((self.options.draws, len(doc.spans)))
            selected = draws < chances(scores, self.options.rate)
            whole = np.ones((1, len(doc.spans)), np.bool_)
            keep.append(np.concatenate([whole, ~whole, ~selected if self.hidden else selected]))
        values = np.full(len(case.docs), np.nan)
        for number, answers in enumerate(case.questions.ask_once(keep)):
            of_target = answers[:, case.targets[number]].astype(np.float64)
            largest, *drops = of_target[0] - of_target[1:]
            if largest > SAME:
                share = float(np.clip(np.array(drops) / largest, 0, 1).mean())
                values[number] = share if self.hidden else 1 - share
        return {"": values}


def chances(scores: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """(W,) chance of each word to be selected, with the mean `rate`.

    The scores are stretched to 0 … 1, then raised or lowered together and cut at 0 and 1. So every mean between 0 and 1
    can be reached, whatever the scores, and their order stays.
    """
    from scipy.optimize import brentq

    shares = scaled(scores)
    if not len(shares):
        return shares
    shift = brentq(lambda shift: np.clip(shares + shift, 0, 1).mean() - rate, -1, 1)
    moved: NDArray[np.float64] = np.clip(shares + shift, 0, 1)
    return moved
