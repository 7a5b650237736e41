"""Drop in probability without the k most important words.

Family: faithfulness
Range: -1 to 1
Direction: higher is better
Definition: for each k = 1 … K, p(whole text) - p(text without its k most important words), p being the probability of
    the explained class. K is the option `k`. From a text with fewer words all are hidden. A text without words has no
    value. The mean over k is aopc, except on texts with fewer than K words.
Citation: the curve whose mean is the AOPC of Samek et al., TNNLS 2017.
Limits: as those of aopc. Values of two models do not compare, for each has limits of its own (Edin et al., ACL 2025).
    Texts with hidden words are unlike the training texts. Methods that hide words themselves do well by
    construction (Ju et al., Logic Traps, 2021). On texts of at most k words it says nothing of the order of words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._tops import EveryTop

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@METRICS.register("prob_drop")
class ProbDrop(EveryTop):
    """The drop for every k."""

    def of_tops(self, case: Case, ks: range) -> NDArray[np.float64]:
        """(N, K) p(whole text) minus p(text without its k top words)."""
        return case.whole()[:, None] - np.stack(case.without_top([ks] * len(case.docs)))
