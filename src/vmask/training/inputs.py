"""Texts and labels from the user: checked, without empty texts, split into training and dev."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import derive
from vmask.config import MULTI_LABEL, SINGLE_LABEL, Duplicates
from vmask.data.duplicates import duplicate_groups
from vmask.data.frames import LabelledColumns, as_texts, is_column, is_table, known_columns, labelled_columns, listed
from vmask.data.label_sets import LabelSet, are_sets, as_label_sets, indicators, strata
from vmask.data.splits import hold_out
from vmask.data.targets import FEW
from vmask.errors import ConfigError, DataError, VmaskWarning, short

LARGEST_LABEL = 2**63
"""Bound of numeric labels, so that arrays and model folders store them exactly."""
LARGEST_WEIGHT = 1e6
"""Largest weight of a text; the smallest above 0 is its inverse."""


@dataclass(frozen=True)
class Labelled:
    """Checked texts.

    Attributes:
        texts: training texts.
        labels: their labels; with several a text a tuple for each.
        dev_texts: texts that select the best epoch.
        dev_labels: their labels.
        classes: the distinct training labels, sorted; of a matrix of labels its columns.
        fingerprint: digest of the texts and labels given for training.
        weights: weight of each training text in the loss; None if all weigh the same.
        task: how many labels a text has.
    """

    texts: list[str]
    labels: list[Any]
    dev_texts: list[str]
    dev_labels: list[Any]
    classes: list[Any]
    fingerprint: str
    weights: list[float] | None = None
    task: str = SINGLE_LABEL

    def codes(self, labels: Sequence[Any]) -> NDArray[Any]:
        """(N,) class indices of the labels, as int64; or (N, C) whether each text has each label, as float32."""
        if self.task == MULTI_LABEL:
            return indicators(labels, self.classes).astype(np.float32)
        code = {label: number for number, label in enumerate(self.classes)}
        return np.array([code[label] for label in labels], dtype=np.int64)


def split(
    texts: Sequence[str],
    labels: Sequence[Any],
    dev: tuple[Sequence[str], Sequence[Any]] | None,
    dev_fraction: float,
    seed: int,
    duplicates: Duplicates = "ignore",
    sample_weight: Sequence[float] | None = None,
    names: Sequence[Any] | None = None,
) -> Labelled:
    """Check the data and hold out a dev set if none is given, independent of the order of the rows.

    Texts with a weight of 0 are left out. `names` are those of the columns, where labels are a matrix.

    Raises:
        DataError: for data that cannot be trained on.
    """
    sets, weights = as_label_sets(labels, names), None
    task = SINGLE_LABEL if sets is None else MULTI_LABEL
    labels = labels if sets is None else sets[0]
    if sample_weight is not None:
        texts = check_texts(texts)
        labels = check_labels(labels, len(texts))
        checked = _check_weights(sample_weight, len(texts))
        rows = [i for i, weight in enumerate(checked) if weight and texts[i].strip()]
        texts, labels = [texts[i] for i in rows], [labels[i] for i in rows]
        weights = [checked[i] for i in rows]
    train_texts, train_labels = _usable(texts, labels, "training")
    classes = sorted(set(train_labels)) if sets is None else _classes(train_labels, sets[1])
    if len(classes) < 2:
        raise DataError(f"All labels are {classes[0]!r}. A classifier needs at least two classes.")
    if len(classes) > FEW and any(isinstance(label, float) and label != int(label) for label in classes):
        raise DataError(
            f"The labels are {len(classes):,} different numbers in {len(train_labels):,} texts: they look like a "
            "quantity, not classes. Sort them into ranges first, or give them as strings if they are classes."
        )
    fingerprint = _fingerprint(train_texts, train_labels, weights)
    if dev is None:
        stratified = strata(train_labels)
        # At least one text of every class stays in training.
        count = min(max(round(len(train_texts) * dev_fraction), 1), len(train_texts) - len(set(stratified)))
        if count < 1:
            raise DataError(
                f"{len(train_texts)} texts are too few to hold any out. Give more, or pass dev=(texts, labels)."
            )
        rest, out = _hold_out(train_texts, stratified, count, derive(seed, "dev") % 2**32, duplicates)
        dev_texts, dev_labels = [train_texts[i] for i in out], [train_labels[i] for i in out]
        train_texts, train_labels = [train_texts[i] for i in rest], [train_labels[i] for i in rest]
        weights = None if weights is None else [weights[i] for i in rest]
    else:
        dev_sets = as_label_sets(dev[1], None if sets is None or not hasattr(dev[1], "ndim") else sets[1])
        if (dev_sets is None) != (sets is None):
            raise DataError("Training and dev differ: one has several labels a text, the other one. Give both alike.")
        dev_texts, dev_labels = _usable(dev[0], dev[1] if dev_sets is None else dev_sets[0], "dev")
        seen = {label for one in dev_labels for label in one} if dev_sets else set(dev_labels)
        if unseen := sorted(map(repr, seen - set(classes))):
            raise DataError(
                f"The dev set has labels that training lacks: {', '.join(unseen[:5])}. "
                "Drop those rows, or give training some of them."
            )
    return Labelled(train_texts, train_labels, dev_texts, dev_labels, classes, fingerprint, weights, task)


def _hold_out(
    texts: Sequence[str], labels: Sequence[Any], count: int, seed: int, duplicates: Duplicates
) -> tuple[list[int], list[int]]:
    """Rows that stay and rows for dev; a text and its copies together, where there are enough different texts."""
    if duplicates != "ignore":
        groups = duplicate_groups(texts, duplicates == "near")
        try:
            return hold_out(texts, labels, count, seed, groups=groups)[:2]
        except DataError:
            warn(
                f"There are only {len(set(groups)):,} different texts, so copies of training texts stand in the dev "
                "set. Give more, or pass dev=(texts, labels)."
            )
    return hold_out(texts, labels, count, seed)[:2]


def _classes(labels: Sequence[LabelSet], columns: Sequence[Any] | None) -> list[Any]:
    """The labels that are learnt, where a text may have several.

    Raises:
        DataError: if there is nothing to tell apart.
    """
    seen = {label for one in labels for label in one}
    classes = sorted(seen) if columns is None else list(columns)
    if len(classes) < 2:
        known = f"only one label, {classes[0]!r}" if classes else "no label at all"
        raise DataError(
            f"There is {known}. Texts with several labels need at least two; for one question, yes or no, give one "
            "label a text."
        )
    if len(set(labels)) == 1:
        raise DataError(f"All texts have the labels {', '.join(map(repr, labels[0])) or 'of none'}: nothing to learn.")
    if missing := [repr(label) for label in classes if label not in seen]:
        warn(f"No training text has the label {', '.join(missing[:5])}: nothing is learnt about it.")
    return classes


def check_texts(texts: Any, column: str | None = None) -> list[str]:
    """The texts as a list. A missing text of a table or column is an empty string.

    Args:
        texts: texts, a column, or a table with a column of texts.
        column: the column of a table that the model was trained on.

    Raises:
        DataError: if an item is not a string, or the column of the texts is not obvious.
    """
    if isinstance(texts, str):
        raise DataError("A single text was given where a list of texts is expected. Put it in a list: [text].")
    strings = list(as_texts(texts, column))
    for number, text in enumerate(strings):
        if not isinstance(text, str):
            raise DataError(
                f"Text number {number} (counted from 0) is {text!r}, of type {type(text).__name__}. Give strings, e.g. "
                "with str(text)."
            )
    return strings


def check_labels(labels: Sequence[Any], count: int) -> list[Any]:
    """The labels as plain strings, numbers or booleans.

    Raises:
        DataError: for a wrong number of labels or a missing one.
    """
    values = listed(labels) if is_column(labels) else labels
    if are_sets(values):
        return _checked_sets(values, count)
    plain = [label.item() if isinstance(label, np.generic) else label for label in values]
    if len(plain) != count:
        raise DataError(f"There are {count} texts and {len(plain)} labels. Give one label for each text.")
    for number, label in enumerate(plain):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise DataError(f"Label number {number} is missing ({label}). Drop the rows without a label.")
        if not isinstance(label, str) and isinstance(label, (int, float)) and not abs(label) < LARGEST_LABEL:
            raise DataError(
                f"Label number {number} is {short(label)}; a number must lie between -2**63 and 2**63. Write such "
                "labels as strings."
            )
        if isinstance(label, str) and any("\ud800" <= char <= "\udfff" for char in label):
            raise DataError(f"Label number {number} is {label!r}, with half a character in it. Write it in full.")
        if not isinstance(label, (str, int, float)):
            raise DataError(f"Label number {number} is {label!r}. Labels must be strings or numbers.")
    if len({isinstance(label, str) for label in plain}) > 1:
        raise DataError("Some labels are strings and some are numbers. Make them all strings, e.g. with str(label).")
    return plain


def training_data(
    X: Any, y: Any, dev: Any, text: str | None, label: str | None
) -> tuple[Any, Any, Any, dict[str, str]]:
    """Texts, labels, dev texts with labels and the names of the columns, of tables or as they are given.

    Raises:
        ConfigError: if columns are named, but there is no table.
        DataError: if there are no labels, or columns are not obvious.
    """
    columns: dict[str, str] = {}
    if is_table(X) and y is None:
        found = _labelled(X, text, label, "training ")
        X, y, columns = found.texts, found.labels, found.about
    elif is_table(X) and label is None:
        found = labelled_columns(X, text, want_label=False, keep_rows=True)
        X, columns = found.texts, {"text": found.text}
    elif text is not None or label is not None:
        raise ConfigError(
            "text and label name columns of a table that has both. Leave them out, or give the table alone."
        )
    elif y is None:
        raise DataError("There are no labels. Give them beside the texts, or a table with a column of labels.")
    if is_table(dev):
        found = _labelled(dev, columns.get("text", text), columns.get("label", label), "dev ")
        dev = (found.texts, found.labels)
    return X, y, dev, columns


def scored_data(X: Any, y: Any, about: Mapping[str, Any]) -> tuple[Any, Any]:
    """Texts and labels of a table with both, or as they are given.

    Args:
        X: texts or a table.
        y: labels, or None if they are in the table.
        about: what a model says of its data, such as the columns.
    """
    if y is not None:
        return check_texts(X, about.get("text")), y
    if not is_table(X):
        raise DataError("There are no labels. Give them beside the texts, or a table with a column of labels.")
    found = _labelled(X, *known_columns(X, about), "")
    return found.texts, found.labels


def _labelled(table: Any, text: str | None, label: str | None, what: str) -> LabelledColumns:
    found = labelled_columns(table, text, label)
    for note in found.notes:
        warn(f"{note[:-1]} of the {what}table.")
    return found


def are_right(predicted: Any, labels: Any, classes: Sequence[Any]) -> list[bool]:
    """Whether each prediction of a classifier is right: a label (N,), or a list of tuples of them."""
    if isinstance(predicted, list):
        pairs = zip(map(set, predicted), check_sets(labels, len(predicted), classes), strict=True)
    else:
        pairs = zip(predicted.tolist(), check_labels(labels, len(predicted)), strict=True)
    return [one == other for one, other in pairs]


def check_sets(labels: Any, count: int, classes: Sequence[Any]) -> list[set[Any]]:
    """Labels of texts that may have several, as sets; `classes` are the columns of a matrix.

    Raises:
        DataError: for a wrong number of labels, or one label a text.
    """
    matrix = getattr(labels, "ndim", 1) == 2 and not hasattr(labels, "columns")
    sets = as_label_sets(labels, classes if matrix else None)
    if sets is None:
        raise DataError("The model gives texts several labels, and these have one. Give a list for each text.")
    return [set(one) for one in _checked_sets(sets[0], count)]


def _checked_sets(labels: Sequence[LabelSet], count: int) -> list[LabelSet]:
    """Sets of labels, each label checked as one of a single text is."""
    if len(labels) != count:
        raise DataError(f"There are {count} texts and {len(labels)} lists of labels. Give one for each text.")
    flat = [label for one in labels for label in one]
    check_labels(flat, len(flat))
    return list(labels)


def _usable(texts: Sequence[str], labels: Sequence[Any], name: str) -> tuple[list[str], list[Any]]:
    """The texts that are not blank, with their labels; others are dropped with a warning."""
    listed = check_texts(texts)
    checked = check_labels(labels, len(listed))
    rows = [i for i, text in enumerate(listed) if text.strip()]
    if not rows:
        raise DataError(f"There is no {name} text with anything in it.")
    if len(rows) < len(listed):
        warn(f"{len(listed) - len(rows)} empty {name} texts were dropped.")
    return [listed[i] for i in rows], [checked[i] for i in rows]


def _check_weights(weights: Sequence[float], count: int) -> list[float]:
    """The weights as numbers.

    Raises:
        DataError: for a wrong number of weights, one that is negative or no number, or if all are 0.
    """
    try:
        listed = [float(weight) for weight in weights]
    except (TypeError, ValueError):
        raise DataError("sample_weight has a value that is no number. Give a number for every text.") from None
    if len(listed) != count:
        raise DataError(f"There are {count} texts and {len(listed)} weights. Give one weight for each text.")
    for number, weight in enumerate(listed):
        if not 0 <= weight <= LARGEST_WEIGHT or 0 < weight < 1 / LARGEST_WEIGHT:  # NaN too
            raise DataError(
                f"Weight number {number} (counted from 0) is {weight}; it must be 0, or from 1e-6 to 1,000,000."
            )
    if not any(listed):
        raise DataError("All weights are 0, so there is nothing to learn from.")
    return listed


def _fingerprint(texts: Sequence[str], labels: Sequence[Any], weights: Sequence[float] | None = None) -> str:
    digest = hashlib.sha256()
    if weights is not None:
        digest.update(repr(list(weights)).encode())
    for text, label in zip(texts, labels, strict=True):
        digest.update(f"{label}\t{text}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def warn(message: str) -> None:
    """Warn the user."""
    warnings.warn(message, VmaskWarning, stacklevel=5)
