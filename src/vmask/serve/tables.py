"""Tables that are sent to be scored: read from bytes, written back as CSV with predictions, all in memory."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.data.readers import guess_columns, read_header, read_rows, table_kind
from vmask.data.streams import Content
from vmask.errors import DataError
from vmask.serve.config import ServeConfig
from vmask.serve.http_errors import Refusal, TooLarge
from vmask.serve.queries import Prediction

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson")
GUESS_FROM = 20
"""Rows that the text column is guessed from."""
BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A cell that begins so is run by spreadsheets."""

Check = Callable[[], None]
"""Called for every row; raises where the work is to end."""


@dataclass(frozen=True)
class Table:
    """A table as it was sent.

    Attributes:
        columns: their names.
        rows: a cell a column each, as text.
        mark: the byte-order mark where it had one, which some spreadsheets need.
    """

    columns: list[str]
    rows: list[list[str]]
    mark: str = ""


def read_table(body: bytes, filename: str, limits: ServeConfig, check: Check = lambda: None) -> Table:
    """The table in a file, by the ending of its name; CSV where it has none.

    Raises:
        DataError: where it is no such table, naming line and fix.
        TooLarge: where it has more rows, columns or cells than the limits.
    """
    name = re.split(r"[/\\]", filename)[-1] or "table"
    content = Content.of_bytes(name if "." in name else f"{name}.csv", body)
    if not content.name.lower().endswith(KINDS):
        raise Refusal(f"The file must be of one of these kinds, by its ending: {' '.join(KINDS)}.")
    columns: dict[str, None] = {}
    rows: list[list[str]] = []
    for row in read_rows(content):
        check()
        columns.update(dict.fromkeys(row))
        _check_size(limits, len(rows) + 1, len(columns))
        rows.append([_cell(row.get(name)) for name in columns])
    if not columns and table_kind(content.name) in (".csv", ".tsv"):
        columns = dict.fromkeys(read_header(content))
        _check_size(limits, 0, len(columns))
    if not columns:
        raise Refusal('The file is empty. Give an object such as {"text": "..."} on every line.')
    for cells in rows:  # of JSON, where later lines had more fields
        cells.extend([""] * (len(columns) - len(cells)))
    return Table(list(columns), rows, BOM if body.startswith(BOM.encode()) else "")


def _check_size(limits: ServeConfig, rows: int, columns: int) -> None:
    for count, most, what in (
        (rows, limits.max_table_rows, "rows"),
        (columns, limits.max_table_columns, "columns"),
        (rows * columns, limits.max_table_cells, "cells"),
    ):
        if count > most:
            raise TooLarge(f"The table has more {what} than the limit of {most:,}. Send it in parts.")


def _cell(value: Any) -> str:
    """A value of JSON as a cell."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def text_column(table: Table, asked: str | None, trained_on: str | None) -> str:
    """The column that holds the texts: the one that is asked for, that was trained on, or that is obvious.

    Raises:
        DataError: where there is no such column or none is obvious, listing the columns.
    """
    named = asked or (trained_on if trained_on in table.columns else None)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[:GUESS_FROM]]
    try:
        return guess_columns(rows or [dict.fromkeys(table.columns)], named, None, want_label=False)[0]
    except DataError as error:
        named_here = "by `column` (on the page: Column of the texts)"
        raise DataError(str(error).replace("with --text", named_here)) from None


def write_table(
    table: Table,
    labels: Sequence[str],
    predictions: Sequence[Prediction],
    max_bytes: int = ServeConfig.max_answer_bytes,
    check: Check = lambda: None,
) -> bytes:
    """The table as CSV, with the predictions behind its own columns.

    Raises:
        TooLarge: where it has more bytes than the limit.
    """
    sink = _Sink(max_bytes)
    writer = csv.writer(sink, lineterminator="\r\n")
    sink.write(table.mark)
    added = _free_names(["predicted", *(f"probability_{label}" for label in labels)], table.columns)
    writer.writerow([*table.columns, *added])
    for row, prediction in zip(table.rows, predictions, strict=True):
        check()
        shares = (f"{share:.6f}" if math.isfinite(share) else "" for share in prediction.probabilities)
        writer.writerow([*row, harmless(labels[prediction.best]), *shares])
    return b"".join(sink.parts)


class _Sink:
    """Where a table is written to, up to a limit."""

    def __init__(self, max_bytes: int) -> None:
        self.parts: list[bytes] = []
        self._max, self._left = max_bytes, max_bytes

    def write(self, text: str) -> None:
        self.parts.append(text.encode("utf-8", "replace"))
        self._left -= len(self.parts[-1])
        if self._left < 0:
            raise TooLarge(
                f"The table with predictions has more bytes than the limit of {self._max:,}. Send it in parts."
            )


def _free_names(wanted: Iterable[str], taken: Iterable[str]) -> list[str]:
    used, names = set(taken), []
    for plain in wanted:
        name, number = plain, 1
        while name in used:
            number += 1
            name = f"{plain}_{number}"
        used.add(name)
        names.append(name)
    return names


def harmless(cell: str) -> str:
    """A cell of ours that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("pos")
    ("'=1+1", 'pos')
    """
    return f"'{cell}" if cell.startswith(FORMULA) else cell
