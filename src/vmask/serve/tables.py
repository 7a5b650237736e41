"""Tables in requests: read from bytes, and written as CSV with predictions, in memory."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vmask._core.wording import unused_name
from vmask.data.config import ReadConfig
from vmask.data.label_columns import BETWEEN
from vmask.data.readers import HEADED, WORKBOOKS, guess_columns, read_header, read_rows, table_kind
from vmask.data.streams import Content
from vmask.errors import DataError
from vmask.serve.config import ServeConfig
from vmask.serve.http_errors import InvalidRequest, PayloadTooLarge
from vmask.serve.jobs import Check
from vmask.serve.queries import Prediction, class_name

EXTENSIONS = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", *WORKBOOKS)
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
        mark: the byte-order mark if the file had one, or was not UTF-8; some spreadsheets need it.
        notes: what was assumed when it was read.
    """

    columns: list[str]
    rows: list[list[str]]
    mark: str = ""
    notes: tuple[str, ...] = ()


def read_table(
    body: bytes,
    filename: str,
    limits: ServeConfig,
    check: Check = lambda: None,
    reading: ReadConfig | None = None,
) -> Table:
    """Read a table; its format is that of the extension of the filename, CSV if there is none.

    Raises:
        DataError: if the table cannot be read, with the line and the fix.
        PayloadTooLarge: if it has more rows, columns or cells than the limits.
    """
    name = re.split(r"[/\\]", filename)[-1] or "table"
    notes: dict[str, None] = {}
    name = name if "." in name else f"{name}.csv"
    content = Content.of_bytes(name, body, reading, lambda note: notes.update({_here(note): None}))
    if not content.name.lower().endswith(EXTENSIONS):
        raise InvalidRequest(f"The file must be of one of these kinds, by its ending: {' '.join(EXTENSIONS)}.")
    columns: dict[str, None] = {}
    rows: list[list[str]] = []
    for row in read_rows(content):
        check()
        columns.update(dict.fromkeys(row))
        _check_size(limits, len(rows) + 1, len(columns))
        rows.append([_cell(row.get(name)) for name in columns])
    kind = table_kind(content.name)
    if not columns and kind in HEADED:
        columns = dict.fromkeys(read_header(content))
        _check_size(limits, 0, len(columns))
    if not columns:
        raise InvalidRequest('The file is empty. Give an object such as {"text": "..."} on every line.')
    for cells in rows:  # later lines of a JSON file may have more fields
        cells.extend([""] * (len(columns) - len(cells)))
    marked = kind in WORKBOOKS or content.encoding.mark > 0 or content.encoding.name != "utf-8"
    return Table(list(columns), rows, BOM if marked else "", tuple(notes))


def _here(note: str) -> str:
    """A note with the names of the parameters of a request in place of options of the command line."""
    return re.sub(r"with --(\w+)", r"by `\1`", note)


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
    """Return the column of the texts: the requested one, the one the model was trained on, or the obvious one."""
    name = requested or (trained_on if trained_on in table.columns else None)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[:GUESS_ROWS]]
    try:
        return guess_columns(rows or [dict.fromkeys(table.columns)], name, None, want_label=False)[0]
    except DataError as error:
        how_here = "by `column` (on the page: Column of the texts)"
        raise DataError(str(error).replace("with --text", how_here)) from None


def added_columns(table: Table, labels: Sequence[str]) -> list[str]:
    """Return the names of the columns of the predictions; none of them is a column of the table."""
    added: list[str] = []
    taken = set(table.columns)
    for name in ("predicted", *(f"probability_{label}" for label in labels)):
        added.append(unused_name(name, taken, "_"))
        taken.add(added[-1])
    return added


def summarize_table(
    table: Table, texts: Sequence[str], labels: Sequence[str], predictions: Sequence[Prediction]
) -> dict[str, Any]:
    """Return what the predictions of a table come to, as JSON values."""
    found = (prediction.predicted for prediction in predictions)
    counts = Counter(number for one in found for number in ((one,) if isinstance(one, int) else one))
    return {
        "total": len(texts),
        "empty": sum(not text.strip() for text in texts),
        "notes": list(table.notes),
        "added": added_columns(table, labels),
        "counts": [counts[number] for number in range(len(labels))],
        "first": [
            {
                "text": text,
                "label": class_name(labels, prediction.predicted),
                "probability": prediction.probabilities[prediction.best],
            }
            for text, prediction in zip(texts[:PREVIEW_ROWS], predictions, strict=False)
        ],
    }


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
    content = io.BytesIO()
    text = io.TextIOWrapper(content, "utf-8", "replace", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")

    def write(cells: list[str]) -> None:
        writer.writerow(cells)
        if content.tell() > max_bytes:
            raise PayloadTooLarge(
                f"The table with predictions has more bytes than the limit of {max_bytes:,}. Send it in parts."
            )

    text.write(table.mark)
    write([*table.columns, *added_columns(table, labels)])
    for row, prediction in zip(table.rows, predictions, strict=True):
        check()
        probabilities = (f"{value:.6f}" if math.isfinite(value) else "" for value in prediction.probabilities)
        predicted = prediction.predicted
        name = labels[predicted] if isinstance(predicted, int) else BETWEEN.join(labels[index] for index in predicted)
        write([*row, escape_formula(name), *probabilities])
    return content.getvalue()


def escape_formula(cell: str) -> str:
    """Quote a cell that a spreadsheet would run as a formula.

    >>> escape_formula("=1+1"), escape_formula("pos")
    ("'=1+1", 'pos')
    """
    return f"'{cell}" if cell.startswith(FORMULA) else cell
