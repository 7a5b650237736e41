"""Tables and columns of other libraries as texts and labels: pandas, polars, pyarrow, `datasets`, mappings of columns.

None of these libraries is imported for it: a table is what has columns, a column what can be listed. A missing value
(None, NaN, NA) of a column becomes None; in a list it stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.data.columns import Row, guess_columns
from vmask.errors import DataError

_LOOK_AT = 20  # rows
_LISTED_BY = ("to_pylist", "to_list", "tolist")
_NOT_A_VALUE = ("NAType", "NaTType")
"""Types of pandas' missing values, which are equal to nothing and have no truth value."""


def is_table(data: Any) -> bool:
    """Whether this is a table: an object with columns, or a mapping of columns."""
    if isinstance(data, Mapping) or hasattr(data, "__dataframe__"):
        return True
    if any(hasattr(data, name) for name in _LISTED_BY) and not hasattr(data, "column_names"):
        return False  # a column
    return any(hasattr(data, name) for name in ("column_names", "columns", "__arrow_c_stream__"))


def is_column(data: Any) -> bool:
    """Whether this is a column or an array, not a list."""
    return not is_table(data) and any(hasattr(data, name) for name in _LISTED_BY)


def as_texts(data: Any, known: Any = None) -> Any:
    """The texts of a table or column as a list, a missing one as an empty string; other data as it is.

    Args:
        data: a table, a column, or an iterable of texts.
        known: the column of a table with the texts that a model was trained on.

    Raises:
        DataError: for a table whose column of texts is not obvious.
    """
    if is_table(data):
        table = _Table(data)
        name = known if known in table.names else None
        return _no_gaps(table.column(table.guess(name, None, want_label=False)[0]))
    return _no_gaps(listed(data)) if is_column(data) else data


@dataclass(frozen=True)
class LabelledColumns:
    """The rows of a table that have a text and, where there are labels, a label.

    Attributes:
        texts: the texts.
        labels: their labels; None if the table has none.
        text: the column of the texts.
        label: the column of the labels.
        notes: what was left out.
    """

    texts: list[Any]
    labels: list[Any] | None
    text: str
    label: str | None
    notes: tuple[str, ...]

    @property
    def about(self) -> dict[str, str]:
        """The columns as a model remembers them."""
        return {"text": self.text, **({} if self.label is None else {"label": self.label})}


def labelled_columns(
    data: Any, text: str | None = None, label: str | None = None, want_label: bool = True, keep_rows: bool = False
) -> LabelledColumns:
    """Texts and labels of a table; rows without one of them are left out, and counted in the notes.

    Args:
        data: the table.
        text: the column with the texts; guessed by default, as in files.
        label: the column with the labels; guessed by default.
        want_label: whether labels are required; if not, they are taken where they are obvious.
        keep_rows: keep rows without a text, which is then empty, and leave labels out: these are given separately.

    Raises:
        DataError: if a column is missing or not obvious.
    """
    table = _Table(data)
    text, label = table.guess(text, label, want_label)
    texts = table.column(text)
    if keep_rows:
        return LabelledColumns(_no_gaps(texts), None, text, None, ())
    labels = None if label is None else table.column(label)
    rows = [
        row
        for row, value in enumerate(texts)
        if value is not None and not (isinstance(value, str) and not value.strip())
    ]
    notes = _left_out(len(texts) - len(rows), "text")
    if labels is not None:
        with_text, rows = rows, [row for row in rows if labels[row] is not None]
        notes += _left_out(len(with_text) - len(rows), "label")
        labels = [labels[row] for row in rows]
    return LabelledColumns([texts[row] for row in rows], labels, text, label, notes)


def known_columns(data: Any, about: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The columns that a model was trained on, where a table has them."""
    names = _Table(data).names
    text, label = (about.get(name) if about.get(name) in names else None for name in ("text", "label"))
    return text, label


def listed(column: Any) -> list[Any]:
    """The values of a column or array; missing ones are None."""
    by = next((name for name in _LISTED_BY if hasattr(column, name)), None)
    values = list(column) if by is None else getattr(column, by)()
    if not isinstance(values, list):
        raise DataError("A single value was given where a list of texts is expected. Put it in a list: [text].")
    return [None if _is_missing(value) else value for value in values]


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in _NOT_A_VALUE


def _no_gaps(values: Iterable[Any]) -> list[Any]:
    return ["" if value is None else value for value in values]


def _left_out(count: int, what: str) -> tuple[str, ...]:
    rows = "1 row" if count == 1 else f"{count:,} rows"
    return (f"Left out {rows} without a {what}.",) if count else ()


class _Table:
    """The columns of a table by name."""

    def __init__(self, data: Any) -> None:
        self._data: Any = data
        if isinstance(data, Mapping):
            names = list(data)
            if any(is_table(value) for value in data.values()):
                raise DataError(
                    f"This has several tables: {', '.join(map(str, names))}. Give one of them: data[{names[0]!r}]."
                )
        else:
            names = _names(data)
            if len(set(names)) == len(names) and not _lists_columns(data):
                self._data = _by_arrow(data)
                names = _names(self._data)
        self._keys = {str(name): name for name in names}
        if len(self._keys) < len(names):
            raise DataError("Two columns of the table have the same name. Rename one.")
        if not names:
            raise DataError("The table has no columns. Give one with a column of texts.")

    @property
    def names(self) -> Sequence[str]:
        return list(self._keys)

    def column(self, name: str) -> list[Any]:
        """The values of a column; the codes of labels of `datasets` as their names."""
        values = listed(self._data[self._keys[name]])
        codes = getattr(_features(self._data).get(name), "names", None)
        if codes is None:
            return values
        return [codes[value] if isinstance(value, int) and value >= 0 else None for value in values]

    def guess(self, text: str | None, label: str | None, want_label: bool) -> tuple[str, str | None]:
        """The columns of the texts and labels, as of the first rows of a file."""
        head = self._data[:_LOOK_AT] if not isinstance(self._data, Mapping) else self._data
        values = {name: listed(head[key])[:_LOOK_AT] for name, key in self._keys.items()}
        length = max(map(len, values.values()))
        rows: list[Row] = [
            {name: column[row] for name, column in values.items() if row < len(column)} for row in range(length)
        ]
        return guess_columns(rows or [dict.fromkeys(values)], text, label, want_label)


def _features(data: Any) -> Mapping[str, Any]:
    features = getattr(data, "features", None)
    return features if isinstance(features, Mapping) else {}


def _names(data: Any) -> list[Any]:
    """The names of the columns, where a table says them."""
    names = getattr(data, "column_names", None) if hasattr(data, "column_names") else getattr(data, "columns", None)
    return [] if names is None or callable(names) else list(names)


def _lists_columns(data: Any) -> bool:
    """Whether columns are had by their names, and can be listed."""
    names = _names(data)
    try:
        column = data[names[0]]
    except Exception:  # of any kind: the libraries differ
        return False
    return isinstance(column, Sequence) or any(hasattr(column, name) for name in _LISTED_BY)


def _by_arrow(data: Any) -> Any:
    """A table of any other library, by one of the protocols that they share."""
    import pyarrow as pa
    from pyarrow.interchange import from_dataframe

    try:
        return pa.table(data) if hasattr(data, "__arrow_c_stream__") else from_dataframe(data)
    except Exception as error:  # of any kind: the libraries differ
        raise DataError(f"The table cannot be read ({error}). Pass one column of it: table['text'].") from None
