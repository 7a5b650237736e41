"""Whether an explanation selects the words that people marked: F1 over words.

Family: plausibility
Range: 0 to 1
Direction: higher is better
Definition: for each text the F1 of the selected words, those with the highest scores, against the marked ones; then
    the mean over texts. A word counts as marked where it shares a character with a marked span. By default as many
    words are selected as people marked, so that precision, recall and F1 are one number; the option `share` selects a
    share of the text instead, rounded up. Ties of scores go to the earlier word. Words behind the length limit of the
    model count on neither side. A text without a marked word that the model sees has no value.
Citation: DeYoung et al., ERASER, ACL 2020: token F1, mean over instances as in their code. They count words of their
    own tokens, past any length limit too, take the selection from the system, and give 0 to a text without marks.
Limits: plausible is not faithful: a model may rightly be explained by words that no person would mark. The value
    depends on how many words are selected and where texts are cut; never compare it to another paper. A random
    selection scores the share of marked words, which differs between datasets and even between the splits of one.
    People mark too little in some datasets: what they left out counts as wrong. On trees of the Stanford Sentiment
    Treebank the marked words are those that people did not call neutral, whichever class the text has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.metrics import METRICS
from vmask.metrics._rationales import PlausibilityMetric, SelectionOptions, chosen_and_marked, f1

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@METRICS.register("token_f1")
class TokenF1(PlausibilityMetric):
    """The F1 of selected and marked words."""

    Options = SelectionOptions

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """One value per text."""
        values = np.full(len(case.docs), np.nan)
        for number, chosen, marked in chosen_and_marked(case, self.options.share):
            both = (chosen & marked).sum()
            values[number] = f1(both / chosen.sum(), both / marked.sum())
        return {"": values}
