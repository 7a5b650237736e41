"""Columns of a table: how many there may be, how messages list them, and which hold the texts and the labels."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, cast

from vmask.data.streams import short
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
"""Columns of a table, at most."""

_SHOWN = 20  # columns that a message lists


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
        DataError: if a named column is missing or the choice is not obvious, listing the columns.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name, option in ((text, "text"), (label, "label")):
        if name is not None and name not in columns:
            raise DataError(
                f"There is no column '{short(name)}'.{did_you_mean(name, columns)} "
                f"The columns are: {listed(columns)}. {_name_it(option)}"
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
                f"It is not obvious which column holds the {option}s. The columns are: {listed(columns)}. "
                f"{_name_it(option)}"
            )
        if chosen is not None and any(isinstance(row.get(chosen), bytes) for row in rows):
            raise DataError(
                f"The column '{short(chosen)}' holds bytes that are not UTF-8 text. Write it as text, or name another "
                f"with --{option}."
            )
    return cast("str", text), label


def listed(columns: Sequence[str]) -> str:
    """Columns as a message lists them: the first of many."""
    more = f" and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else ""
    return ", ".join(map(short, columns[:_SHOWN])) + more


def _name_it(option: str) -> str:
    return f"Name one of them with --{option} (in Python, `load_table(path, {option}=…)`)."


def _usual(columns: Sequence[str], names: Sequence[str], taken: str | None) -> str | None:
    near = [name for name in columns if name.lower() in names and name != taken]
    best = [name for name in near if name.lower() == names[0]]
    return (best or near)[0] if len(best or near) == 1 else None


def _variety(rows: Sequence[Row], name: str) -> tuple[int, int]:
    """How many different values, and how long they are: texts have more of both than labels."""
    values = [str(row.get(name)) for row in rows]
    return len(set(values)), sum(map(len, values))


def check_width(said: str, where: str, columns: Sized) -> None:
    """Refuse a table of more columns than anybody means.

    Args:
        said: the file, as messages name it.
        where: the line.
        columns: its columns.
    """
    if len(columns) > MOST_COLUMNS:
        raise DataError(
            f"{where} of {said} has {len(columns):,} columns; the limit is {MOST_COLUMNS:,}. Leave out those that are "
            "neither texts nor labels."
        )
