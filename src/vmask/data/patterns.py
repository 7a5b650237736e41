"""Several files by a pattern, such as `'reviews-*.csv'`: one table, in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import escape, glob, has_magic
from itertools import chain, islice
from pathlib import Path

from vmask.data.columns import Row, format_columns, guess_columns
from vmask.data.config import ReadConfig
from vmask.data.readers import read_rows, text_files
from vmask.data.streams import Note, existing, ignore, short_name
from vmask.errors import DataError, FileMissing

_LOOK_AT = 20  # rows


def is_pattern(source: str | Path) -> bool:
    """Whether this is a pattern: there is no such file, and the last part of the path has `*`, `?` or `[`."""
    path = Path(source)
    if not has_magic(path.name) or "\0" in str(path):
        return False
    try:
        return not path.exists()
    except OSError:  # a name that is too long
        return False


def files_of(source: str | Path) -> list[Path]:
    """The file of that name, or those that match a pattern, in the order of their names.

    Raises:
        FileMissing: if there is none, or it is a folder.
    """
    if not is_pattern(source):
        return [existing(source)]
    path = Path(source)
    found = sorted(map(Path, glob(str(Path(escape(str(path.parent))) / path.name))))  # noqa: PTH207 - no hidden files
    files = [file for file in found if file.is_file()]
    if not files:
        raise FileMissing(f"No file fits '{source}'. Check the pattern and the folder.")
    return files


def all_files_of(source: str | Path) -> list[Path]:
    """As `files_of`, or all files with texts of a folder.

    Raises:
        FileMissing: if there is none.
        DataError: for a folder without texts.
    """
    return text_files(source) if Path(source).is_dir() else files_of(source)


def read_files(
    files: Sequence[Path],
    text: str | None,
    label: str | None,
    want_label: bool,
    reading: ReadConfig | None = None,
    note: Note = ignore,
) -> tuple[Iterator[Row], str | None, str | None]:
    """The rows of several tables one after another, and the columns of the texts and labels, which all of them have.

    Args:
        files: the tables.
        text: the column of the texts; guessed from the first file by default.
        label: the column of the labels; guessed by default.
        want_label: whether labels are required.
        reading: encoding and sheet.
        note: takes what the user should know about how a file was read.

    Raises:
        DataError: if a file lacks one of the two columns.
    """
    rows = chain.from_iterable(read_rows(file, reading=reading, note=note) for file in files)
    if len(files) == 1:
        return rows, text, label
    first = ""
    for file in files:
        head = list(islice(read_rows(file, reading=reading), _LOOK_AT))
        if not head:
            continue
        if not first:
            first = file.name
            text, label = guess_columns(head, text, label, want_label)
        columns = list(dict.fromkeys(name for row in head for name in row))
        for name in (text, label):
            if name is not None and name not in columns:
                raise DataError(
                    f"'{short_name(file.name)}' has no column '{short_name(name)}', which is read of "
                    f"'{short_name(first)}'. Its columns are: {format_columns(columns)}. Rename one, or name other "
                    "files."
                )
    return rows, text, label
