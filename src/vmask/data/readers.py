"""Stream the rows of tables and the lines of text files.

| ending | format |
|---|---|
| `.csv` | header row; `,` `;` TAB or `|`, detected from the content; fields may be quoted (RFC 4180) |
| `.tsv` `.tab` | header row, TAB; read as plain fields unless the whole file is properly quoted, see `tsv_is_quoted` |
| `.jsonl` `.ndjson` | one JSON object per line |
| `.json` | one list of objects |
| `.parquet` | streamed in batches |
| `.arrow` `.feather` `.ipc` | Arrow's file and stream formats, streamed in batches |
| `.xlsx` `.xls` `.xlsb` `.xlsm` `.ods` | workbooks: the first sheet with rows, or the one that is named |

Texts may be packed (`.gz`, `.zst`, `.bz2`, `.xz`), in UTF-8 or UTF-16, or in another encoding that is named or assumed,
see `vmask._core.encodings`. Lines end at a line feed only: texts may contain other line ends of Unicode, such as U+0085
and U+2028. Files on disk and uploads to `vmask serve` are read by the same functions, in time linear in their size.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from vmask.data.arrow import read_arrow, read_parquet
from vmask.data.columns import Row as Row
from vmask.data.columns import check_width, format_columns
from vmask.data.columns import guess_columns as guess_columns
from vmask.data.config import ReadConfig
from vmask.data.pipes import read_lines
from vmask.data.streams import LONGEST_LINE, Content, Note, ignore, is_pipe, packer_of, short_name
from vmask.data.streams import existing as existing
from vmask.data.workbooks import read_workbook
from vmask.errors import DataError

ARROW = (".arrow", ".feather", ".ipc")
WORKBOOKS = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", *ARROW, *WORKBOOKS)
HEADED = (".csv", ".tsv", ".tab", *WORKBOOKS)
"""Tables whose first row names the columns."""
_DELIMITERS = (",", "\t", ";", "|")
_GUESS_FROM = 20  # rows
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the JSON escape of a surrogate; a pair of them is one character
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def table_kind(path: str | Path) -> str | None:
    """The ending that tells the format of a table (`.csv.gz` is `.csv`), or None for another file."""
    name = Path(path).name.lower()
    name = name.removesuffix(packer_of(name))
    return next((ending for ending in TABLES if name.endswith(ending)), None)


def read_rows(
    source: str | Path | Content,
    quoted: bool | None = None,
    reading: ReadConfig | None = None,
    note: Note = ignore,
) -> Iterator[Row]:
    """Iterate over the rows of a table.

    Args:
        source: a file with one of the endings in `TABLES`, or its content.
        quoted: whether to remove double quotes around the fields of a `.tsv`; by default `tsv_is_quoted` decides.
        reading: encoding and sheet.
        note: takes what the user should know: an encoding that was assumed, the sheet that was read.

    Raises:
        FileMissing: if there is no such file, with a near name.
        DataError: for a file that is not what its ending says, naming the line and the fix.
    """
    content = source if isinstance(source, Content) else Content.of_file(source, reading, note)
    kind = table_kind(content.name)
    if kind is None:
        raise DataError(
            f"{content.quoted_name} is no table by its ending. Known: {' '.join(TABLES)} (texts also with .gz .zst). "
            "Rename it to what it is."
        )
    _check_reading(content, kind)
    if kind == ".parquet":
        return read_parquet(content)
    if kind in ARROW:
        return read_arrow(content)
    if kind in WORKBOOKS:
        return _table(content, read_workbook(content))
    if kind in HEADED:
        return _table(content, _records(content, kind, quoted))
    return _json(content) if kind == ".json" else _json_lines(content)


def _check_reading(content: Content, kind: str) -> None:
    """Refuse options that the kind of a table does not have."""
    binary = kind == ".parquet" or kind in ARROW or kind in WORKBOOKS
    if binary and (packer := packer_of(content.name)):
        raise DataError(
            f"{content.quoted_name} is packed twice: {kind} is compressed in itself. Unpack it, and leave out {packer}."
        )
    if binary and content.reading.encoding is not None:
        raise DataError(f"{content.quoted_name} is not a text file, so it has no encoding. Leave --encoding out.")
    if kind not in WORKBOOKS and content.reading.sheet is not None:
        raise DataError(f"{content.quoted_name} is not a workbook, so it has no sheets. Leave --sheet out.")


def read_header(source: str | Path | Content) -> list[str]:
    """The columns in the first row of one of the tables in `HEADED`, which may have no other rows."""
    content = _content(source)
    kind = table_kind(content.name) or ".csv"
    return _header(content, read_workbook(content) if kind in WORKBOOKS else _records(content, kind, None))


def delimiter_of(source: str | Path | Content) -> str:
    """What separates the fields of a `.csv`."""
    return _sniff(_content(source))


def iter_texts(
    source: str | Path | IO[Any],
    text: str | None = None,
    reading: ReadConfig | None = None,
    note: Note = ignore,
) -> Iterator[str]:
    """Iterate over the texts of a file or stream; a missing text is an empty string, so that rows stay aligned.

    Args:
        source: a table, another text file with one text per line, or an open stream such as `sys.stdin`.
        text: the column of a table; guessed by default.
        reading: encoding and sheet.
        note: takes what the user should know about how the file was read.
    """
    if not isinstance(source, (str, Path)):
        yield from read_lines(source, reading, note)
    elif table_kind(source) is None:
        path = existing(source)
        if is_pipe(path):
            with path.open("rb") as stream:
                yield from read_lines(stream, reading, note)
            return
        content = Content.of_file(path, reading, note)
        _check_reading(content, "")
        with content.lines() as lines:
            yield from (line.rstrip("\n").removesuffix("\r") for line in content.each_line(lines))
    else:
        rows = read_rows(source, reading=reading, note=note)
        first: list[Row] = []
        failed = None
        try:
            first.extend(islice(rows, _GUESS_FROM))
        except DataError as error:  # the rows before a bad one are still returned
            failed = error
        column = guess_columns(first, text, None, want_label=False)[0] if first else ""
        for row in chain(first, () if failed else rows):
            value = row.get(column)
            yield "" if value is None else str(value)
        if failed:
            raise failed


def text_files(source: str | Path) -> list[Path]:
    """The files of a folder that texts are read from, in the order of their names.

    Raises:
        DataError: for a folder without tables and text files.
    """
    path = Path(source)
    names = sorted(file.name for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    files = [path / name for name in names if table_kind(name) or _is_text_file(name)]
    if not files:
        raise DataError(
            f"The folder '{path}' has no texts. Put in files with one of the endings .txt {' '.join(TABLES)}."
        )
    return files


def _is_text_file(name: str) -> bool:
    name = name.lower()
    return name.removesuffix(packer_of(name)).endswith(".txt")


# Text files ---------------------------------------------------------------------------------------------


def _content(source: str | Path | Content) -> Content:
    return source if isinstance(source, Content) else Content.of_file(source)


# Tables -------------------------------------------------------------------------------------------------

_Records = Iterator[tuple[int, list[str]]]
"""Line number and fields of each record, the header first; blank lines are empty records."""


def _records(content: Content, kind: str, quoted: bool | None) -> _Records:
    if kind == ".csv":
        return _quoted_records(content, _sniff(content))
    if quoted is None:
        quoted = tsv_is_quoted(content)
    if quoted:
        return _quoted_records(content, "\t")
    return _plain_records(content)


def _quoted_records(content: Content, delimiter: str) -> _Records:
    csv.field_size_limit(LONGEST_LINE)  # the default refuses fields above 128 KB
    with content.lines(newline="") as lines:
        reader = csv.reader(content.each_line(lines), delimiter=delimiter, strict=True)
        try:
            for values in reader:
                yield reader.line_num, values
        except csv.Error as error:
            raise DataError(
                f"Line {reader.line_num} of {content.quoted_name} cannot be read as "
                f"{(table_kind(content.name) or '')[1:]}: {error}. "
                'Put texts with quotes in quotes and double the inner ones: "so ""good"" it was".'
            ) from None


def _sniff(content: Content) -> str:
    """The delimiter that gives most columns, the same number in the header and the first rows."""
    csv.field_size_limit(LONGEST_LINE)
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        with content.lines(newline="") as lines:
            reader = csv.reader(content.each_line(lines), delimiter=delimiter)
            try:
                widths = {len(values) for values in islice(reader, _GUESS_FROM) if values}
            except csv.Error:
                continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    if most == 1:  # rows of uneven width: use the header alone, so that the error names the uneven row
        with content.lines(newline="") as lines:
            header = next(content.each_line(lines), "")
        best = max(_DELIMITERS, key=header.count)
    return best


def _plain_records(content: Content) -> _Records:
    ending = "\n"
    with content.lines() as lines:
        for number, line in enumerate(content.each_line(lines), 1):
            if number == 1 and line.endswith("\r\n"):
                ending = "\r\n"
            line = line.removesuffix(ending)
            yield number, line.split("\t") if line else []


_FIELD = r'(?:"[^"]*(?:""[^"]*)*"|[^"\t]*)'
_QUOTED_RECORD = re.compile(rf"{_FIELD}(?:\t{_FIELD})*")
_LONGEST_RECORD = 1 << 20


def tsv_is_quoted(source: str | Path | Content) -> bool:
    r"""Whether double quotes in a TSV file belong to the format, not to the texts.

    They do if every field with a double quote is quoted as a whole and its inner quotes are doubled, as spreadsheets
    and pandas write it. If one field is not, such as `he said "no"`, the quotes of the whole file belong to the texts.
    The file is read up to the first such field.
    """
    content = _content(source)
    quotes, open_field, length = False, False, 0
    parts: list[str] = []
    with content.lines() as lines:
        for line in content.each_line(lines):
            parts.append(line)
            length += len(line)
            open_field ^= line.count('"') % 2 == 1
            if open_field and length < _LONGEST_RECORD:
                continue  # perhaps a quoted field with a line feed in it
            record = "".join(parts)
            if '"' in record:
                quotes = True
                if not _QUOTED_RECORD.fullmatch(record.rstrip("\r\n")):
                    return False
            parts, length = [], 0
    return quotes and not parts


def _header(content: Content, records: _Records) -> list[str]:
    _, header = next(records, (1, []))
    if not header:
        raise DataError(
            f"{content.quoted_name} is empty. Its first line must name the columns, for example: text,label"
        )
    check_width(content.quoted_name, "Line 1", header)
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise DataError(
            f"{content.quoted_name} has two columns called '{short_name(name)}'. Rename one in the first line."
        )
    return header


def _table(content: Content, records: _Records) -> Iterator[Row]:
    header = _header(content, records)
    for number, values in records:
        if len(values) > len(header):
            raise DataError(
                f"Line {number} of {content.quoted_name} has {len(values)} fields, but the first line names "
                f"{len(header)} ({format_columns(header)}). Put texts that contain the delimiter in "
                "double quotes."
            )
        if values or len(header) == 1:  # in a table of one column a blank line is an empty text
            yield {**dict.fromkeys(header), **dict(zip(header, values or [""], strict=False))}


def _json_lines(content: Content) -> Iterator[Row]:
    with content.lines() as lines:
        for number, line in enumerate(content.each_line(lines), 1):
            if line.strip():
                value = _parse_json(content, line, number)
                yield _object(content, f"Line {number}", value, _ESCAPED_SURROGATE.search(line))


def _json(content: Content) -> Iterator[Row]:
    text = content.whole()
    rows = _parse_json(content, text, 1)
    if not isinstance(rows, list):
        raise DataError(
            f'{content.quoted_name} is not a list of objects: [{{"text": ...}}, ...]. One per line is `.jsonl`.'
        )
    escaped = _ESCAPED_SURROGATE.search(text)
    yield from (_object(content, f"Entry {number}", row, escaped) for number, row in enumerate(rows, 1))


def _parse_json(content: Content, text: str, number: int) -> Any:
    try:
        return json.loads(text.rstrip())  # so that an error at the end is on the last line, not after it
    except json.JSONDecodeError as error:
        raise DataError(
            f"Line {number + error.lineno - 1} of {content.quoted_name} is not JSON: {error.msg}. Correct or remove it."
        ) from None
    except RecursionError:
        raise DataError(
            f"Line {number} of {content.quoted_name} is not JSON that can be read: it is nested too deeply. Flatten it."
        ) from None
    except ValueError:  # from `int`
        raise DataError(
            f"Line {number} of {content.quoted_name} is not JSON that can be read: a number in it has thousands "
            "of digits. Put it in quotes, or leave it out."
        ) from None


def _object(content: Content, where: str, value: Any, escaped: object) -> Row:
    """A JSON value as a row. Lone surrogates, as of an emoji that was cut in two, become U+FFFD.

    Args:
        content: its file.
        where: its place in the file.
        value: the value.
        escaped: truthy if the JSON has escapes of surrogates.
    """
    if not isinstance(value, dict):
        raise DataError(f'{where} of {content.quoted_name} is not an object such as {{"text": "...", "label": "..."}}.')
    check_width(content.quoted_name, where, value)
    if not escaped:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return cast("Row", json.loads(_SURROGATE.sub("\ufffd", text)) if _SURROGATE.search(text) else value)
