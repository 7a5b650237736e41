"""Several labels a text in a table: cells with a separator, lists, or a column of 0 and 1 for each label."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.data.columns import LABEL_NAMES, Row, format_columns
from vmask.data.label_sets import LabelSet, as_label
from vmask.errors import DataError, did_you_mean, short

NONE, LISTS, COLUMNS = "none", "lists", "columns"
"""In place of a separator: each cell is one label; cells are lists; each label has a column of 0 and 1."""
SEPARATORS = (";", "|", ",")
"""What may stand between labels without being named, in the order in which they are looked for."""
BETWEEN = ";"
"""What is written between several predicted labels."""
EMPTY = ""
"""An empty cell, as of a text without labels; a missing one is None."""

_OBVIOUS, _LIKELY = 0.9, 0.5  # share of the parts of combined cells that occur in other cells too
_LONGEST = 60  # characters of a part that looks like a label
_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_BITS = {"0": False, "1": True, "false": False, "true": True}


@dataclass(frozen=True)
class Guess:
    """What the cells of a label column look like.

    Attributes:
        separator: what stands between labels; `lists` for lists that are written out.
        obvious: whether that is beyond doubt.
        example: such a cell.
    """

    separator: str
    obvious: bool
    example: str


def guess_separator(cells: Collection[str]) -> Guess | None:
    """What stands between the labels of a cell, from the distinct cells; None if each looks like one label.

    Cells look combined if their parts occur in other cells too, alone or in other company.

    >>> guess_separator({"billing", "refund", "billing;refund"})
    Guess(separator=';', obvious=True, example='billing;refund')
    >>> guess_separator({"World", "Science, technology", "Sports"})
    """
    filled = sorted(cell for cell in cells if cell)
    if filled and all(_written_list(cell) is not None for cell in filled):
        return Guess(LISTS, True, max(filled, key=len))
    for separator in SEPARATORS:
        parts = {cell: split_cell(cell, separator) for cell in filled}
        combined = [cell for cell in filled if len(parts[cell]) > 1]
        if not combined or any(len(part) > _LONGEST for cell in combined for part in parts[cell]):
            continue
        cells_of: dict[str, int] = {}
        for cell in filled:
            for part in parts[cell]:
                cells_of[part] = cells_of.get(part, 0) + 1
        of_combined = {part for cell in combined for part in parts[cell]}
        share = sum(cells_of[part] > 1 for part in of_combined) / len(of_combined)
        decimals = separator == "," and all(_DECIMAL.fullmatch(cell) for cell in combined)
        if share >= _LIKELY:
            return Guess(separator, share >= _OBVIOUS and not decimals, combined[0])
    return None


def split_cell(cell: str, separator: str) -> LabelSet:
    """The labels of a cell, each once, sorted; empty parts are no labels.

    >>> split_cell("refund; billing;", ";"), split_cell("", ";"), split_cell("['a', 'b c']", "lists")
    (('billing', 'refund'), (), ('a', 'b c'))
    """
    if separator != LISTS:
        return label_set(cell.split(separator))
    written = _written_list(cell)
    return label_set([cell] if written is None else written)


def label_set(parts: Sequence[Any]) -> LabelSet:
    """Labels as strings, each once, sorted."""
    return tuple(sorted({label for part in parts if (label := as_label(part)) is not None}))


def _written_list(cell: str) -> list[Any] | None:
    """The entries of a list that is written out as JSON or Python writes it; None for other text."""
    if not (cell.startswith("[") and cell.endswith("]")) or len(cell) > 10_000:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list) and not any(isinstance(one, (list, dict, tuple, set)) for one in value):
            return value
    return None


def recorded_separator(about: Mapping[str, Any]) -> str | None:
    """What stands between labels in the data that a model was trained on, as its folder says; None if it does not."""
    recorded = about.get("label_separator", NONE if about.get("label") else None)
    return None if recorded is None else str(recorded)


def named_columns(label: str | None, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of an option such as `toxic,insult`; none if it names one column.

    Raises:
        DataError: if one of several is missing.
    """
    if label is None or label in columns or "," not in label:
        return ()
    names = tuple(dict.fromkeys(part.strip() for part in label.split(",") if part.strip()))
    for name in names:
        if name not in columns:
            raise DataError(
                f"There is no column {short(name)}, of those named by --label.{did_you_mean(name, columns)} "
                f"The columns are: {format_columns(columns)}."
            )
    return names if len(names) > 1 else ()


def guess_bit_columns(rows: Sequence[Row], text: str | None) -> tuple[str, ...]:
    """The columns that hold 0 or 1 in all of the first rows, if there are several and no column of labels."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if any(name.lower() in LABEL_NAMES for name in columns if name != text):
        return ()
    bits = bit_columns(rows, text)
    return bits if 1 < len(bits) < len(columns) else ()


def bit_columns(rows: Sequence[Row], text: str | None) -> tuple[str, ...]:
    """The columns, besides that of the texts, that hold 0 or 1 in all of the first rows."""
    columns = dict.fromkeys(name for row in rows for name in row if name != text)
    return tuple(name for name in columns if all((as_label(row.get(name)) or "").lower() in _BITS for row in rows))


def read_bits(row: Row, columns: Sequence[str], at: str) -> LabelSet | None:
    """The labels whose columns have a 1; None if one of the columns is empty.

    Args:
        row: the row.
        columns: one for each label, named like it.
        at: the row in messages.

    Raises:
        DataError: for a value that is neither 0 nor 1.
    """
    found = []
    for name in columns:
        value = as_label(row.get(name))
        if value is None:
            return None
        if value.lower() not in _BITS:
            raise DataError(
                f"{at} has {short(value)} in the column '{name}'. With several columns of labels each cell is 0 or 1: "
                "whether the text has that label. Name the columns of labels with --label a,b,c, or one with --label."
            )
        if _BITS[value.lower()]:
            found.append(name)
    return tuple(sorted(found))


def several_notes(separator: str, column: str, labels: Sequence[Any], guessed: str) -> Iterator[str]:
    """What to tell about texts with several labels.

    Args:
        separator: what stands between labels, or what stands in its place.
        column: the column, or the columns.
        labels: the set of labels of each text.
        guessed: the cell, or other evidence, from which it was guessed; empty if the user said so.
    """
    if separator == COLUMNS:
        yield f"Texts may have several labels: those of the columns {column} that hold a 1."
    elif separator == LISTS:
        yield f"Texts may have several labels: the lists in '{column}'."
    else:
        example = f", as in {short(guessed, 40)}" if guessed else ""
        yield f"Texts may have several labels: cells of '{column}' are split at '{separator}'{example}."
    if guessed and separator == COLUMNS:
        yield "That was guessed from their values. To learn one of them, name it: --label COLUMN."
    elif guessed:
        yield "To take each cell as one label instead: --label-separator none."
    if without := sum(not one for one in labels):
        yield f"{without:,} of {len(labels):,} texts have no label."
