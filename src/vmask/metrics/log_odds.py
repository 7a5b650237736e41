"""Log of what is left of the probability without the most important words, by share of the text.

Family: faithfulness
Range: -16.2 to 16.2
Direction: lower is better
Definition: for each of the `percents` log(p(text without that share of its words, the most important) / p(whole text)),
    p being the probability of the explained class, at least 1e-7. The number of words is rounded up, so at least one is
    hidden. Shown is the share nearest to 20%. A text without words has no value.
Citation: Chen, Zheng and Ji, Generating Hierarchical Explanations on Text Classification via Feature Interaction
    Detection, ACL 2020 (20%); after Shrikumar et al., Learning Important Features Through Propagating Activation
    Differences, ICML 2017.
Limits: it is a ratio of probabilities, not of odds, in spite of its name. A few texts where almost nothing is left rule
    the mean. Values of two models do not compare: the surer model falls deeper, and each has limits of its own (Edin
    et al., ACL 2025). Texts with hidden words are unlike the training texts. Methods that hide words
    themselves do well by construction (Ju et al., Logic Traps, 2021). A share of a short text is a word or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._shares import ShareOptions, counts
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case

LEAST = 1e-7
"""Lower bound of probabilities, so that the log is finite; float32 is imprecise below."""


@METRICS.register("log_odds")
class LogOdds(ExplanationMetric):
    """The log ratio for every share."""

    Options = ShareOptions
    hides = True
    across_models = False

    @property
    def shown(self) -> str:
        """The share that the paper shows, or the nearest to it."""
        return f"{min(self.options.percents, key=lambda percent: abs(percent - 20))}%"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for every share."""
        percents = self.options.percents
        left = np.stack(case.without_top(counts(case, percents)))
        logs = np.log(np.maximum(left, LEAST)) - np.log(np.maximum(case.whole(), LEAST))[:, None]
        logs[[not doc.spans for doc in case.docs]] = np.nan
        return {f"{percent}%": logs[:, at] for at, percent in enumerate(percents)}
