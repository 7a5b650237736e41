"""Tables that are sent to be scored: read from bytes, written back as CSV with predictions, all in memory."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from vmask.data.readers import guess_columns
from vmask.errors import DataError
from vmask.web.asking import Prediction
from vmask.web.refusals import Refusal, TooLarge

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson")
DELIMITERS = (",", "\t", ";", "|")
GUESS_FROM = 20
"""Rows that delimiter and text column are guessed from."""
_FIELD = r'(?:"[^"]*(?:""[^"]*)*"|[^"\t]*)'
QUOTED_RECORD = re.compile(rf"{_FIELD}(?:\t{_FIELD})*")
BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A cell that begins so is run by spreadsheets."""


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


def read_table(body: bytes, filename: str, max_rows: int) -> Table:
    """The table in a file, by the ending of its name; CSV where it has none.

    Raises:
        Refusal: where it is no such table, naming line and fix.
        TooLarge: where it has more rows than the limit.
    """
    name = filename.lower()
    kind = next((ending for ending in KINDS if name.endswith(ending)), ".csv" if "." not in name else "")
    if not kind:
        raise Refusal(f"The file must be of one of these kinds, by its ending: {' '.join(KINDS)}.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise Refusal(f"Line {line} of the file is not UTF-8 text. Save the file as UTF-8.") from None
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(BOM)
    if "\0" in text:
        raise Refusal("The file has NUL characters: it is not a text file. Save it as CSV, TSV or JSON lines.")
    if kind in (".jsonl", ".ndjson"):
        return _read_json(text, mark, max_rows)
    return _read_csv(text, mark, _delimiter(text) if kind == ".csv" else "\t", max_rows)


def _read_csv(text: str, mark: str, delimiter: str, max_rows: int) -> Table:
    csv.field_size_limit(2**31 - 1)  # the body has its own limit
    quoted = delimiter != "\t" or _is_quoted(text)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True
    )
    rows: list[list[str]] = []
    try:
        columns = next(reader, [])
        if not columns:
            raise Refusal("The file is empty. Its first line must name the columns, for example: text,label")
        if twice := sorted({name for name in columns if columns.count(name) > 1}):
            raise Refusal(f"The file has two columns called {twice[0]!r}. Rename one in the first line.")
        for row in reader:
            if not row and len(columns) > 1:
                continue  # a blank line; in a table of one column it is an empty text
            if len(row) > len(columns):
                raise Refusal(
                    f"Line {reader.line_num} of the file has {len(row)} fields, but the first line names "
                    f"{len(columns)}. A text that contains the delimiter must be put in double quotes."
                )
            rows.append(row + [""] * (len(columns) - len(row)))
            _check_rows(rows, max_rows)
    except csv.Error as error:
        raise Refusal(
            f"Line {reader.line_num} of the file cannot be read: {error}. Put texts with quotes in quotes and double "
            'the inner ones: "so ""good"" it was".'
        ) from None
    return Table(columns, rows, mark)


def _delimiter(text: str) -> str:
    """The delimiter that cuts the header into most columns and the first rows into as many."""
    best, most = ",", 1
    for delimiter in DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            widths = {len(row) for row in islice(reader, GUESS_FROM) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    if most == 1:  # rows of uneven width: go by the header alone, the uneven row is then named
        header = text.partition("\n")[0]
        best = max(DELIMITERS, key=header.count)
    return best


def _is_quoted(text: str) -> bool:
    """Whether double quotes in a TSV are punctuation of the format, as `vmask.data.readers.tsv_is_quoted` decides.

    They are where every field that has one is quoted from end to end, with inner quotes doubled.
    """
    quotes, record = False, ""
    for line in text.split("\n"):
        record += line.removesuffix("\r")
        if record.count('"') % 2:
            record += "\n"  # perhaps a quoted field with a line feed in it
            continue
        if '"' in record:
            quotes = True
            if not QUOTED_RECORD.fullmatch(record):
                return False
        record = ""
    return quotes and not record


def _read_json(text: str, mark: str, max_rows: int) -> Table:
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "it cannot be read")
            raise Refusal(f"Line {number} of the file is not JSON: {reason}. Correct or remove it.") from None
        if not isinstance(value, dict):
            raise Refusal(f'Line {number} of the file is not an object such as {{"text": "..."}}.')
        objects.append(value)
        _check_rows(objects, max_rows)
    columns = list(dict.fromkeys(name for value in objects for name in value))
    if not columns:
        raise Refusal('The file is empty. Give an object such as {"text": "..."} on every line.')
    return Table(columns, [[_cell(value.get(name)) for name in columns] for value in objects], mark)


def _cell(value: Any) -> str:
    """A value of JSON as a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a character cannot be written
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _check_rows(rows: Sequence[Any], max_rows: int) -> None:
    if len(rows) > max_rows:
        raise TooLarge(f"The table has more rows than the limit of {max_rows:,}. Send it in parts.")


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


def write_table(table: Table, labels: Sequence[str], predictions: Sequence[Prediction]) -> bytes:
    """The table as CSV, with the predictions behind its own columns."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    added = _free_names(["predicted", *(f"probability_{label}" for label in labels)], table.columns)
    writer.writerow([*table.columns, *added])
    for row, prediction in zip(table.rows, predictions, strict=True):
        shares = (f"{share:.6f}" if math.isfinite(share) else "" for share in prediction.probabilities)
        writer.writerow([*row, harmless(labels[prediction.best]), *shares])
    return (table.mark + stream.getvalue()).encode("utf-8", "replace")


def _free_names(wanted: Iterable[str], taken: Sequence[str]) -> list[str]:
    names = list(taken)
    for plain in wanted:
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}_{number}"
        names.append(name)
    return names[len(taken) :]


def harmless(cell: str) -> str:
    """A cell of ours that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("pos")
    ("'=1+1", 'pos')
    """
    return f"'{cell}" if cell.startswith(FORMULA) else cell
