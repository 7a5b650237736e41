"""Whether the importance of words is just their frequency: correlation over word types.

Range: -1 to 1
Direction: neither
Definition: PLACEHOLDER
Citation: PLACEHOLDER
Limits: PLACEHOLDER
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmask.predictor import WordImportance


def frequency_correlation(words: Sequence[WordImportance]) -> float:
    """Pearson correlation of raw training frequency and `E[R]` over word types (appendix F of the paper).

    Near 0: the mask does not simply pick frequent words. 0 where either does not vary.
    """
    counts = np.array([word.count for word in words], dtype=np.float64)
    scores = np.array([word.score for word in words], dtype=np.float64)
    if len(words) < 2 or not counts.std() or not scores.std():
        return 0.0
    return float(np.corrcoef(counts, scores)[0, 1])
