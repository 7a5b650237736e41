"""Whether the predicted class changes without the k most important words.

Family: faithfulness
Range: 0 to 1
Direction: higher is better
Definition: for each k = 1 … K, 1 where the class with the highest probability is another once the k most important
    words are hidden, else 0. K is the option `k`. From a text with fewer words all are hidden. A text without words has
    no value. What changes is the class that the model predicts, also where another one is explained.
Citation: Serrano and Smith, Is Attention Interpretable?, ACL 2019; Nguyen, NAACL 2018 (how many words until it flips).
Limits: it looks at the class alone, so a sure model flips later than one in doubt, and the values of two models do not
    compare. Texts with words hidden are none that the model was trained on; the class that it falls back on with all of
    them hidden seldom flips. Methods that hide words themselves do well by construction (Ju et al., Logic Traps, 2021).
    On texts of at most k words it says nothing of the order of words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._tops import TopOptions
from vmask.metrics.contract import ExplanationMetric

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@METRICS.register("decision_flip")
class DecisionFlip(ExplanationMetric):
    """Whether the class flips, for every k."""

    Options = TopOptions
    hides = True
    across_models = False

    @property
    def shown(self) -> str:
        """With most words hidden."""
        return f"k={self.options.k}"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """For every k a value a text."""
        ks = range(1, self.options.k + 1)
        classes = np.stack(case.ask_top([[0, *ks]] * len(case.docs), hidden=True)).argmax(2)
        flips = (classes[:, 1:] != classes[:, :1]).astype(np.float64)
        flips[[not doc.spans for doc in case.docs]] = np.nan
        return {f"k={k}": flips[:, at] for at, k in enumerate(ks)}
