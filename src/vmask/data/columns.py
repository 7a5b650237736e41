"""Columns of a table: which hold the texts and the labels, how many there may be, how messages list them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, cast

from vmask.data.streams import short_name
from vmask.errors import DataError, did_you_mean

Row = dict[str, Any]

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
MOST_COLUMNS = 10_000
"""Largest number of columns of a table."""

_MOST_LISTED = 20  # columns in a message


def guess_columns(
    rows: Sequence[Row], text: str | None = None, label: str | None = None, want_label: bool = True
) -> tuple[str, str | None]:
    """Guess which columns hold the texts and the labels.

    A column called `text` or `label` is preferred, then the only one with another usual name. Of two columns without
    usual names, the one with more distinct (if equal, longer) values is the text.

    Args:
        rows: the first rows of the table.
        text: the text column if the user named it.
        label: the label column if the user named it.
        want_label: whether a label column is required.

    Raises:
        DataError: if a named column is missing or the choice is not obvious; the message lists the columns.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name, option in ((text, "text"), (label, "label")):
        if name is not None and name not in columns:
            raise DataError(
                f"There is no column '{short_name(name)}'.{did_you_mean(name, columns)} "
                f"The columns are: {format_columns(columns)}. {_name_it(option)}"
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
                f"It is not obvious which column holds the {option}s. The columns are: {format_columns(columns)}. "
                f"{_name_it(option)}"
            )
        if chosen is not None and any(isinstance(row.get(chosen), bytes) for row in rows):
            raise DataError(
                f"The column '{short_name(chosen)}' holds bytes that are not UTF-8 text. "
                f"Write it as text, or name another with --{option}."
            )
    return cast("str", text), label


def format_columns(columns: Sequence[str]) -> str:
    """The names of columns for a message, the first ones if there are many."""
    more = f" and {len(columns) - _MOST_LISTED:,} more" if len(columns) > _MOST_LISTED else ""
    return ", ".join(map(short_name, columns[:_MOST_LISTED])) + more


def _name_it(option: str) -> str:
    return f"Name one of them with --{option} (in Python, `{option}=…`)."


def _usual(columns: Sequence[str], names: Sequence[str], taken: str | None) -> str | None:
    """The column with the first of the usual names, else the only one with any of them."""
    usual = [name for name in columns if name.lower() in names and name != taken]
    candidates = [name for name in usual if name.lower() == names[0]] or usual
    return candidates[0] if len(candidates) == 1 else None


def _variety(rows: Sequence[Row], name: str) -> tuple[int, int]:
    """Number of distinct values and their total length: texts have more of both than labels."""
    values = [str(row.get(name)) for row in rows]
    return len(set(values)), sum(map(len, values))


def check_width(file: str, where: str, columns: Sized) -> None:
    """Refuse a table with too many columns.

    Args:
        file: name of the file in messages.
        where: the line.
        columns: the columns of the line.
    """
    if len(columns) > MOST_COLUMNS:
        raise DataError(
            f"{where} of {file} has {len(columns):,} columns; the limit is {MOST_COLUMNS:,}. Leave out those that are "
            "neither texts nor labels."
        )
