"""Mean drop in probability as the most important words are hidden, one after the other.

Family: faithfulness
Range: -1 to 1
Direction: higher is better
Definition: the mean over k = 1 … K (or as many words as the text has) of p(whole text) - p(text without its k most
    important words), p being the probability of the explained class. K is the option `k`. The drop of 0 at k = 0 is not
    in the mean. A text without words has no value. Three more readings of the same predictions: `k=K` is the last
    drop alone; `second softmax` is the mean where all probabilities pass through a softmax once more, as in an
    evaluation that takes probabilities for logits; `equal confidence`, with the option `temperature` T, is the mean
    with p^(1/T), normalised, in place of p. The last two need one label a text, and are left out with several.
Citation: Samek et al., Evaluating the Visualization of What a Deep Neural Network Has Learned, TNNLS 2017, divide by
    K + 1, with the term of k = 0; so does Nguyen, NAACL 2018. Chen and Ji, EMNLP 2020, hide the top 5 words.
Limits: every model has an upper and a lower limit of its own that no explanation passes, so values of two models do not
    compare, even if only their seeds differ (Edin et al., ACL 2025); those of naopc do. A model that is more confident
    has more to lose: for a comparison, fit T so that both are as confident on held-out texts. Texts with hidden words
    are unlike the training texts, and the model may react to the gap. Methods that hide words themselves do well here
    by construction (Ju et al., Logic Traps, 2021). Five words are half of a short text and little of a long one. A
    second softmax bounds the drop by (e - 1) / (e + C - 1) for C classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.metrics import METRICS
from vmask.metrics._temperature import second_softmax, tempered
from vmask.metrics._tops import TopOptions
from vmask.metrics.contract import ExplanationMetric, Subject

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class AopcOptions(TopOptions):
    """How many words are hidden, and the temperature of one of the readings."""

    temperature: float | None = option(
        None, "temperature of the reading `equal confidence`; without it there is none", most=1_000
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")


@METRICS.register("aopc")
class Aopc(ExplanationMetric):
    """The mean of the drops, in up to four readings."""

    Options = AopcOptions
    hides = True
    across_models = False

    def unfit(self, subject: Subject) -> str:
        """A temperature needs classes that exclude each other."""
        if subject.several and self.options.temperature is not None:
            return "temperature is for one label a text, whose probabilities sum to 1"
        return ""

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """A value per text for each reading."""
        counts = [range(1, min(self.options.k, len(doc.spans)) + 1) for doc in case.docs]
        hidden = case.ask_top(counts, hidden=True)
        whole = case.ask_top([[0]] * len(case.docs), hidden=True)
        answers = [np.concatenate(both).astype(np.float64) for both in zip(whole, hidden, strict=True)]
        readings = {
            "": _mean_drops(answers, case.targets),
            f"k={self.options.k}": np.array(
                [
                    rows[0, target] - rows[-1, target] if len(rows) > 1 else np.nan
                    for rows, target in zip(answers, case.targets, strict=True)
                ]
            ),
        }
        if case.several:
            return readings
        readings["second softmax"] = _mean_drops([second_softmax(rows) for rows in answers], case.targets)
        temperature = self.options.temperature
        if temperature is not None:
            at_temperature = [tempered(rows, temperature) for rows in answers]
            readings["equal confidence"] = _mean_drops(at_temperature, case.targets)
        return readings


def _mean_drops(answers: Sequence[NDArray[np.float64]], targets: Sequence[int]) -> NDArray[np.float64]:
    """(N,) mean drop of the class after the first row of the probabilities (S_i, C) of each text."""
    classes = [rows[:, target] for rows, target in zip(answers, targets, strict=True)]
    return np.array([(rows[0] - rows[1:]).mean() if len(rows) > 1 else np.nan for rows in classes])
