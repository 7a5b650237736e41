"""Read tables in chunks with all their columns, so that results can be written beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from vmask.data.arrow import opened, read_batches
from vmask.data.columns import Row, format_columns, guess_columns
from vmask.data.config import ReadConfig
from vmask.data.patterns import all_files_of
from vmask.data.readers import HEADED, iter_texts, read_header, read_rows, table_kind
from vmask.data.streams import Content, Note, ignore, is_pipe, short_name
from vmask.data.writers import Columns, as_cell
from vmask.errors import DataError

TEXT = "text"
"""The only column of a file with a text per line."""
CHARACTERS = 1 << 22
"""Characters of texts after which a chunk ends."""
_GUESS_FROM = 20  # rows


@dataclass(frozen=True)
class TableChunk:
    """Some rows of a table.

    Attributes:
        texts: the text of each row; None if it is missing or blank.
        rows: the rows.
        arrow: the rows as a table of Arrow in their place, if types are kept.
    """

    texts: Sequence[str | None]
    rows: Sequence[Row] = ()
    arrow: Any = None

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Size:
    """The size of a table.

    Attributes:
        rows: number of rows.
        longest: characters of its longest value.
    """

    rows: int
    longest: int


class InputTable:
    """The rows of one or several files, which have the same columns.

    Args:
        sources: files, folders and patterns whose files are read in the order of their names; or a stream as `-`, as
            the only one.
        text: the column with the texts, if the user named it.
        trained_on: the column of the training.
        in_arrow: give the rows of Parquet files as tables of Arrow, which keep their types.
        reading: encoding and sheet.
        note: takes what the user should know about how a file was read.

    Attributes:
        columns: the columns with their types.
        text: the column with the texts.

    Raises:
        DataError: if the columns differ.
    """

    def __init__(
        self,
        sources: Sequence[str],
        text: str | None = None,
        trained_on: str | None = None,
        in_arrow: bool = False,
        reading: ReadConfig | None = None,
        note: Note = ignore,
    ) -> None:
        self._reading, self._note = reading, note
        self.streamed = [source for source in sources if source == "-" or is_pipe(Path(source))]
        if self.streamed and len(sources) > 1:
            raise DataError("Standard input is read alone. Leave the other files out, or leave - out.")
        self.files = [] if self.streamed else [file for source in sources for file in all_files_of(source)]
        self._parquet = bool(self.files) and all(table_kind(file) == ".parquet" for file in self.files)
        self._in_arrow = in_arrow and self._parquet
        self.columns = self._columns()
        self.text = TEXT if list(self.columns) in ([TEXT], []) else self._text_column(text or trained_on)

    def _columns(self) -> Columns:
        if not self.files:
            return {TEXT: str}
        found = [self._columns_of(file) for file in self.files]
        free = all(table_kind(file) in (".jsonl", ".ndjson", ".json") for file in self.files)
        columns = dict(found[0])
        for file, others in zip(self.files, found, strict=True):
            if set(others) != set(columns) and not free:
                raise DataError(
                    f"'{file}' has other columns ({format_columns(list(others))}) than '{self.files[0]}' "
                    f"({format_columns(list(found[0]))}). Give files with the same columns, or one at a time."
                )
            for name, kind in others.items():
                columns[name] = kind if columns.get(name, kind) == kind else object
        if self._in_arrow and object in columns.values():
            name = next(name for name, kind in columns.items() if kind is object)
            raise DataError(f"The files have different types in the column '{short_name(name)}'. Give one at a time.")
        return columns

    def _text_column(self, named: str | None) -> str:
        rows = [*islice(self._rows(self.files[0]), _GUESS_FROM), dict.fromkeys(self.columns)]
        return guess_columns(rows, named, None, want_label=False)[0]

    def size(self) -> Size:
        """The size of the files, which are read for it."""
        rows = longest = 0
        for row in chain.from_iterable(map(self._rows, self.files)):
            rows += 1
            longest = max(longest, *(len(str(as_cell(value))) for value in row.values()))
        return Size(rows, longest)

    def count(self) -> int | None:
        """Number of rows; None for a stream."""
        if self.streamed:
            return None
        if self._parquet:
            total = 0
            for file in self.files:
                with opened(Content.of_file(file)) as parquet:
                    total += parquet.metadata.num_rows
            return total
        return sum(1 for _ in chain.from_iterable(map(self._rows, self.files)))

    def chunks(self, size: int) -> Iterator[TableChunk]:
        """The rows in order, `size` at a time, fewer if they are long; the same ones every time."""
        if self._in_arrow:
            yield from self._arrow_chunks(size)
            return
        texts: list[str | None] = []
        rows: list[Row] = []
        characters = 0
        for row in self._all_rows():
            text = _text_of(row.get(self.text))
            texts.append(text)
            rows.append(row)
            characters += len(text or "")
            if len(rows) == size or characters >= CHARACTERS:
                yield TableChunk(texts, rows)
                texts, rows, characters = [], [], 0
        if rows:
            yield TableChunk(texts, rows)

    def _all_rows(self) -> Iterator[Row]:
        if self.streamed:
            return ({TEXT: text} for text in read_stream(self.streamed[0], self._reading, self._note))
        return chain.from_iterable(map(self._rows, self.files))

    def content(self, file: Path) -> Content:
        """The content of one of the files."""
        return Content.of_file(file, self._reading, self._note)

    def _rows(self, file: Path) -> Iterator[Row]:
        if table_kind(file) is None:
            return ({TEXT: text} for text in iter_texts(file, None, self._reading, self._note))
        return read_rows(self.content(file))

    def _columns_of(self, file: Path) -> dict[str, Any]:
        """The columns of a file with their types, as `Columns`; a file that does not declare them is read for them."""
        kind = table_kind(file)
        if kind is None:
            return {TEXT: str}
        if kind in HEADED:
            return dict.fromkeys(read_header(self.content(file)), str)
        if kind == ".parquet":
            with opened(self.content(file)) as parquet:
                return {field.name: field.type for field in parquet.schema_arrow}
        types: dict[str, Any] = {}
        for row in self._rows(file):
            for name, value in row.items():
                types[name] = _joint(types.get(name), None if value is None else _type_of(value))
        return {name: found or str for name, found in types.items()}

    def _arrow_chunks(self, size: int) -> Iterator[TableChunk]:
        import pyarrow as pa

        waiting: list[Any] = []
        texts: list[str | None] = []
        characters = 0
        names = list(self.columns)
        for file in self.files:
            for batch in read_batches(Content.of_file(file)):
                some = [_text_of(value, short_name(str(file))) for value in batch.column(self.text).to_pylist()]
                waiting.append(pa.Table.from_batches([batch]).select(names))
                texts += some
                characters += sum(map(len, filter(None, some)))
                if len(texts) >= size or characters >= CHARACTERS:
                    yield TableChunk(texts, arrow=pa.concat_tables(waiting))
                    waiting, texts, characters = [], [], 0
        if texts:
            yield TableChunk(texts, arrow=pa.concat_tables(waiting))


def read_stream(source: str, reading: ReadConfig | None = None, note: Note = ignore) -> Iterator[str]:
    """The texts of standard input (`-`), or of an open pipe that the shell passes."""
    import sys

    return iter_texts(sys.stdin.buffer if source == "-" else source, None, reading, note)


def _text_of(value: Any, file: str = "") -> str | None:
    """A text; None if it is missing or blank."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise DataError(f"'{file}' has texts that are bytes and not UTF-8. Write them as text.") from None
    text = "" if value is None else str(value)
    return text if text.strip() else None


def _type_of(value: Any) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return object
    return type(value) if type(value) in (str, int, float, bool) else object


def _joint(first: Any, second: Any) -> Any:
    """The type of values of two types, of which None says that there is no value."""
    if first is None or second is None or first is second:
        return first or second
    return float if {first, second} == {int, float} else object
