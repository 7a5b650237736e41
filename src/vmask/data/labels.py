"""From rows of a table to texts with labels: choose the columns, leave out bad rows, name the labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from vmask.data.card import Card
from vmask.data.rationales import COLUMN, Spans, are_tokens, as_spans, join_tokens
from vmask.data.readers import Row, guess_columns
from vmask.data.splits import Split
from vmask.errors import DataError, did_you_mean, short

_LOOK_AT = 20  # rows, to choose the columns
_MANY = 20  # distinct labels; with more, they must also repeat


@dataclass(frozen=True)
class Source:
    """Where the rows of a dataset are, before any of them is read."""

    name: str
    splits: dict[str, Iterator[Row]]
    card: Card | None = None
    names: tuple[str, ...] = ()
    """Names of the labels by their codes, where something says them."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Other names of labels, to ours."""
    text: str | None = None
    label: str | None = None
    header_row: bool = False
    """The column names are the first row of a file, so a forgotten one can be noticed."""


@dataclass(frozen=True)
class Labelled:
    """The rows of a dataset, read, in the splits of the source."""

    splits: dict[str, Split]
    labels: tuple[str, ...]
    text: str
    label: str
    notes: tuple[str, ...]


def read_source(
    source: Source, text: str | None, label: str | None, require_labels: bool, to_learn: bool = True
) -> Labelled:
    """Read all rows.

    Args:
        source: where they are.
        text: the column with the texts; guessed where it is None.
        label: likewise.
        require_labels: False to accept rows without labels.
        to_learn: False where a model is only scored on the rows, so that one label alone will do.

    Raises:
        DataError: if no text is left, or the labels cannot be learnt from.
    """
    taken: dict[str, _Taken] = {}
    for name, rows in source.splits.items():
        first = list(islice(rows, _LOOK_AT))
        if not first:
            raise DataError(f"{source.name} has no rows in {name}. Give it some, or leave that file away.")
        if text in (None, "text") and are_tokens(first):
            rows = join_tokens(chain(first, rows), f"{source.name} ({name})")
            first = list(islice(rows, _LOOK_AT))
        text, label = guess_columns(first, text, label, require_labels)
        for column in (text, label):
            _check_whole(column, f"{source.name} ({name}): the name of a column")
        taken[name] = _take(chain(first, rows), name, text, label, source)
    with_labels = require_labels or not any(None in part.labels for part in taken.values())
    use_ids = _unique_ids(list(taken.values()))
    splits = {name: part.split(use_ids, with_labels) for name, part in taken.items()}
    notes = [note for name, part in taken.items() for note in part.notes(name, require_labels)]
    for name, split in splits.items():
        if not split.texts:
            raise DataError(
                f"No row of {source.name} ({name}) has a text in '{text}'"
                + (f" and a label in '{label}'" if require_labels else "")
                + ". Name the right columns with --text and --label."
            )
    if not with_labels:
        return Labelled(splits, (), text or "", label or "", tuple(notes))
    labels = source.names or in_order({one for split in splits.values() for one in split.labels})
    if require_labels:
        main = splits.get("train") or splits["all"]
        _check_header(main.labels, str(label), source)
        if to_learn:
            _check_labels(main.labels, str(label), source)
        if unseen := [one for one in labels if one not in set(main.labels)]:
            notes.append(f"No row of train has the label {', '.join(repr(one) for one in unseen)}.")
    return Labelled(splits, labels, text or "", label or "", tuple(notes))


@dataclass
class _Taken:
    """The rows of one split while they are read. A missing label is None."""

    prefix: str
    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    rationales: list[Spans | None] = field(default_factory=list)
    without_text: int = 0

    def split(self, use_ids: bool, with_labels: bool) -> Split:
        rows = [i for i, label in enumerate(self.labels) if label is not None or not with_labels]
        ids = [str(self.ids[i]) if use_ids else f"{self.prefix}-{self.numbers[i]}" for i in rows]
        labels = [str(self.labels[i]) for i in rows] if with_labels else []
        known = any(self.rationales[i] is not None for i in rows)
        rationales = [self.rationales[i] or () for i in rows] if known else None
        return Split([self.texts[i] for i in rows], labels, ids, rationales=rationales)

    def notes(self, name: str, require_labels: bool) -> Iterator[str]:
        where = "" if name == "all" else f" of {name}"
        without_label = self.labels.count(None) if require_labels else 0
        for count, what in ((self.without_text, "text"), (without_label, "label")):
            if count:
                yield f"Left out {count:,} row{'s' * (count != 1)}{where} without a {what}."


def _take(rows: Iterable[Row], split: str, text: str, label: str | None, source: Source) -> _Taken:
    taken = _Taken("row" if split == "all" else split)
    for number, row in enumerate(rows):
        words = _as_text(row.get(text), text)
        if not words.strip():
            taken.without_text += 1
            continue
        value = as_label(row.get(label)) if label is not None else None
        at = f"Row {number + 1} of {source.name} ({split})"
        _check_whole(value, f"{at}: the label")
        if value is not None and source.names:
            value = _named(source.renamed.get(value, value), source.names, source.name)
        taken.numbers.append(number)
        taken.texts.append(words)
        taken.labels.append(value)
        taken.ids.append(as_label(row.get("id")))
        _check_whole(taken.ids[-1], f"{at}: the id")
        marked = None if COLUMN in (text, label) else row.get(COLUMN)
        taken.rationales.append(as_spans(marked, words, at))
    return taken


def _check_whole(name: str | None, what: str) -> None:
    """Refuse half a character in what is written to files by name; in texts it is replaced."""
    if name is not None and not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
        raise DataError(f"{what} is {short(name)}, with half a character (a lone surrogate) in it. Correct it.")


def _unique_ids(parts: Sequence[_Taken]) -> bool:
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
    # pandas writes whole numbers this way as soon as one label is missing
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Numbers ascending where all labels are numbers, else by alphabet.

    >>> in_order(["10", "9", "-1"]), in_order(["b", "10", "9"])
    (('-1', '9', '10'), ('10', '9', 'b'))
    """
    labels = list(labels)
    try:
        return tuple(sorted(labels, key=lambda one: (float(one), one)))
    except ValueError:
        return tuple(sorted(labels))


def _named(label: str, names: Sequence[str], dataset: str) -> str:
    """The name of a code or, whatever its case, of a name."""
    if label in names:
        return label
    if label.isdecimal() and len(label) < 10 and int(label) < len(names):
        return names[int(label)]
    for name in names:
        if name.lower() == label.lower():
            return name
    raise DataError(
        f"The label '{label}' is none of {dataset}'s.{did_you_mean(label, names)} They are "
        f"{', '.join(names)}, or 0 to {len(names) - 1}. Correct the file, or give your labels in a "
        "card.yaml beside it."
    )


def _check_header(labels: Sequence[str], column: str, source: Source) -> None:
    if source.header_row and column in labels:
        raise DataError(
            f"The first row of {source.name} looks like data: '{column}' is a label in other rows too. "
            "Put a row with the names of the columns before it, for example: text,label"
        )


def _check_labels(labels: Sequence[str], column: str, source: Source) -> None:
    distinct = set(labels)
    if len(distinct) < 2:
        raise DataError(
            f"All {len(labels):,} rows of {source.name} have the label '{labels[0]}'. A classifier needs "
            "at least two; name another column with --label."
        )
    if len(distinct) > _MANY and len(distinct) > len(labels) / 2:
        raise DataError(
            f"The column '{column}' of {source.name} has {len(distinct):,} different values in "
            f"{len(labels):,} rows: it looks like text or numbers, not like labels. Name another column "
            "with --label."
        )
