"""Rows of Parquet files, batch by batch. A column of bytes that are text is read as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vmask.data.columns import Row, check_width
from vmask.data.streams import Content, short
from vmask.errors import DataError

_BATCH = 1024


def read_parquet(content: Content) -> Iterator[Row]:
    """The rows of a Parquet file.

    Columns of bytes are text where those of the first batch are UTF-8; others stay bytes, which nobody can train on.

    Raises:
        DataError: if it is no such file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with content.open() as stream, pq.ParquetFile(stream) as file:
            check_width(content.said, "The schema", file.schema_arrow.names)
            kinds = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
            coded = [field.name for field in file.schema_arrow if any(kind(field.type) for kind in kinds)]
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH):
                rows = batch.to_pylist()
                if number == 0:
                    coded = [name for name in coded if all(_is_text(row[name]) for row in rows)]
                for row in rows:
                    number += 1
                    for name in coded:
                        row[name] = _decoded(content, number, name, row[name])
                    yield row
    except DataError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        OverflowError,
    ) as error:  # the last two: a value that Python has not
        reason = str(error).partition("\n")[0]
        raise DataError(f"{content.said} cannot be read as parquet: {reason}. Copy or write it again.") from None


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False


def _decoded(content: Content, number: int, name: str, value: Any) -> Any:
    if not _is_text(value):
        raise DataError(
            f"Row {number:,} of {content.said} has bytes in the column '{short(name)}' that are not UTF-8 text, though "
            "those before it are. Write the column as text, or leave it out."
        )
    return None if value is None else value.decode()
