"""Turn rows of a table into texts with labels: choose the columns, leave out bad rows, name the labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from vmask._core.parsing import has_lone_surrogate
from vmask._core.wording import plural
from vmask.data.card import Card
from vmask.data.columns import format_columns
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
    notes: tuple[str, ...]


def read_source(
    source: Source,
    text: str | None,
    label: str | None,
    require_labels: bool,
    to_learn: bool = True,
    columns: Sequence[str] = (),
    quantities: bool = False,
) -> LabelledSplits:
    """Read all rows.

    Args:
        source: the rows.
        text: the column with the texts; guessed if None.
        label: the column with the labels; guessed if None.
        require_labels: False to accept rows without labels.
        to_learn: False if a model is only scored on the rows, so that a single label is enough.
        columns: further columns to keep.
        quantities: True to accept any number of labels, such as numbers of which classes are made.

    Raises:
        DataError: if no text is left, or the labels cannot be learnt from.
    """
    parts: dict[str, _SplitRows] = {}
    for name, rows in source.splits.items():
        first = list(islice(rows, _LOOK_AT))
        if not first:
            raise DataError(f"{source.name} has no rows in {name}. Add some, or remove that file.")
        if text in (None, "text") and are_tokens(first):
            rows = join_tokens(chain(first, rows), f"{source.name} ({name})")
            first = list(islice(rows, _LOOK_AT))
        text, label = guess_columns(first, text, label, require_labels)
        for column in (text, label):
            _check_characters(column, f"{source.name} ({name}): the name of a column")
        if name in ("train", "all"):
            _check_columns(columns, first)
        parts[name] = _read_split(chain(first, rows), name, text, label, source, columns)
    with_labels = require_labels or not any(None in part.labels for part in parts.values())
    use_ids = _unique_ids(list(parts.values()))
    splits = {name: part.split(use_ids, with_labels) for name, part in parts.items()}
    notes = [note for name, part in parts.items() for note in part.notes(name, require_labels)]
    for name, split in splits.items():
        if not split.texts:
            raise DataError(
                f"No row of {source.name} ({name}) has a text in '{text}'"
                + (f" and a label in '{label}'" if require_labels else "")
                + ". Name the right columns with --text and --label."
            )
    if not with_labels:
        return LabelledSplits(splits, (), text or "", label or "", tuple(notes))
    labels = source.names or sort_labels({name for split in splits.values() for name in split.labels})
    if require_labels:
        main = splits.get("train") or splits["all"]
        _check_header(main.labels, str(label), source)
        if to_learn:
            _check_labels(main.labels, str(label), source, quantities)
        seen = set(main.labels)
        if unseen := [repr(name) for name in labels if name not in seen]:
            notes.append(f"No row of train has the label {', '.join(unseen)}.")
    return LabelledSplits(splits, labels, text or "", label or "", tuple(notes))


@dataclass
class _SplitRows:
    """The rows of one split that have a text. A missing label is None."""

    prefix: str
    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    rationales: list[Spans | None] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    without_text: int = 0

    def split(self, use_ids: bool, with_labels: bool) -> Split:
        rows = [i for i, label in enumerate(self.labels) if label is not None or not with_labels]
        ids = [str(self.ids[i]) if use_ids else f"{self.prefix}-{self.numbers[i]}" for i in rows]
        labels = [str(self.labels[i]) for i in rows] if with_labels else []
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
    rows: Iterable[Row], split: str, text: str, label: str | None, source: Source, columns: Sequence[str] = ()
) -> _SplitRows:
    part = _SplitRows("row" if split == "all" else split, columns={name: [] for name in columns})
    for number, row in enumerate(rows):
        content = _as_text(row.get(text), text)
        if not content.strip():
            part.without_text += 1
            continue
        value = as_label(row.get(label)) if label is not None else None
        at = f"Row {number + 1} of {source.name} ({split})"
        _check_characters(value, f"{at}: the label")
        if value is not None and source.names:
            value = _named(source.renamed.get(value, value), source.names, source.name)
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


def as_label(value: Any) -> str | None:
    """A label as a string, or None for a missing one.

    >>> [as_label(v) for v in ("pos", 4, 4.0, "4.0", True, " ", float("nan"), None)]
    ['pos', '4', '4', '4', 'true', None, None, None]
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = "" if value is None else str(value).strip()
    if not text or text.lower() == "nan":
        return None
    # pandas writes integers this way as soon as one label is missing
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


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


def _check_header(labels: Sequence[str], column: str, source: Source) -> None:
    if source.header_row and column in labels:
        raise DataError(
            f"The first row of {source.name} looks like data: '{column}' is a label in other rows too. "
            "Put a row with the names of the columns before it, for example: text,label"
        )


def _check_labels(labels: Sequence[str], column: str, source: Source, quantities: bool) -> None:
    if len(set(labels)) < 2:
        raise DataError(
            f"All {len(labels):,} rows of {source.name} have the label '{labels[0]}'. A classifier needs "
            "at least two; name another column with --label."
        )
    if not quantities and not source.names:
        check_classes(labels, column, source.name)
