"""Shared by metrics that hide or keep a share of the words of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vmask.config import option
from vmask.errors import ConfigError
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class ShareOptions:
    """The shares of a text."""

    percents: tuple[int, ...] = option((1, 5, 10, 20, 50), "shares of a text's words, in percent")

    def __post_init__(self) -> None:
        valid = all(isinstance(percent, int) and 0 < percent <= 100 for percent in self.percents)
        if not self.percents or not valid or len(set(self.percents)) < len(self.percents):
            raise ConfigError(f"percents is {self.percents}; it must be different whole numbers from 1 to 100.")


@dataclass(frozen=True)
class SoftShareOptions(ShareOptions):
    """The same, and whether words are also scaled by their scores."""

    soft: bool = option(
        False, "also scale words by their scores, as the part `soft`; where words are hidden by `zero` only"
    )


def counts(case: Case, percents: Sequence[int]) -> list[list[int]]:
    """Number of top words of each text at each share, rounded up, so never 0 for a text with words."""
    # In integers: 100 * 0.07 is more than 7.
    return [[-(-len(doc.spans) * percent // 100) for percent in percents] for doc in case.docs]


class ShareDrops(ExplanationMetric):
    """P(whole text) minus p(text without, or with only, a share of its words), for every share.

    Attributes:
        hidden: whether the top words are hidden; else all others.
    """

    Options = SoftShareOptions
    headline = "mean"
    hides = True
    across_models = False
    hidden: ClassVar[bool]

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for every share, their mean, and `soft`."""
        percents = self.options.percents
        probabilities = case.without_top if self.hidden else case.only_top
        drops = case.whole()[:, None] - np.stack(probabilities(counts(case, percents)))
        drops[[not doc.spans for doc in case.docs]] = np.nan
        parts = {f"{percent}%": drops[:, i] for i, percent in enumerate(percents)}
        parts["mean"] = drops.mean(1)
        if self.options.soft and case.questions.hide == "zero":
            parts["soft"] = soft_drop(case, self.hidden)
        return parts


def soft_drop(case: Case, hidden: bool) -> NDArray[np.float64]:
    """(N,) p(whole text) minus p(words scaled by their score s; by 1 - s if `hidden`)."""
    keep = [1 - scaled(scores) if hidden else scaled(scores) for scores in case.scores]
    answers = case.questions.ask([row[None].astype(np.float32) for row in keep])
    of_target = np.array([rows[0, target] for rows, target in zip(answers, case.targets, strict=True)], np.float64)
    return np.where([bool(doc.spans) for doc in case.docs], case.whole() - of_target, np.nan)


def scaled(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Scores of a text rescaled to 0 … 1; one half each if all are equal."""
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
