"""Shared by metrics that compare explanations with words that people marked, or that were planted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import check_positive, option
from vmask.data.rationales import Spans
from vmask.errors import ConfigError
from vmask.inference.contract import Doc
from vmask.metrics.contract import ExplanationMetric, Subject

if TYPE_CHECKING:
    from vmask.metrics._case import Case


@dataclass(frozen=True)
class SelectionOptions:
    """How many words an explanation selects."""

    share: float | None = option(
        None, "share of a text's words that is selected, rounded up; by default as many words as people marked"
    )

    def __post_init__(self) -> None:
        check_positive(self, "share")
        if self.share is not None and self.share > 1:
            raise ConfigError(f"share is {self.share}; it must be at most 1.")


class PlausibilityMetric(ExplanationMetric):
    """A metric that compares explanations with words that people marked."""

    def unfit(self, subject: Subject) -> str:
        """It needs rationales of people."""
        if subject.planted:
            return "its words were planted, not marked by people"
        return "" if subject.rationales is not None else "the dataset has no human rationales"


def marked_words(doc: Doc, spans: Spans) -> NDArray[np.bool_]:
    """(W,) True for words of a text that overlap a marked span; words beyond the length limit are not included."""
    marked = np.zeros(len(doc.spans), np.bool_)
    starts, ends = np.array(doc.spans, np.int64).reshape(-1, 2).T
    for start, end in spans:
        marked |= (starts < end) & (ends > start)
    return marked


def runs(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Spans [first, last) of consecutive words that are chosen (W,).

    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def selected_words(order: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """(W,) True for the first `count` words of their order (W,)."""
    selected = np.zeros(len(order), np.bool_)
    selected[order[:count]] = True
    return selected


def marked_texts(case: Case) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Number and marked words (W,) of each text in which the model sees a marked word."""
    assert case.rationales is not None
    for number, (doc, spans) in enumerate(zip(case.docs, case.rationales, strict=True)):
        marked = marked_words(doc, spans)
        if marked.any():
            yield number, marked


def chosen_and_marked(case: Case, share: float | None) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Number of each text, words (W,) that its explanation selects, and words (W,) that people marked."""
    for number, marked in marked_texts(case):
        # The share as written in decimals: 100 * 0.07 is more than 7 in floats, and would be rounded up to 8.
        count = int(marked.sum()) if share is None else ceil(Fraction(str(share)) * len(marked))
        yield number, selected_words(case.orders[number], count), marked


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of the two; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
