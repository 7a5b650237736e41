"""A table of a report: entries with our number, the published one, and what holds; in four formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from vmask.evaluation.statistics import Estimate

Verdict = Literal["ok", "close", "off", "not run", ""]
"""`ok`: our mean lies in the published number's 95% band; `close`: our interval and the band overlap; empty: there is
nothing to compare with."""


@dataclass(frozen=True)
class Entry:
    """One number of a table.

    Attributes:
        ours: what we found, in the table's unit; None where it was not run.
        published: the paper's number; None where it prints none.
        band: 95% band of the published number, where one can be given.
        verdict: what holds.
        differs: in what ours was measured otherwise than the paper's, such as `vectors`; empty where in nothing.
        bold: whether a test supports that it is the better one.
        text: what is shown instead of our number, such as words.
        note: a short remark shown behind it.
    """

    ours: Estimate | None = None
    published: float | None = None
    band: tuple[float, float] | None = None
    verdict: Verdict = ""
    differs: tuple[str, ...] = ()
    bold: bool = False
    text: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A row: its heads, such as model and method, and its entries."""

    heads: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: stem of its files, such as `accuracy`.
        title: what it shows; `number` is its number in the paper, if it is there.
        heads: over the heads of rows.
        columns: over the entries.
        rows: from top to bottom; a change of the first head begins a new group.
        signature: under the table: data, vectors, hiding, K, n, seeds, version.
        notes: under the signature.
        digits: behind the point.
        number: in the paper.
        unit: of the numbers.
    """

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Sequence[Row]
    signature: str
    notes: tuple[str, ...] = field(default=())
    digits: int = 1
    number: int | None = None
    unit: str = ""

    def entry(self, *heads: str, column: str) -> Entry:
        """The entry of a row and a column.

        Raises:
            KeyError: where there is none.
        """
        for row in self.rows:
            if row.heads == heads and column in self.columns:
                return row.entries[self.columns.index(column)]
        raise KeyError((*heads, column))
