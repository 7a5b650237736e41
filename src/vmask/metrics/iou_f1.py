"""Whether an explanation selects the phrases that people marked: F1 over spans that overlap enough.

Family: plausibility
Range: 0 to 1
Direction: higher is better
Definition: a predicted span is a run of selected words, as long as it gets; a marked span likewise a run of marked
    words. A predicted span matches where the words in both, over the words in either, are at least 0.5 (the option
    `threshold`) with some marked span. For each text precision is the share of predicted spans that match, recall
    their number over that of marked spans, and the value is their F1; then the mean over texts. Which words are
    selected and marked, and which texts have no value, is as in token_f1.
Citation: DeYoung et al., ERASER, ACL 2020: IOU F1. Their code, too, counts matched predicted spans in precision and in
    recall; but its F1 is that of mean precision and mean recall, and it takes spans as they are given. Ours are joined
    where they touch: no two touch in its movie reviews, while elsewhere people marked word by word.
Limits: all of token_f1, and: explanations score words one by one, so that phrases fall apart into spans of one word and
    most methods score low. Where marked spans are long, a random selection scores near 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.metrics import METRICS
from vmask.metrics._rationales import PlausibilityMetric, SelectionOptions, chosen_and_marked, f1, runs

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class IouOptions(SelectionOptions):
    """Options of `iou_f1`."""

    threshold: float = option(0.5, "least intersection over union of spans that match")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "threshold")
        if self.threshold > 1:
            raise ConfigError(f"threshold is {self.threshold}; it must be at most 1.")


@METRICS.register("iou_f1")
class IouF1(PlausibilityMetric):
    """The F1 of predicted and marked spans."""

    Options = IouOptions

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text."""
        values = np.full(len(case.docs), np.nan)
        for number, chosen, marked in chosen_and_marked(case, self.options.share):
            predicted, true = runs(chosen), runs(marked)
            matched = sum(
                max(iou(span, marked_span) for marked_span in true) >= self.options.threshold for span in predicted
            )
            # Several spans can match one marked span only if the threshold is below one half.
            values[number] = f1(matched / len(predicted), min(matched / len(true), 1.0))
        return {"": values}


def iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Intersection over union of two spans [first, last)."""
    both = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return both / (a[1] - a[0] + b[1] - b[0] - both)
