"""What metrics have in common that hide or keep a share of a text's words."""

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
    """Which shares of a text are looked at."""

    percents: tuple[int, ...] = option((1, 5, 10, 20, 50), "shares of a text's words, in percent")

    def __post_init__(self) -> None:
        fine = all(isinstance(percent, int) and 0 < percent <= 100 for percent in self.percents)
        if not self.percents or not fine or len(set(self.percents)) < len(self.percents):
            raise ConfigError(f"percents is {self.percents}; it must be different whole numbers from 1 to 100.")


@dataclass(frozen=True)
class SoftShareOptions(ShareOptions):
    """The same, and whether words are also scaled by their scores."""

    soft: bool = option(
        False, "also scale words by their scores, as the part `soft`; where words are hidden by `zero` only"
    )


def counts(case: Case, percents: Sequence[int]) -> list[list[int]]:
    """For each text the number of its top words at each share, rounded up, so never 0 where it has words."""
    # In whole numbers: 100 * 0.07 is more than 7.
    return [[-(-len(doc.spans) * percent // 100) for percent in percents] for doc in case.docs]


class ShareDrops(ExplanationMetric):
    """What p(whole text) has over p(text without, or with nothing but, a share of its words), for every share.

    Attributes:
        hidden: whether the top words are hidden; else all others are.
    """

    Options = SoftShareOptions
    headline = "mean"
    hides = True
    across_models = False
    hidden: ClassVar[bool]

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """For every share, their mean and `soft` a value a text."""
        percents = self.options.percents
        asked = case.without_top if self.hidden else case.only_top
        drops = case.whole()[:, None] - np.stack(asked(counts(case, percents)))
        drops[[not doc.spans for doc in case.docs]] = np.nan
        found = {f"{percent}%": drops[:, at] for at, percent in enumerate(percents)}
        found["mean"] = drops.mean(1)
        if self.options.soft and case.questions.hide == "zero":
            found["soft"] = soft_drop(case, self.hidden)
        return found


def soft_drop(case: Case, hidden: bool) -> NDArray[np.float64]:
    """(N,) what p(whole text) has over p(words scaled by their score, or where `hidden` by what that leaves of 1)."""
    keep = [1 - scaled(scores) if hidden else scaled(scores) for scores in case.scores]
    answers = case.questions.ask([row[None].astype(np.float32) for row in keep])
    of_target = np.array([rows[0, target] for rows, target in zip(answers, case.targets, strict=True)], np.float64)
    return np.where([bool(doc.spans) for doc in case.docs], case.whole() - of_target, np.nan)


def scaled(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Scores stretched to 0 … 1 over a text; one half each where all are equal."""
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
