"""Columns of labels that hold no classes: what they look like, and classes made of numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from vmask.data.times import parse_times
from vmask.errors import DataError, short

FEW = 20
"""Different values up to which any column is taken for classes."""
ROWS_OF_CODE = 5
"""Rows that most codes of classes have at least."""
MOST_BINS = 100
_TO_100 = 100  # a scale that ends here is a percentage or a rating
_LONG = 6  # words of a label from which on it looks like text
_NUMBER = re.compile(r"[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?([eE][-+]?\d+)?|[-+]?\.\d+")
_UNITS = "$€£¥%"


def to_number(label: str) -> float | None:
    """The number that a label is, also with a unit of money, a percent sign or commas; None if it is none.

    >>> [to_number(label) for label in ("12.5", "-3", "$1,299.00", "80 %", "1e3", "12th", "")]
    [12.5, -3.0, 1299.0, 80.0, 1000.0, None, None]
    """
    bare = label.strip().strip(_UNITS).strip()
    if not _NUMBER.fullmatch(bare):
        return None
    number = float(bare.replace(",", ""))
    return number if math.isfinite(number) else None


def check_classes(labels: Sequence[str], column: str, source: str) -> None:
    """Refuse labels that look like a quantity, dates, ids or text.

    Up to `FEW` different values are classes, whatever they are. So are any number of names that repeat, and numbers
    that look like codes of classes: all whole numbers from 0 or 1 on, though not up to 100, most of them in several
    rows.

    Raises:
        DataError: which says what the column looks like, and what to do.
    """
    counts = Counter(labels)
    if len(counts) <= FEW:
        return
    found = f"'{column}' of {source} has {{}} in {len(labels):,} rows: it looks like {{}}, not classes. {{}}"
    other = "Name another column with --label"
    classes = "if they are classes, add --label-bins 0"
    numbers = [to_number(label) for label in counts]
    if None not in numbers:
        if not _are_codes([number for number in numbers if number is not None], counts):
            advice = f"Add --label-bins 3 to sort rows into three ranges of about equal size; or {classes}."
            what = "a quantity or ids" if len(counts) == len(labels) else "a quantity"
            what = "dates" if _are_years_with_days(counts) else what
            raise DataError(found.format(f"{len(counts):,} different numbers", what, f"{advice} {other}."))
        return
    if isinstance(parse_times(list(counts)), list):
        raise DataError(found.format(f"{len(counts):,} different dates", "dates", f"{other}; {classes}."))
    seldom = len(counts) > len(labels) / 2
    long = sum(len(label.split()) for label in counts) > _LONG * len(counts)
    if seldom or (long and sum(count == 1 for count in counts.values()) > len(counts) / 2):
        what = "text" if long else "ids or names"
        raise DataError(found.format(f"{len(counts):,} different values", what, f"{other}; {classes}."))


def _are_codes(numbers: Sequence[float], counts: Mapping[str, int]) -> bool:
    """Whether numbers look like codes of classes."""
    first, last = min(numbers), max(numbers)
    return (
        all(number == int(number) for number in numbers)
        and first in (0, 1)
        and last != _TO_100
        and len(set(numbers)) == last - first + 1
        and sorted(counts.values())[len(counts) // 2] >= ROWS_OF_CODE
    )


def _are_years_with_days(counts: Mapping[str, int]) -> bool:
    """Whether numbers are dates as in 20260131."""
    return all(re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", label) for label in counts)


@dataclass(frozen=True)
class LabelBins:
    """Classes made of a number: a class for each range between edges. Without edges the labels are kept.

    >>> bins = LabelBins((12.5, 40.0))
    >>> bins.names, bins.apply(["12.5", "13", "$1,000", "above 40"], ["a", "b", "c", "d"])
    (('up to 12.5', '12.5 to 40', 'above 40'), ['up to 12.5', '12.5 to 40', 'above 40', 'above 40'])
    """

    edges: tuple[float, ...]
    """Largest number of each class but the last, ascending."""
    count: int = 0
    """Number of classes that was asked for, by which rows are drawn; 0 if the edges were given."""

    @property
    def names(self) -> tuple[str, ...]:
        """The classes, in ascending order."""
        if not self.edges:
            return ()
        shown = [_shown(edge) for edge in self.edges]
        middle = [f"{low} to {high}" for low, high in pairwise(shown)]
        return (f"up to {shown[0]}", *middle, f"above {shown[-1]}")

    def apply(self, labels: Sequence[str], rows: Sequence[str]) -> list[str]:
        """The class of each label, which is a number or a class already.

        Args:
            labels: the labels.
            rows: the id of each row, for messages.

        Raises:
            DataError: for a label that is neither.
        """
        if not self.edges:
            return list(labels)
        names = self.names
        result = []
        for label, row in zip(labels, rows, strict=True):
            number = to_number(label)
            if label in names:
                result.append(label)
            elif number is None:
                raise DataError(
                    f"--label-bins: the label of row {row} is {short(label)}, which is no number. Correct it, or leave "
                    "that row out."
                )
            else:
                result.append(names[sum(number > edge for edge in self.edges)])
        return result

    @classmethod
    def learn(cls, labels: Sequence[str], rows: Sequence[str], count: int) -> LabelBins:
        """Bins with about equally many of these labels each; fewer than `count` where many are equal.

        Raises:
            DataError: for a label that is no number, and where all are equal.
        """
        numbers = []
        for label, row in zip(labels, rows, strict=True):
            number = to_number(label)
            if number is None:
                raise DataError(
                    f"--label-bins is for numbers; the label of row {row} is {short(label)}. Leave it out, or correct "
                    "that row."
                )
            numbers.append(number)
        numbers.sort()
        edges = sorted({numbers[max(0, math.ceil(len(numbers) * at / count) - 1)] for at in range(1, count)})
        edges = [edge for edge in edges if edge < numbers[-1]]
        if not edges:
            edges = [number for number in (min(numbers),) if number < numbers[-1]]
        if not edges:
            raise DataError(f"All labels are {_shown(numbers[0])}. A classifier needs at least two classes.")
        return cls(tuple(edges), count)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"edges": list(self.edges), "count": self.count}

    @classmethod
    def from_dict(cls, recorded: Any) -> LabelBins:
        """What `to_dict` gave.

        Raises:
            DataError: if it is anything else.
        """
        edges = recorded.get("edges") if isinstance(recorded, dict) else None
        fine = isinstance(edges, list) and len(edges) < MOST_BINS
        fine = fine and all(type(edge) in (int, float) and math.isfinite(edge) for edge in edges or ())
        count = recorded.get("count", 0) if isinstance(recorded, dict) else 0
        fine = fine and type(count) is int and 0 <= count <= MOST_BINS
        if not fine or sorted(set(edges or ())) != edges:
            raise DataError("The ranges of the labels in the model folder are damaged. Copy it anew.")
        return cls(tuple(map(float, edges)), count)


def _shown(number: float) -> str:
    """A number as short as it can be told from others."""
    return f"{number:.0f}" if number == int(number) and abs(number) < 1e15 else repr(number)
