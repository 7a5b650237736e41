"""Whether the predicted class changes without the k most important words.

Family: faithfulness
Range: 0 to 1
Direction: higher is better
Definition: for each k = 1 … K, 1 where the class with the highest probability is another once the k most important
    words are hidden, else 0. K is the option `k`. From a text with fewer words all are hidden. A text without words has
    no value. What changes is the class that the model predicts, also where another one is explained.
    With several labels a text it is the decision about the explained label that changes: whether its probability
    reaches its threshold; 1 also where the text did not have the label and gets it.
Citation: Serrano and Smith, Is Attention Interpretable?, ACL 2019; Nguyen, NAACL 2018 (how many words until it flips).
Limits: it looks at the class alone, so a sure model flips later than one in doubt, and the values of two models do not
    compare. Texts with hidden words are unlike the training texts; the class that it falls back on with all of
    them hidden seldom flips. Methods that hide words themselves do well by construction (Ju et al., Logic Traps, 2021).
    On texts of at most k words it says nothing of the order of words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._tops import EveryTop

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@METRICS.register("decision_flip")
class DecisionFlip(EveryTop):
    """Whether the class flips, for every k."""

    def of_tops(self, case: Case, ks: range) -> NDArray[np.float64]:
        """(N, K) 1 if the class without the k top words is different, else 0."""
        answers = np.stack(case.ask_top([[0, *ks]] * len(case.docs), hidden=True))
        classes = case.decisions(answers)
        flips: NDArray[np.float64] = (classes[:, 1:] != classes[:, :1]).astype(np.float64)
        return flips
