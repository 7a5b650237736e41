"""Turn rows of a table into texts with labels: choose the columns, leave out bad rows, name the labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from vmask._core.parsing import has_lone_surrogate
from vmask._core.wording import plural
from vmask.data.card import Card
from vmask.data.columns import format_columns
from vmask.data.label_columns import (
    COLUMNS,
    EMPTY,
    LISTS,
    NONE,
    bit_columns,
    guess_bit_columns,
    guess_separator,
    label_set,
    named_columns,
    read_bits,
    several_notes,
    split_cell,
)
from vmask.data.label_sets import LabelSet, are_sets
from vmask.data.label_sets import as_label as as_label
from vmask.data.rationales import COLUMN, Spans, are_tokens, as_spans, join_tokens
from vmask.data.readers import Row, guess_columns
from vmask.data.splits import Split
from vmask.data.targets import check_classes
from vmask.errors import DataError, did_you_mean, short

_LOOK_AT = 20  # rows, to choose the columns


@dataclass(frozen=True)
class Source:
    """The rows of a dataset before they are read."""

    name: str
    splits: dict[str, Iterator[Row]]
    card: Card | None = None
    names: tuple[str, ...] = ()
    """Names of the labels in the order of their codes, if known."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Other names of labels to ours."""
    text: str | None = None
    label: str | None = None
    header_row: bool = False
    """Whether the column names are the first row of a file, so that a missing header can be noticed."""


@dataclass(frozen=True)
class LabelledSplits:
    """The texts and labels of a dataset, in the splits of the source."""

    splits: dict[str, Split]
    labels: tuple[str, ...]
    text: str
    label: str
    """The column with the labels, or several with commas between; empty if there is none."""
    notes: tuple[str, ...]
    label_separator: str = NONE
    """How several labels of a text are written, see `vmask.data.label_columns`; `none` for one label a text."""


def read_source(
    source: Source,
    text: str | None,
    label: str | None,
    require_labels: bool,
    to_learn: bool = True,
    columns: Sequence[str] = (),
    quantities: bool = False,
    separator: str | None = None,
) -> LabelledSplits:
    """Read all rows.

    Args:
        source: the rows.
        text: the column with the texts; guessed if None.
        label: the column with the labels, or several with commas between; guessed if None.
        require_labels: False to accept rows without labels.
        to_learn: False if a model is only scored on the rows, so that a single label is enough.
        columns: further columns to keep.
        quantities: True to accept any number of labels, such as numbers of which classes are made.
        separator: what stands between the labels of a text, `none` for one label a text; guessed if None.

    Raises:
        DataError: if no text is left, or the labels cannot be learnt from.
    """
    parts: dict[str, _SplitRows] = {}
    asked = label
    bits: tuple[str, ...] = ()
    for name, rows in source.splits.items():
        first = list(islice(rows, _LOOK_AT))
        if not first:
            raise DataError(f"{source.name} has no rows in {name}. Add some, or remove that file.")
        if text in (None, "text") and are_tokens(first):
            rows = join_tokens(chain(first, rows), f"{source.name} ({name})")
            first = list(islice(rows, _LOOK_AT))
        text, label, bits = _choose_columns(first, text, label, require_labels, separator)
        for column in (text, label):
            _check_characters(column, f"{source.name} ({name}): the name of a column")
        if name in ("train", "all"):
            _check_columns(columns, first)
        parts[name] = _read_split(chain(first, rows), name, text, label, source, bits, columns)
    hint: str | None = label if bits and asked is None else ""
    doubts: list[str] = []
    if bits:
        separator = COLUMNS
    else:
        separator, hint, doubts = _decide(parts, str(label), source, separator)
    with_labels = require_labels or not any(None in part.labels for part in parts.values())
    use_ids = _unique_ids(list(parts.values()))
    splits = {name: part.split(use_ids, with_labels) for name, part in parts.items()}
    notes = [note for name, part in parts.items() for note in part.notes(name, require_labels)]
    if separator != NONE and with_labels:
        told = [one for split in splits.values() for one in split.labels]
        notes[:0] = several_notes(separator, str(label), told, hint or "")
    notes += doubts
    _check_texts(splits, source.name, text, label if require_labels else None)
    if not with_labels:
        return LabelledSplits(splits, (), text or "", label or "", tuple(notes))
    labels = source.names or sort_labels({name for split in splits.values() for name in flat_labels(split.labels)})
    if require_labels:
        main = splits.get("train") or splits["all"]
        _check_header(main.labels, str(label), source)
        if to_learn:
            _check_labels(main.labels, str(label), source, quantities)
        seen = set(flat_labels(main.labels))
        if unseen := [repr(name) for name in labels if name not in seen]:
            notes.append(f"No row of train has the label {', '.join(unseen)}.")
    return LabelledSplits(splits, labels, text or "", label or "", tuple(notes), separator)


def _choose_columns(
    first: Sequence[Row], text: str | None, label: str | None, require_labels: bool, separator: str | None
) -> tuple[str, str | None, tuple[str, ...]]:
    """The column of the texts, that of the labels, and the columns of 0 and 1 if the labels have one each."""
    bits = named_columns(label, list(dict.fromkeys(column for row in first for column in row)))
    if label is None and separator is None and require_labels:
        bits = guess_bit_columns(first, text)
    if not bits:
        return (*guess_columns(first, text, label, require_labels), ())
    taken = {*bits, *bit_columns(first, text), "id"}
    others = [{column: row[column] for column in row if column not in taken or column == text} for row in first]
    return guess_columns(others, text, None, want_label=False)[0], ",".join(bits), bits


def _check_texts(splits: Mapping[str, Split], name: str, text: str | None, label: str | None) -> None:
    for part, split in splits.items():
        if not split.texts:
            raise DataError(
                f"No row of {name} ({part}) has a text in '{text}'"
                + (f" and a label in '{label}'" if label is not None else "")
                + ". Name the right columns with --text and --label."
            )


def _decide(
    parts: Mapping[str, _SplitRows], column: str, source: Source, separator: str | None
) -> tuple[str, str, list[str]]:
    """Decide whether the cells of a column hold several labels, and read them so.

    Returns:
        What stands between labels, the cell from which that was guessed, and notes on what is in doubt.
    """
    cells = {cell for part in parts.values() for cell in part.labels if isinstance(cell, str)}
    lists = any(isinstance(cell, tuple) for part in parts.values() for cell in part.labels)
    guess = None
    if lists:
        if separator == NONE:
            raise DataError(f"The column '{column}' of {source.name} holds lists, which are several labels. Join them.")
        separator = LISTS
    elif separator is None and not source.names:
        guess = guess_separator(cells)
    doubts = []
    if guess is not None and guess.obvious:
        separator = guess.separator
    elif guess is not None:
        doubts.append(
            f"Some cells of '{column}' look like several labels, such as {short(guess.example, 40)}. Each is taken "
            f"as one label; to split them: --label-separator '{guess.separator}'."
        )
    for part in parts.values():
        part.labels = [_read_cell(cell, separator or NONE, source) for cell in part.labels]
    return separator or NONE, guess.example if guess is not None and guess.obvious else "", doubts


def _read_cell(cell: str | LabelSet | None, separator: str, source: Source) -> str | LabelSet | None:
    """The label of a cell, or its labels; None if it is missing, and for one label also if it is empty."""
    if separator == NONE or cell is None:
        if isinstance(cell, str) and cell and source.names:
            return _named(source.renamed.get(cell, cell), source.names, source.name)
        return cell or None
    found = cell if isinstance(cell, tuple) else split_cell(cell, separator)
    if source.names:
        found = tuple(sorted({_named(source.renamed.get(one, one), source.names, source.name) for one in found}))
    return found


@dataclass
class _SplitRows:
    """The rows of one split that have a text. A missing label is None."""

    prefix: str
    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[str | LabelSet | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    rationales: list[Spans | None] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    without_text: int = 0

    def split(self, use_ids: bool, with_labels: bool) -> Split:
        rows = [i for i, label in enumerate(self.labels) if label is not None or not with_labels]
        ids = [str(self.ids[i]) if use_ids else f"{self.prefix}-{self.numbers[i]}" for i in rows]
        labels = [self.labels[i] for i in rows] if with_labels else []
        known = any(self.rationales[i] is not None for i in rows)
        rationales = [self.rationales[i] or () for i in rows] if known else None
        columns = {name: [values[i] for i in rows] for name, values in self.columns.items()}
        return Split([self.texts[i] for i in rows], labels, ids, rationales=rationales, columns=columns)

    def notes(self, name: str, require_labels: bool) -> Iterator[str]:
        where = "" if name == "all" else f" of {name}"
        without_label = self.labels.count(None) if require_labels else 0
        for count, what in ((self.without_text, "text"), (without_label, "label")):
            if count:
                yield f"Left out {plural(count, 'row')}{where} without a {what}."


def _check_columns(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Refuse names of columns that the rows do not have."""
    known = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        if name not in known:
            raise DataError(
                f"There is no column {short(name)}.{did_you_mean(name, known)} "
                f"The columns are: {format_columns(known)}."
            )


def _read_split(
    rows: Iterable[Row],
    split: str,
    text: str,
    label: str | None,
    source: Source,
    bits: Sequence[str],
    columns: Sequence[str] = (),
) -> _SplitRows:
    part = _SplitRows("row" if split == "all" else split, columns={name: [] for name in columns})
    for number, row in enumerate(rows):
        content = _as_text(row.get(text), text)
        if not content.strip():
            part.without_text += 1
            continue
        at = f"Row {number + 1} of {source.name} ({split})"
        value = read_bits(row, bits, at) if bits else _cell(row.get(label)) if label is not None else None
        for one in value if isinstance(value, tuple) else (value,):
            _check_characters(one, f"{at}: the label")
        part.numbers.append(number)
        part.texts.append(content)
        part.labels.append(value)
        part.ids.append(as_label(row.get("id")))
        _check_characters(part.ids[-1], f"{at}: the id")
        marked = None if COLUMN in (text, label) else row.get(COLUMN)
        part.rationales.append(as_spans(marked, content, at))
        for name, values in part.columns.items():
            values.append(row.get(name))
    return part


def _cell(value: Any) -> str | LabelSet | None:
    """A label as a string; a list of labels as a tuple; an empty cell as an empty string, a missing one as None."""
    if isinstance(value, (list, tuple)):
        return label_set(value)
    return EMPTY if isinstance(value, str) and not value.strip() else as_label(value)


def flat_labels(labels: Iterable[Any]) -> Iterator[str]:
    """The labels of texts one by one, where a text may have several."""
    for label in labels:
        yield from label if isinstance(label, tuple) else (label,)


def _check_characters(name: str | None, what: str) -> None:
    """Refuse a lone surrogate in names, which are written to files; in texts it is replaced."""
    if name is not None and has_lone_surrogate(name):
        raise DataError(f"{what} is {short(name)}, with half a character (a lone surrogate) in it. Correct it.")


def _unique_ids(parts: Sequence[_SplitRows]) -> bool:
    ids = [id for part in parts for id in part.ids]
    return None not in ids and len(set(ids)) == len(ids)


def _as_text(value: Any, column: str) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, dict)):
        raise DataError(
            f"The column '{column}' holds lists or objects, not texts. Name another with --text, or join them first."
        )
    return str(value)


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Sort labels: as numbers if all of them are numbers, else alphabetically.

    >>> sort_labels(["10", "9", "-1"]), sort_labels(["b", "10", "9"])
    (('-1', '9', '10'), ('10', '9', 'b'))
    """
    labels = list(labels)
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))


def _named(label: str, names: Sequence[str], dataset: str) -> str:
    """The name of a label given by its code or, in any case, by its name."""
    if label in names:
        return label
    if label.isdecimal() and len(label) < 10 and int(label) < len(names):
        return names[int(label)]
    for name in names:
        if name.lower() == label.lower():
            return name
    raise DataError(
        f"'{label}' is not a label of {dataset}.{did_you_mean(label, names)} Its labels are "
        f"{', '.join(names)}, or 0 to {len(names) - 1}. Correct the file, or give your labels in a "
        "card.yaml beside it."
    )


def _check_header(labels: Sequence[Any], column: str, source: Source) -> None:
    if source.header_row and column in set(flat_labels(labels)):
        raise DataError(
            f"The first row of {source.name} looks like data: '{column}' is a label in other rows too. "
            "Put a row with the names of the columns before it, for example: text,label"
        )


def _check_labels(labels: Sequence[Any], column: str, source: Source, quantities: bool) -> None:
    several = are_sets(labels)
    labels = list(flat_labels(labels))
    distinct = set(labels)
    if not distinct:
        raise DataError(f"No row of {source.name} has a label. Name another column with --label.")
    if several and len(distinct) < 2:
        raise DataError(
            f"There is only one label in {source.name}, '{labels[0]}'. Texts with several labels need at least two; "
            "for one question, yes or no, give a label to every row."
        )
    if len(distinct) < 2:
        raise DataError(
            f"All {len(labels):,} rows of {source.name} have the label '{labels[0]}'. A classifier needs "
            "at least two; name another column with --label."
        )
    if not quantities and not source.names:
        check_classes(labels, column, source.name)
