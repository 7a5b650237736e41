"""Mean drop in probability as the most important words are hidden, one after the other.

Family: faithfulness
Range: -1 to 1
Direction: higher is better
Definition: the mean over k = 1 … K (or as many words as the text has) of p(whole text) - p(text without its k most
    important words), p being the probability of the explained class. K is the option `k`. The drop of 0 at k = 0 is not
    in the mean. A text without words has no value.
Citation: Samek et al., Evaluating the Visualization of What a Deep Neural Network Has Learned, TNNLS 2017, divide by
    K + 1, with the term of k = 0; so does Nguyen, NAACL 2018. Chen and Ji, EMNLP 2020, hide the top 5 words.
Limits: every model has an upper and a lower limit of its own that no explanation passes, so values of two models do not
    compare, even if only their seeds differ (Edin et al., ACL 2025); those of naopc do. Texts with hidden words are
    unlike the training texts, and the model may react to the gap. Methods that hide words themselves do well here by
    construction (Ju et al., Logic Traps, 2021). Five words are half of a short text and little of a long one.
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


@METRICS.register("aopc")
class Aopc(ExplanationMetric):
    """The mean of the drops."""

    Options = TopOptions
    hides = True
    across_models = False

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text."""
        counts = [range(1, min(self.options.k, len(doc.spans)) + 1) for doc in case.docs]
        hidden = case.without_top(counts)
        drops = [whole - rows for whole, rows in zip(case.whole(), hidden, strict=True)]
        return {"": np.array([rows.mean() if len(rows) else np.nan for rows in drops])}
