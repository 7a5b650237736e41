"""Whether an explanation ranks the words that people marked before the others: area under precision over recall.

Family: plausibility
Range: 0 to 1
Direction: higher is better
Definition: words of a text are taken in order of their scores, equal ones together. Each step gives a recall and a
    precision of the words so far against the marked ones; the curve begins at recall 0 with precision 1, and the value
    is the area under the straight lines between its points. `average precision` is the area under steps instead: the
    mean over marked words of the precision where the word is reached. Then the mean over texts. Where all words are
    marked both are 1. Which words are marked, and which texts have no value, is as in token_f1.
Citation: DeYoung et al., ERASER, ACL 2020, whose code gives both; average precision it leaves out where all words are
    marked.
Limits: straight lines flatter explanations with many equal scores: one that gives all words the same has (1 + s) / 2
    with a share s of marked words, though it says nothing; its average precision is s, as that of a random order is in
    the long run. Where the two differ by much, trust average precision. In short texts a random order has more than s.
    Plausible is not faithful; values depend on where texts are cut and how much people marked, so they do not compare
    across datasets and papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._rationales import PlausibilityMetric, marked_texts

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@METRICS.register("auprc")
class Auprc(PlausibilityMetric):
    """The area under straight lines, and under steps."""

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text for either area."""
        areas = np.full((len(case.docs), 2), np.nan)
        for number, marked in marked_texts(case):
            precision, recall = curve(case.scores[number], marked)
            widths = np.diff(recall)
            areas[number] = widths @ ((precision[1:] + precision[:-1]) / 2), widths @ precision[1:]
        return {"": areas[:, 0], "average precision": areas[:, 1]}


def curve(scores: NDArray[np.float64], marked: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Precision and recall, with recall increasing from 0 to 1: a point for each distinct score, and one before them.

    Args:
        scores: (W,) of the words.
        marked: (W,) which of them are marked, at least one.
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # last word of each distinct score
    hits = marked[order].cumsum()[last]
    return np.append(1.0, hits / (last + 1)), np.append(0.0, hits / hits[-1])
