"""Rows of tables and lines of text files, as a stream, whatever the format.

| ending | what |
|---|---|
| `.csv` | header row; `,` `;` TAB or `|`, found by looking; fields may be quoted (RFC 4180) |
| `.tsv` | header row, TAB; read as plain fields unless the whole file is properly quoted, see
`tsv_is_quoted` |
| `.jsonl` `.ndjson` | one JSON object a line |
| `.json` | one list of objects |
| `.parquet` | streamed by batches |

All but `.parquet` may be gzipped (`.gz`) and must be UTF-8, with or without a byte-order mark. Lines end at
a line feed only: texts may contain other characters that Unicode calls line ends, such as U+0085 and
U+2028.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from vmask.errors import DataError, FileMissing, did_you_mean

Row = dict[str, Any]

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
TEXT_NAMES = (
    "text",
    "sentence",
    "review",
    "content",
    "comment",
    "message",
    "body",
    "question",
    "document",
    "tweet",
)
LABEL_NAMES = ("label", "class", "category", "target", "sentiment", "rating", "stars", "labels", "topic", "y")

_DELIMITERS = (",", "\t", ";", "|")
_GUESS_FROM = 20  # rows
_LONGEST_FIELD = 2**31 - 1  # csv refuses fields above 128 KB unless told otherwise


def table_kind(path: str | Path) -> str | None:
    """The ending that says how to read a table (`.csv.gz` is `.csv`), or None for another file."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((ending for ending in TABLES if name.endswith(ending)), None)


def read_rows(path: str | Path, quoted: bool | None = None) -> Iterator[Row]:
    """The rows of a table, one after the other.

    Args:
        path: a file with one of the endings in `TABLES`.
        quoted: whether double quotes around the fields of a `.tsv` are to be taken off; by default
            `tsv_is_quoted` decides.

    Raises:
        FileMissing: where there is no such file, with a near name.
        DataError: for a file that is not what its ending says, naming the line and the fix.
    """
    path = existing(path)
    kind = table_kind(path)
    if kind is None:
        raise DataError(
            f"'{path.name}' is no table by its ending. Known: {' '.join(TABLES)} (also with .gz). Rename "
            "it to what it is."
        )
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".csv":
        return _csv(path, None)
    if kind == ".tsv":
        return _csv(path, "\t") if (tsv_is_quoted(path) if quoted is None else quoted) else _plain_tsv(path)
    return _json(path) if kind == ".json" else _json_lines(path)


def iter_texts(source: str | Path | IO[Any], text: str | None = None) -> Iterator[str]:
    """The texts of a file or stream, in order; a missing text is an empty string, so that rows stay in step.

    Args:
        source: a table, another text file with one text a line, or an open stream such as `sys.stdin`.
        text: the column of a table; guessed where it is obvious.
    """
    if not isinstance(source, (str, Path)):
        yield from _stream_lines(source)
    elif table_kind(source) is None:
        with _text_lines(existing(source)) as lines:
            yield from (line.rstrip("\n").removesuffix("\r") for line in lines)
    else:
        rows = read_rows(source)
        first: list[Row] = []
        failed = None
        try:
            first.extend(islice(rows, _GUESS_FROM))
        except DataError as error:  # the rows before a bad one are still answered
            failed = error
        column = guess_columns(first, text, None, want_label=False)[0] if first else ""
        for row in chain(first, () if failed else rows):
            value = row.get(column)
            yield "" if value is None else str(value)
        if failed:
            raise failed


def guess_columns(
    rows: Sequence[Row], text: str | None = None, label: str | None = None, want_label: bool = True
) -> tuple[str, str | None]:
    """Which columns hold the texts and the labels.

    A column called `text` or `label` is taken; else the only one with another usual name; else, of two
    columns, the one with more different, or else longer, values is the text.

    Args:
        rows: some first rows of the table.
        text: the column, where the user said so.
        label: likewise.
        want_label: whether a label column must be there.

    Raises:
        DataError: where a named column is missing or the choice is not obvious, listing the columns.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name, option in ((text, "text"), (label, "label")):
        if name is not None and name not in columns:
            raise DataError(
                f"There is no column '{name}'.{did_you_mean(name, columns)} "
                f"The columns are: {', '.join(columns)}. Name one of them with --{option}."
            )
    text = text or _usual(columns, TEXT_NAMES, label)
    label = label or _usual(columns, LABEL_NAMES, text)
    others = [name for name in columns if name not in (text, label)]
    if text is None and label is None and len(columns) == 2 and want_label:
        text, label = sorted(columns, key=lambda name: _variety(rows, name), reverse=True)
    elif text is None and len(others) == 1:
        text = others[0]
    elif label is None and len(others) == 1 and want_label:
        label = others[0]
    for chosen, option in ((text, "text"), (label, "label")):
        if chosen is None and (option == "text" or want_label):
            raise DataError(
                f"It is not obvious which column holds the {option}s. The columns are: {', '.join(columns)}. "
                f"Name one of them with --{option}."
            )
    return cast("str", text), label


def _usual(columns: Sequence[str], names: Sequence[str], taken: str | None) -> str | None:
    near = [name for name in columns if name.lower() in names and name != taken]
    best = [name for name in near if name.lower() == names[0]]
    return (best or near)[0] if len(best or near) == 1 else None


def _variety(rows: Sequence[Row], name: str) -> tuple[int, int]:
    """How many different values, and how long they are: texts have more of both than labels."""
    values = [str(row.get(name)) for row in rows]
    return len(set(values)), sum(map(len, values))


def existing(path: str | Path) -> Path:
    """The path of a file that is there.

    Raises:
        FileMissing: where it is not, with a near name.
    """
    path = Path(path)
    if path.is_file():
        return path
    if path.is_dir():
        raise FileMissing(f"'{path}' is a folder where a file is expected. Name a file in it.")
    here = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    raise FileMissing(f"There is no file '{path}'.{did_you_mean(path.name, here)} Check the name and the folder.")


# Text files ---------------------------------------------------------------------------------------------


def _open_bytes(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


@contextmanager
def _text_lines(path: Path, newline: str = "\n") -> Iterator[IO[str]]:
    """The file as text, with errors that name it, the line and the fix."""
    try:
        with _open_bytes(path) as file:
            _refuse_binary(path, file.read(1 << 16))
            file.seek(0)
            yield io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)
    except UnicodeDecodeError:
        raise DataError(_not_utf8(path)) from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(
            f"The gzip file '{path.name}' cannot be unpacked: it is damaged or was cut short. Copy it again."
        ) from None


def _refuse_binary(path: Path, start: bytes) -> None:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(
            f"'{path.name}' is UTF-16 text; UTF-8 is expected. Convert it: "
            f"iconv -f utf-16 -t utf-8 '{path.name}' > 'utf8-{path.name}'"
        )
    if b"\0" in start:
        raise DataError(
            f"'{path.name}' is a binary file (it has NUL bytes), not text. Give a text file, or name it "
            f"by what it is: {' '.join(TABLES)}."
        )


def _not_utf8(path: Path) -> str:
    """The message for the first line that is not UTF-8; the decoder itself knows no line numbers."""
    number = 1
    with _open_bytes(path) as file:
        for line in file:
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                break
            number += 1
    return (
        f"Line {number} of '{path.name}' is not UTF-8 text. If the file is Latin-1 (or Windows-1252), "
        f"convert it: iconv -f latin1 -t utf-8 '{path.name}' > 'utf8-{path.name}'"
    )


def _stream_lines(stream: IO[Any]) -> Iterator[str]:
    lines: Iterable[Any] = getattr(stream, "buffer", stream)  # of sys.stdin, the bytes: strict UTF-8, no locale
    for number, line in enumerate(lines, 1):
        if isinstance(line, bytes):
            try:
                line = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise DataError(
                    f"Line {number} of the input is not UTF-8 text. Convert it: iconv -f latin1 -t utf-8"
                ) from None
        yield cast("str", line).rstrip("\n").removesuffix("\r")


# Tables -------------------------------------------------------------------------------------------------


def _csv(path: Path, delimiter: str | None) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_FIELD)
    if delimiter is None:
        delimiter = _sniff(path)
    with _text_lines(path, newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            _check_header(path, header)
            for values in reader:
                if values or len(header) == 1:  # in a table of one column a blank line is an empty text
                    yield _row(path, reader.line_num, header, values or [""])
        except csv.Error as error:
            raise DataError(
                f"Line {reader.line_num} of '{path.name}' cannot be read as {path.suffix.lstrip('.')}: "
                f"{error}. "
                'Put texts with quotes in quotes and double the inner ones: "so ""good"" it was".'
            ) from None


def _sniff(path: Path) -> str:
    """The delimiter that cuts the header into most columns and the first rows into as many."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        with _text_lines(path, newline="") as lines:
            try:
                first = [values for values in islice(csv.reader(lines, delimiter=delimiter), _GUESS_FROM) if values]
            except csv.Error:
                continue
        widths = {len(values) for values in first}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    if most == 1:  # rows of uneven width: go by the header alone, the uneven row is then named
        with _text_lines(path, newline="") as lines:
            header = lines.readline()
        best = max(_DELIMITERS, key=header.count)
    return best


def _plain_tsv(path: Path) -> Iterator[Row]:
    with _text_lines(path) as lines:
        first = lines.readline()
        ending = "\r\n" if first.endswith("\r\n") else "\n"
        header = first.removesuffix(ending).split("\t")
        _check_header(path, header if first else [])
        for number, line in enumerate(lines, 2):
            line = line.removesuffix(ending)
            if line or len(header) == 1:
                yield _row(path, number, header, line.split("\t"))


_FIELD = r'(?:"[^"]*(?:""[^"]*)*"|[^"\t]*)'
_QUOTED_RECORD = re.compile(rf"{_FIELD}(?:\t{_FIELD})*")


def tsv_is_quoted(path: str | Path) -> bool:
    r"""Whether double quotes in a TSV file are punctuation of the format, not of the texts.

    They are where every field that has a double quote anywhere is quoted from end to end, with inner quotes
    doubled, as spreadsheets and pandas write it. One field that is not, such as `he said "no"`, and the
    quotes of the whole file belong to the texts. The file is read up to the first such field.
    """
    quotes = False
    with _text_lines(existing(path)) as lines:
        record = ""
        for line in lines:
            record += line
            if record.count('"') % 2 and len(record) < 1 << 20:
                continue  # perhaps a quoted field with a line feed in it
            if '"' in record:
                quotes = True
                if not _QUOTED_RECORD.fullmatch(record.rstrip("\r\n")):
                    return False
            record = ""
    return quotes and not record


def _check_header(path: Path, header: Sequence[str]) -> None:
    if not header:
        raise DataError(f"'{path.name}' is empty. Its first line must name the columns, for example: text,label")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(f"'{path.name}' has two columns called '{twice[0]}'. Rename one in the first line.")


def _row(path: Path, number: int, header: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) > len(header):
        raise DataError(
            f"Line {number} of '{path.name}' has {len(values)} fields, but the first line names "
            f"{len(header)} ({', '.join(header)}). A text that contains the delimiter must be put in "
            "double quotes."
        )
    return {**dict.fromkeys(header), **dict(zip(header, values, strict=False))}


def _json_lines(path: Path) -> Iterator[Row]:
    with _text_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _object(path, f"Line {number}", _parse_json(path, line, number))


def _json(path: Path) -> Iterator[Row]:
    with _text_lines(path) as lines:
        rows = _parse_json(path, lines.read(), 1)
    if not isinstance(rows, list):
        raise DataError(f"'{path.name}' is not a list of objects: [{{\"text\": ...}}, ...]. One a line is `.jsonl`.")
    yield from (_object(path, f"Entry {number}", row) for number, row in enumerate(rows, 1))


def _parse_json(path: Path, text: str, number: int) -> Any:
    try:
        return json.loads(text.rstrip())  # an error at the very end is on the last line, not behind it
    except json.JSONDecodeError as error:
        raise DataError(
            f"Line {number + error.lineno - 1} of '{path.name}' is not JSON: {error.msg}. Correct or remove it."
        ) from None


def _object(path: Path, where: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise DataError(f'{where} of \'{path.name}\' is not an object such as {{"text": "...", "label": "..."}}.')
    return value


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"'{path.name}' cannot be read as parquet: {reason}. Copy or write it again.") from None
