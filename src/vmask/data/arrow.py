"""Read the rows of Parquet and Arrow files in batches. Columns of bytes that hold text are decoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vmask.data.columns import Row, check_width
from vmask.data.streams import Content, short_name
from vmask.errors import DataError

_BATCH = 1024
_FILE, _FEATHER_1 = b"ARROW1", b"FEA1"


def read_parquet(content: Content) -> Iterator[Row]:
    """The rows of a Parquet file.

    Columns of bytes are decoded if their first batch is UTF-8; others stay bytes, which cannot be trained on.

    Raises:
        DataError: if it is not a Parquet file.
    """
    with opened(content) as file:
        yield from _rows(content, file.schema_arrow, file.iter_batches(batch_size=_BATCH))


def read_batches(content: Content) -> Iterator[Any]:
    """The rows of a Parquet file as record batches of Arrow, with the types of the file.

    Raises:
        DataError: if it is not a Parquet file.
    """
    with opened(content) as file:
        yield from file.iter_batches(batch_size=_BATCH)


@contextmanager
def opened(content: Content) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`; errors while it is read name the file and the fix.

    Raises:
        DataError: if it is not a Parquet file.
    """
    import pyarrow.parquet as pq

    with _readable(content, "parquet"), content.open() as stream, pq.ParquetFile(stream) as file:
        check_width(content.quoted_name, "The schema", file.schema_arrow.names)
        yield file


def read_arrow(content: Content) -> Iterator[Row]:
    """The rows of an Arrow file: the file format (also called Feather), or the stream format; bytes as in Parquet.

    Raises:
        DataError: if it is neither.
    """
    import pyarrow.ipc as ipc

    with _readable(content, "arrow"), content.open() as stream:
        start = stream.read(len(_FILE))
        stream.seek(0)
        if start.startswith(_FEATHER_1):
            raise DataError(f"{content.quoted_name} is a Feather file of version 1. Write it again as version 2.")
        if start == _FILE:
            with ipc.open_file(stream) as file:
                batches = (file.get_batch(number) for number in range(file.num_record_batches))
                yield from _rows(content, file.schema, batches)
        else:
            with ipc.open_stream(stream) as parts:
                yield from _rows(content, parts.schema, parts)


@contextmanager
def _readable(content: Content, kind: str) -> Iterator[None]:
    """Errors of Arrow as errors that say what to do."""
    import pyarrow as pa

    try:
        yield
    except DataError:
        raise
    # The last two: a value that Python cannot represent.
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{content.quoted_name} cannot be read as {kind}: {reason}. Copy or write it again.") from None


def _rows(content: Content, schema: Any, batches: Any) -> Iterator[Row]:
    import pyarrow as pa

    check_width(content.quoted_name, "The schema", schema.names)
    kinds = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
    coded = [field.name for field in schema if any(kind(field.type) for kind in kinds)]
    number = 0
    for batch in batches:
        batch.validate(full=True)  # wrong offsets in a file would be read without a look at where they point
        for start in range(0, batch.num_rows, _BATCH):
            rows = batch.slice(start, _BATCH).to_pylist()
            if number == 0:
                coded = [name for name in coded if all(_is_text(row[name]) for row in rows)]
            for row in rows:
                number += 1
                for name in coded:
                    row[name] = _decoded(content, number, name, row[name])
                yield row


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False


def _decoded(content: Content, number: int, name: str, value: Any) -> Any:
    if not _is_text(value):
        raise DataError(
            f"Row {number:,} of {content.quoted_name} has bytes in the column '{short_name(name)}' that are "
            "not UTF-8 text, though those before it are. Write the column as text, or leave it out."
        )
    return None if value is None else value.decode()
