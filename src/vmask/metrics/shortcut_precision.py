"""Whether an explanation finds the words that were planted to decide the label.

Family: plausibility
Range: 0 to 1
Direction: higher is better
Definition: of the m words with the highest scores the share that was planted, m being the number of planted words in
    the text that the model sees. The part `top 5` is the share of the planted words among the top 5 (the option `k`).
    Ties go to the earlier word. A text without a planted word that the model sees has no value.
Citation: Bastings, Ebert, Zablotskaia, Sandholm and Filippova, Will You Find These Shortcuts?, EMNLP 2022.
Limits: it is about another model, one that was trained on altered texts. One word that decides alone is easier to find
    than the reasons of real predictions. It means something only where that model does use the planted words: its
    accuracy on the planted texts is near 1, and its prediction follows when a word is swapped for that of another
    class. A random order scores the share of planted words in the text, and k over the number of words in `top k`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics._rationales import marked_texts
from vmask.metrics.contract import ExplanationMetric, Subject

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class ShortcutOptions:
    """Options of `shortcut_precision`."""

    k: int = option(5, "top words among which planted ones are looked for")

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)


@METRICS.register("shortcut_precision")
class ShortcutPrecision(ExplanationMetric):
    """The share of planted words at the top."""

    Options = ShortcutOptions

    def unfit(self, subject: Subject) -> str:
        """It needs planted words."""
        planted = subject.planted and subject.rationales is not None
        return "" if planted else "no words were planted; use `vmask evaluate --planted`"

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text, at the number of planted words and at `k`."""
        values = np.full((len(case.docs), 2), np.nan)
        for number, planted in marked_texts(case):
            ranked, count = planted[case.orders[number]], planted.sum()
            values[number] = ranked[:count].mean(), ranked[: self.options.k].sum() / count
        return {"": values[:, 0], f"top {self.options.k}": values[:, 1]}
