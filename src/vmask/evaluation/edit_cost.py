"""What an edit of a model's words costs: accuracy before and after on the same texts, and the texts that flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vmask.classifier import TextClassifier
from vmask.data.label_sets import comparable
from vmask.evaluation.result import without_nan
from vmask.evaluation.statistics import Difference, paired_difference

MOST_FLIPS = 1_000
"""Texts that flip whose numbers are kept."""


@dataclass(frozen=True)
class Flip:
    """A text whose predicted class changed.

    Attributes:
        number: of the text in the data, from 0.
        text: the text.
        label: its true class; None where it is not known.
        before: predicted class before the edit.
        after: predicted class after it.
    """

    number: int
    text: str
    label: Any
    before: Any
    after: Any


@dataclass(frozen=True)
class EditCost:
    """Accuracy before and after an edit.

    Attributes:
        n: number of texts.
        before: accuracy before; NaN without labels.
        after: accuracy after; NaN without labels.
        difference: after minus before, with its interval and the p-value of a paired test; None without labels.
        flips: texts whose predicted class changed, in their order.
        data: name of the texts, if they have one: a file, or a dataset with its split.
    """

    n: int
    before: float
    after: float
    difference: Difference | None
    flips: tuple[Flip, ...]
    data: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Name of the texts, numbers, and the texts that flip by their numbers, as JSON values."""
        return {"data": self.data, **self.numbers(), "flipped": [flip.number for flip in self.flips[:MOST_FLIPS]]}

    def numbers(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        row: dict[str, Any] = {"n": self.n, "flips": len(self.flips)}
        if self.difference is not None:
            ends = {"difference": self.difference.value, "low": self.difference.low, "high": self.difference.high}
            row |= {"accuracy_before": self.before, "accuracy_after": self.after, **ends, "p": self.difference.p}
        return {name: without_nan(value) for name, value in row.items()}


def edit_cost(
    before: TextClassifier, after: TextClassifier, texts: Sequence[str], labels: Sequence[Any] | None, data: str = ""
) -> EditCost:
    """Compare the predictions of a model before and after an edit.

    Args:
        before: the model.
        after: the edited model.
        texts: the texts.
        labels: their classes, or None.
        data: name of the texts.
    """
    return compare_predictions(texts, _predicted(before, texts), _predicted(after, texts), labels, data)


def _predicted(classifier: TextClassifier, texts: Sequence[str]) -> list[Any]:
    found = classifier.predict(texts)
    return found if isinstance(found, list) else list(found.tolist())


def compare_predictions(
    texts: Sequence[str], old: Sequence[Any], new: Sequence[Any], labels: Sequence[Any] | None, data: str = ""
) -> EditCost:
    """Compare predicted classes of texts, one for each, or a tuple of labels for each, before and after an edit.

    Args:
        texts: the texts.
        old: predicted classes before.
        new: predicted classes after.
        labels: the true classes, or None.
        data: name of the texts.
    """
    flips = tuple(
        Flip(number, text, None if labels is None else labels[number], a, b)
        for number, (text, a, b) in enumerate(zip(texts, old, new, strict=True))
        if a != b
    )
    if labels is None:
        return EditCost(len(texts), float("nan"), float("nan"), None, flips, data)
    truth = [comparable(label) for label in labels]
    right = [np.array([comparable(a) == b for a, b in zip(one, truth, strict=True)], float) for one in (old, new)]
    difference = paired_difference(right[1], right[0])
    return EditCost(len(texts), float(right[0].mean()), float(right[1].mean()), difference, flips, data)
