"""A table of a report: rows of entries, each a number with its interval, or a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite, nan
from typing import ClassVar, Generic, NamedTuple, TypeVar

from vmask.evaluation.statistics import Estimate

NOT_RUN, DASH = "not run", "–"
WIDE = 5
"""Columns from which on what was not run is a dash, which the legend explains."""
ONE_SEED = "†"
"""Marks an interval over texts, of one training."""
COUNTED = "counted"
"""How a number came about that does not vary."""
LONG_TEXT = 15
"""Characters of an entry from which on its column is one of words: at the left, and with more than one line."""


class Mark(NamedTuple):
    """A sign behind a number, which the legend explains; the word that it stands for, and its class in HTML."""

    sign: str
    word: str
    kind: str


@dataclass(frozen=True)
class Entry:
    """A number or a text in a table.

    Attributes:
        estimate: the number with its interval, in the table's unit; None where it was not run.
        bold: whether it is emphasised.
        text: what is shown instead of a number, such as words.
        note: a short remark shown behind it.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ("value", "low", "high", "n", "interval", "bold", "text", "note")
    """Columns of the CSV that describe an entry."""

    estimate: Estimate | None = None
    bold: bool = field(default=False, kw_only=True)
    text: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True)

    @property
    def absent(self) -> bool:
        """Whether there is neither a number nor a text."""
        return self.estimate is None and not self.text

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None where there is none."""
        if self.estimate is None or not (isfinite(self.estimate.low) and isfinite(self.estimate.high)):
            return None
        return (self.estimate.high - self.estimate.low) / 2

    @property
    def over_texts(self) -> bool:
        """Whether the interval is over the texts of one training, not over seeds."""
        return self.estimate is not None and self.half_width is not None and "seed" not in self.estimate.how

    def main(self, digits: int) -> str:
        """The text or the number; empty where there is neither."""
        if self.text or self.estimate is None:
            return self.text
        return number(self.estimate.value, digits)

    def interval(self, digits: int) -> str:
        """Half the width of the interval behind `±`; empty where there is none."""
        if self.half_width is None or self.text:
            return ""
        return f"± {number(self.half_width, digits)}{ONE_SEED if self.over_texts else ''}"

    @property
    def note_in_brackets(self) -> str:
        """The note as it is shown."""
        return f"({self.note})" if self.note else ""

    @property
    def worded(self) -> bool:
        """Whether it needs more than one line."""
        return len(self.text) > LONG_TEXT or len(self.note) > LONG_TEXT

    def beside(self) -> str:
        """What the number is compared with; nothing here."""
        return ""

    @property
    def mark(self) -> Mark | None:
        """A sign behind the number; none here."""
        return None

    @property
    def hint(self) -> str:
        """What is shown as the pointer rests on the entry."""
        if self.estimate is None or self.half_width is None:
            return ""
        return f"interval: {self.estimate.how}"

    def fields(self) -> tuple[str, ...]:
        """The values of `FIELDS`; what there is not is empty."""
        return (*estimate_fields(self.estimate), "bold" if self.bold else "", self.text, self.note)


AnyEntry = TypeVar("AnyEntry", bound=Entry)


@dataclass(frozen=True)
class Row(Generic[AnyEntry]):
    """A row: its heads, such as model and method, and its entries."""

    heads: tuple[str, ...]
    entries: tuple[AnyEntry, ...]


@dataclass(frozen=True)
class Table(Generic[AnyEntry]):
    """A table.

    Attributes:
        name: stem of its files, such as `accuracy`.
        title: what it shows.
        heads: over the heads of rows.
        columns: over the entries.
        rows: from top to bottom; a change of the first head begins a new group.
        signature: under the table: what its numbers are of, such as data, seeds and version.
        notes: under the signature.
        digits: behind the point.
        unit: of the numbers.
    """

    FIELDS: ClassVar[tuple[str, ...]] = Entry.FIELDS
    """Columns of the CSV that describe an entry."""

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Sequence[Row[AnyEntry]]
    signature: str = ""
    notes: tuple[str, ...] = field(default=())
    digits: int = 1
    unit: str = ""

    def entry(self, *heads: str, column: str) -> AnyEntry:
        """The entry of a row and a column.

        Raises:
            KeyError: where there is none.
        """
        for row in self.rows:
            if row.heads == heads and column in self.columns:
                return row.entries[self.columns.index(column)]
        raise KeyError((*heads, column))

    @property
    def entries(self) -> list[AnyEntry]:
        """Those of all rows."""
        return [entry for row in self.rows for entry in row.entries]

    @property
    def absent(self) -> str:
        """What stands for a number that was not run: a dash in a wide table."""
        return DASH if len(self.columns) >= WIDE else NOT_RUN

    def worded(self, column: int) -> bool:
        """Whether a column is one of words."""
        return any(len(row.entries[column].text) > LONG_TEXT for row in self.rows)

    @property
    def nothing(self) -> str:
        """What stands for a table without rows."""
        return f"{self.title}: {NOT_RUN}."

    @property
    def below(self) -> list[str]:
        """The signature and the notes, as sentences."""
        return [*([f"Signature: {self.signature.rstrip('.')}."] if self.signature else []), *self.notes]

    def groups(self) -> Iterator[list[Row[AnyEntry]]]:
        """Rows with the same first head together; all of them where a row has one head."""
        for _, rows in groupby(self.rows, key=lambda row: row.heads[0] if len(row.heads) > 1 else ""):
            yield list(rows)

    def legend(self) -> str:
        """What the numbers and signs mean, those that this table has."""
        if self.entries and all(entry.absent for entry in self.entries):
            return "Nothing was run."
        return sentence([*self.legend_of_numbers(), *self.legend_of_signs()])

    def legend_of_numbers(self) -> list[str]:
        """What a number is."""
        parts = [f"In {self.unit}"] if self.unit else []
        if any(entry.half_width is not None for entry in self.entries):
            parts.append("mean ± 95% interval over seeds")
        elif any(entry.estimate is not None and entry.estimate.how != COUNTED for entry in self.entries):
            parts.append("mean over seeds")
        return [": ".join(parts)] if parts else []

    def legend_of_signs(self) -> list[str]:
        """What a dash and a dagger mean, where there are such."""
        parts = []
        if any(entry.absent for entry in self.entries) and self.absent == DASH:
            parts.append(f"{DASH} {NOT_RUN}")
        if any(entry.over_texts for entry in self.entries):
            parts.append(f"{ONE_SEED} one seed, interval over texts")
        return parts


def sentence(parts: Sequence[str]) -> str:
    """Parts of a legend as a sentence; empty where there are none."""
    joined = "; ".join(parts)
    return f"{joined[0].upper()}{joined[1:]}." if joined else ""


def exact(value: float | None) -> Estimate | None:
    """A number that does not vary, such as a count."""
    return None if value is None else Estimate(float(value), nan, nan, 1, COUNTED)


def number(value: float, digits: int) -> str:
    """A number with so many digits behind the point."""
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # 0 has no sign


def estimate_fields(estimate: Estimate | None) -> tuple[str, ...]:
    """Value, ends of the interval, n and how the interval was made, for a CSV; empty where there is no estimate."""
    if estimate is None:
        return ("",) * 5
    return (*map(plain, (estimate.value, estimate.low, estimate.high)), str(estimate.n), estimate.how)


def plain(value: float | None) -> str:
    """A number for a CSV; empty where there is none."""
    return "" if value is None or not isfinite(value) else f"{value:.10g}"
