"""Write tables: the columns of the input as they were, and new ones behind them.

| ending | format |
|---|---|
| `.csv` `.tsv` | header row; fields are quoted where they must be (RFC 4180), lines end with a line feed |
| `.jsonl` `.ndjson` | one JSON object per line |
| `.json` | one list of objects |
| `.parquet` | types of a Parquet input are kept |
| `.xlsx` | one sheet, at most 1,048,575 rows; needs the extra `excel` |

All but `.parquet` and `.xlsx` may be gzipped (`.gz`). The same rows give the same bytes.
"""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vmask.data.streams import short_name
from vmask.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from vmask.data.table_chunks import TableChunk

Columns = Mapping[str, Any]
"""Types of columns by their names: `str`, `int`, `float`, `bool`, `object` (anything), or a type of Arrow."""
PACKED = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""Endings that may be followed by `.gz`."""
OUTPUTS = (*PACKED, ".parquet", ".xlsx")
MOST_EXCEL_ROWS, LONGEST_EXCEL_CELL, MOST_EXCEL_COLUMNS = 1_048_575, 32_767, 16_384
"""Limits of an Excel sheet: rows besides the header, characters of a cell, columns."""
ROW_GROUP = 1 << 16
"""Rows of a group of a Parquet file."""
_EXACT = 2**53  # Excel's numbers are floats


class TableWriter(Protocol):
    """Writes a table, some rows at a time."""

    def write(self, chunk: TableChunk, added: Mapping[str, Sequence[Any]]) -> None:
        """Write rows of the input, and the values of the new columns beside them."""

    def close(self) -> None:
        """Write what is still to be written."""


def output_kind(path: str | Path) -> str:
    """The ending that tells the format of an output (`.csv.gz` is `.csv`).

    Raises:
        DataError: for another ending.
    """
    name = Path(path).name.lower()
    kind = next((ending for ending in OUTPUTS if name.removesuffix(".gz").endswith(ending)), None)
    if kind is None or (name.endswith(".gz") and kind not in PACKED):
        raise DataError(
            f"'{short_name(Path(path).name)}' has no ending that a table can be written by. Name it "
            f"{' '.join(f'*{ending}' for ending in OUTPUTS)}, or one of {' '.join(f'*{end}.gz' for end in PACKED)}."
        )
    if kind == ".xlsx":
        _xlsxwriter()
    return kind


@contextmanager
def table_writer(
    path: Path, name: str, columns: Columns, added: Columns, delimiter: str = ","
) -> Iterator[TableWriter]:
    """A writer of a table.

    Args:
        path: the file to write.
        name: its final name, whose ending tells the format.
        columns: the columns of the input.
        added: the new columns.
        delimiter: what separates the fields of a `.csv`.
    """
    kind = output_kind(name)
    if kind == ".xlsx":
        sheet = _Excel(path, name, columns, added)
        try:
            yield sheet
            sheet.close()
        except BaseException:
            sheet.drop()
            raise
    elif kind == ".parquet":
        writer: TableWriter = _Parquet(path, columns, added)
        try:
            yield writer
        finally:
            writer.close()
    else:
        with path.open("wb") as raw:
            packed = (
                gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if name.lower().endswith(".gz") else raw
            )
            with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="") as stream:
                if kind in (".csv", ".tsv"):
                    writer = _Separated(stream, columns, added, "\t" if kind == ".tsv" else delimiter)
                else:
                    writer = _Json(stream, as_list=kind == ".json")
                yield writer
                writer.close()


def as_cell(value: Any) -> Any:
    """A value as a text file has it: numbers and strings as they are, nothing as nothing, lists and objects as JSON."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    return as_text(value)


def as_text(value: Any) -> str:
    """A value that JSON does not have as a string: dates by ISO 8601, bytes by base64, lists and objects as JSON."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    return str(value)


def no_formula(text: str) -> str:
    """A text of our own that a spreadsheet does not take for a formula: an apostrophe stands before one that begins so.

    >>> no_formula("=HYPERLINK(1)"), no_formula("-1"), no_formula("-"), no_formula("good")
    ("'=HYPERLINK(1)", '-1', '-', 'good')
    """
    if len(text) < 2 or text[0] not in "=+-@\t\r":
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class _Separated:
    """CSV and TSV."""

    def __init__(self, stream: io.TextIOWrapper, columns: Columns, added: Columns, delimiter: str) -> None:
        self._stream, self._columns, self._delimiter = stream, columns, delimiter
        self._plain = all(kind is str for kind in columns.values())
        self._put([[*columns, *added]])

    def write(self, chunk: TableChunk, added: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        own = zip(*(map(_own_cell, values) for values in added.values()), strict=True)
        names = list(self._columns)
        if self._plain:
            self._put([[*map(row.get, names), *more] for row, more in zip(chunk.rows, own, strict=True)])
        else:
            cells = ([as_cell(row.get(name)) for name in names] for row in chunk.rows)
            self._put([[*row, *more] for row, more in zip(cells, own, strict=True)])

    def _put(self, rows: Sequence[Sequence[Any]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        writer.writerows(rows)
        if "\r" in text.getvalue():  # some versions of Python leave such a field without quotes
            quoting = csv.writer(text, delimiter=self._delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
            text.seek(0)
            text.truncate()
            for row in rows:
                returns = any(isinstance(value, str) and "\r" in value for value in row)
                (quoting if returns else writer).writerow(row)
        self._stream.write(text.getvalue())

    def close(self) -> None:
        """Nothing is left to be written."""


def _own_cell(value: Any) -> Any:
    return no_formula(value) if isinstance(value, str) else value


class _Json:
    """JSON lines, or one list of objects."""

    def __init__(self, stream: io.TextIOWrapper, as_list: bool) -> None:
        self._stream, self._as_list, self._first = stream, as_list, True

    def write(self, chunk: TableChunk, added: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        own = zip(*added.values(), strict=True)
        objects = [
            json.dumps({**row, **dict(zip(added, more, strict=True))}, ensure_ascii=False, default=as_text)
            for row, more in zip(chunk.rows, own, strict=True)
        ]
        if self._as_list:
            start = "[\n" if self._first else ",\n"
            self._stream.write((start if objects else "") + ",\n".join(objects))
        else:
            self._stream.writelines(f"{line}\n" for line in objects)
        self._first = self._first and not objects

    def close(self) -> None:
        """Close the list."""
        if self._as_list:
            self._stream.write("[]\n" if self._first else "\n]\n")


class _Parquet:
    """Parquet; the rows of a Parquet input are copied as they are."""

    def __init__(self, path: Path, columns: Columns, added: Columns) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        of_python = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), object: pa.string()}
        self._columns, self._pa = columns, pa
        self._schema = pa.schema([(name, of_python.get(kind, kind)) for name, kind in {**columns, **added}.items()])
        self._writer = pq.ParquetWriter(path, self._schema)
        self._waiting: list[Any] = []

    def write(self, chunk: TableChunk, added: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        pa = self._pa
        if chunk.arrow is not None:
            columns = [chunk.arrow.column(name) for name in self._columns]
        else:
            columns = [self._array([row.get(name) for row in chunk.rows], name) for name in self._columns]
        columns += [self._array(values, name) for name, values in added.items()]
        self._waiting.append(pa.table(columns, schema=self._schema))
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            self._flush()

    def _array(self, values: Sequence[Any], name: str) -> Any:
        kind = self._schema.field(name).type
        if self._columns.get(name) is object:
            values = [None if value is None else str(as_cell(value)) for value in values]
        elif self._columns.get(name) is float:
            values = [None if value is None else float(value) for value in values]
        return self._pa.array(values, kind)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(self._pa.concat_tables(self._waiting), row_group_size=2 * ROW_GROUP)
            self._waiting = []

    def close(self) -> None:
        """Write the last rows and the end of the file."""
        self._flush()
        self._writer.close()


class _Excel:
    """A sheet that is written row by row. Strings are strings, also those that look like formulas or addresses."""

    def __init__(self, path: Path, name: str, columns: Columns, added: Columns) -> None:
        options = {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "default_date_format": "yyyy-mm-dd hh:mm:ss",
        }
        self._columns, self._row, self._name = columns, 1, name
        self._book = _xlsxwriter().Workbook(str(path), options)
        self._book.set_properties({"created": datetime(2000, 1, 1)})  # the same rows give the same bytes
        self._sheet = self._book.add_worksheet()
        for place, name in enumerate([*columns, *added]):
            self._sheet.write_string(0, place, name)

    def write(self, chunk: TableChunk, added: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        names = list(self._columns)
        for row, more in zip(chunk.rows, zip(*added.values(), strict=True), strict=True):
            check_excel(self._name, self._row, 0, 0)
            for place, value in enumerate([*map(row.get, names), *more]):
                self._write(place, value)
            self._row += 1

    def _write(self, place: int, value: Any) -> None:
        if value is None or value == "":
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(self._row, place, value)
        elif isinstance(value, (int, float)) and math.isfinite(value) and abs(value) <= _EXACT:
            self._sheet.write_number(self._row, place, value)
        elif isinstance(value, datetime) and value.tzinfo is None and value.year >= 1900:
            self._sheet.write_datetime(self._row, place, value)
        else:
            text = str(as_cell(value))
            check_excel(self._name, 0, 0, len(text))
            self._sheet.write_string(self._row, place, text)

    def close(self) -> None:
        """Write the file."""
        self._book.close()

    def drop(self) -> None:
        """Write nothing: the library would do it when the object goes."""
        self._book.fileclosed = True


def check_excel(name: str, rows: int, columns: int, longest: int) -> None:
    """Refuse a table that does not fit into a sheet of Excel.

    Raises:
        DataError: with the limit that it exceeds.
    """
    facts = {
        "rows": (rows, MOST_EXCEL_ROWS),
        "columns": (columns, MOST_EXCEL_COLUMNS),
        "characters in a cell": (longest, LONGEST_EXCEL_CELL),
    }
    for what, (found, most) in facts.items():
        if found > most:
            raise DataError(
                f"'{short_name(name)}' would have {found:,} {what}, and Excel takes at most {most:,}. Write a .csv or "
                "a .parquet instead."
            )


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("Writing Excel files", "excel") from None
    return xlsxwriter
