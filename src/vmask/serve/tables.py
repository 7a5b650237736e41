"""Tables in requests: read from bytes, and written as CSV with predictions, in memory."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.data.readers import guess_columns, read_header, read_rows, table_kind
from vmask.data.streams import Content
from vmask.errors import DataError
from vmask.serve.config import ServeConfig
from vmask.serve.http_errors import InvalidRequest, PayloadTooLarge
from vmask.serve.jobs import Check
from vmask.serve.queries import Prediction

EXTENSIONS = (".csv", ".tsv", ".jsonl", ".ndjson")
GUESS_ROWS = 20
"""Rows from which the text column is guessed."""
PREVIEW_ROWS = 5
"""Rows that the summary of a table shows."""
BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Spreadsheets run a cell that begins with one of these as a formula."""


@dataclass(frozen=True)
class Table:
    """A table of a request.

    Attributes:
        columns: names of the columns.
        rows: the cells of each row, as text.
        mark: the byte-order mark if the file had one; some spreadsheets need it.
    """

    columns: list[str]
    rows: list[list[str]]
    mark: str = ""


@dataclass(frozen=True)
class ScoredTable:
    """A table with its predictions.

    Attributes:
        model: name of the model.
        labels: its labels.
        table: the table as it was sent.
        column: name of the column of the texts.
        texts: the texts.
        predictions: one for each text.
        csv: the table with the predictions, as CSV.
    """

    model: str
    labels: list[str]
    table: Table
    column: str
    texts: list[str]
    predictions: list[Prediction]
    csv: bytes

    @property
    def empty(self) -> int:
        """Number of texts that are empty or white space."""
        return sum(not text.strip() for text in self.texts)

    def to_dict(self) -> dict[str, Any]:
        """Return a summary and the CSV, as JSON values."""
        counts = Counter(prediction.best for prediction in self.predictions)
        return {
            "model": self.model,
            "labels": self.labels,
            "column": self.column,
            "total": len(self.texts),
            "empty": self.empty,
            "added": added_columns(self.table, self.labels),
            "counts": [counts[number] for number in range(len(self.labels))],
            "first": [
                {
                    "text": text,
                    "label": self.labels[prediction.best],
                    "probability": prediction.probabilities[prediction.best],
                }
                for text, prediction in zip(self.texts[:PREVIEW_ROWS], self.predictions, strict=False)
            ],
            "csv": self.csv.decode("utf-8"),
        }


def read_table(body: bytes, filename: str, limits: ServeConfig, check: Check = lambda: None) -> Table:
    """Read a table; its format is that of the extension of the filename, CSV if there is none.

    Raises:
        DataError: if the table cannot be read, with the line and the fix.
        PayloadTooLarge: if it has more rows, columns or cells than the limits.
    """
    name = re.split(r"[/\\]", filename)[-1] or "table"
    content = Content.of_bytes(name if "." in name else f"{name}.csv", body)
    if not content.name.lower().endswith(EXTENSIONS):
        raise InvalidRequest(f"The file must be of one of these kinds, by its ending: {' '.join(EXTENSIONS)}.")
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
        raise InvalidRequest('The file is empty. Give an object such as {"text": "..."} on every line.')
    for cells in rows:  # later lines of a JSON file may have more fields
        cells.extend([""] * (len(columns) - len(cells)))
    return Table(list(columns), rows, BOM if body.startswith(BOM.encode()) else "")


def _check_size(limits: ServeConfig, rows: int, columns: int) -> None:
    for count, limit, name in (
        (rows, limits.max_table_rows, "rows"),
        (columns, limits.max_table_columns, "columns"),
        (rows * columns, limits.max_table_cells, "cells"),
    ):
        if count > limit:
            raise PayloadTooLarge(f"The table has more {name} than the limit of {limit:,}. Send it in parts.")


def _cell(value: Any) -> str:
    """Return a JSON value as the text of a cell."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def text_column(table: Table, requested: str | None, trained_on: str | None) -> str:
    """Return the column of the texts: the requested one, the one the model was trained on, or the obvious one.

    Raises:
        DataError: if there is no such column or none is obvious, with a list of the columns.
    """
    name = requested or (trained_on if trained_on in table.columns else None)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[:GUESS_ROWS]]
    try:
        return guess_columns(rows or [dict.fromkeys(table.columns)], name, None, want_label=False)[0]
    except DataError as error:
        how_here = "by `column` (on the page: Column of the texts)"
        raise DataError(str(error).replace("with --text", how_here)) from None


def added_columns(table: Table, labels: Sequence[str]) -> list[str]:
    """Return the names of the columns of the predictions; none of them is a column of the table."""
    return _unused_names(["predicted", *(f"probability_{label}" for label in labels)], table.columns)


def write_table(
    table: Table,
    labels: Sequence[str],
    predictions: Sequence[Prediction],
    max_bytes: int = ServeConfig.max_answer_bytes,
    check: Check = lambda: None,
) -> bytes:
    """Write a table as CSV, with the predictions in columns after its own.

    Raises:
        PayloadTooLarge: if the CSV has more than `max_bytes`.
    """
    buffer = _LimitedBuffer(max_bytes)
    writer = csv.writer(buffer, lineterminator="\r\n")
    buffer.write(table.mark)
    writer.writerow([*table.columns, *added_columns(table, labels)])
    for row, prediction in zip(table.rows, predictions, strict=True):
        check()
        probabilities = (f"{value:.6f}" if math.isfinite(value) else "" for value in prediction.probabilities)
        writer.writerow([*row, escape_formula(labels[prediction.best]), *probabilities])
    return b"".join(buffer.parts)


class _LimitedBuffer:
    """A buffer for text that raises an error when it is full."""

    def __init__(self, max_bytes: int) -> None:
        self.parts: list[bytes] = []
        self._max_bytes, self._free = max_bytes, max_bytes

    def write(self, text: str) -> None:
        self.parts.append(text.encode("utf-8", "replace"))
        self._free -= len(self.parts[-1])
        if self._free < 0:
            raise PayloadTooLarge(
                f"The table with predictions has more bytes than the limit of {self._max_bytes:,}. Send it in parts."
            )


def _unused_names(wanted: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the wanted names; one that is taken gets a number."""
    used, names = set(taken), []
    for base in wanted:
        name, number = base, 1
        while name in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name)
        names.append(name)
    return names


def escape_formula(cell: str) -> str:
    """Quote a cell that a spreadsheet would run as a formula.

    >>> escape_formula("=1+1"), escape_formula("pos")
    ("'=1+1", 'pos')
    """
    return f"'{cell}" if cell.startswith(FORMULA) else cell
