"""Several labels a text: sets of labels from Python, as 0 and 1, and what stands for them where one label is needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.errors import DataError, short

LabelSet = tuple[Any, ...]
"""The labels of a text, each once, sorted; empty for a text without any."""
_SETS = (list, tuple, set, frozenset, np.ndarray)


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


def comparable(label: Any) -> Any:
    """A label, or a set of labels, in a form in which the same ones are equal, however they are written."""
    return frozenset(map(as_label, label)) if isinstance(label, tuple) else as_label(label)


def label_text(label: Any) -> str:
    """A label, or a set of labels, for people to read.

    >>> label_text("good"), label_text(("billing", "refund")), label_text(())
    ('good', 'billing + refund', 'no label')
    """
    return (" + ".join(map(str, label)) or "no label") if isinstance(label, tuple) else str(label)


def are_sets(labels: Any) -> bool:
    """Whether these labels of texts are sets of labels, as `as_label_sets` returns them."""
    return isinstance(labels, list) and bool(labels) and isinstance(labels[0], tuple)


def as_label_sets(labels: Any, names: Sequence[Any] | None = None) -> tuple[list[LabelSet], list[Any] | None] | None:
    """The labels of each text, if there may be several: a list of them a text, or a matrix of 0 and 1.

    Args:
        labels: lists, tuples or sets of labels; or a matrix (N, C) of 0 and 1, as of scikit-learn's
            `MultiLabelBinarizer`: an array, a sparse matrix or a data frame.
        names: names of the columns of a matrix; by default those of the data frame, else their numbers.

    Returns:
        The sets, and for a matrix the names of its columns; None where each text has one label.

    Raises:
        DataError: for values that are neither.
    """
    if hasattr(labels, "columns"):
        names = list(labels.columns) if names is None else names
        return _of_matrix(labels.to_numpy(), names)
    if hasattr(labels, "toarray"):
        return _of_matrix(labels.toarray(), names)
    if getattr(labels, "ndim", 1) > 1:
        return _of_matrix(np.asarray(labels), names)
    if names is not None:
        raise DataError("labels names the columns of a matrix of 0 and 1, and y is none. Leave labels out.")
    listed = list(labels)
    are = [isinstance(one, _SETS) for one in listed]
    if not any(are):
        return None
    if not all(are):
        number = are.index(False)
        raise DataError(
            f"Label number {number} is {short(listed[number])}, while others are lists of labels. Give a list for "
            "every text, an empty one for a text without a label."
        )
    return [_as_set(one, number) for number, one in enumerate(listed)], None


def _as_set(labels: Collection[Any], number: int) -> LabelSet:
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    try:
        distinct = set(values)
        if len(distinct) < len(values) and distinct <= {0, 1}:
            raise DataError(
                f"The labels of text number {number} are {short(values)}. If these are the columns of a matrix of 0 "
                "and 1, give them as an array: numpy.array(y)."
            )
        return tuple(sorted(distinct))
    except TypeError:  # they cannot be told apart, or strings are among numbers; which, `check_labels` says
        return tuple(values)


def _of_matrix(matrix: NDArray[Any], names: Sequence[Any] | None) -> tuple[list[LabelSet], list[Any]]:
    names = list(range(matrix.shape[1])) if names is None else list(names)
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    if len(names) != matrix.shape[1]:
        raise DataError(f"There are {matrix.shape[1]} columns of labels and {len(names)} names. Give one for each.")
    if len(set(names)) < len(names):
        raise DataError("Two columns of labels have the same name. Rename one.")
    try:
        reached = np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        reached = np.full(matrix.shape, np.nan)
    if not np.isin(reached, (0, 1)).all():
        row, column = np.argwhere(~np.isin(reached, (0, 1)))[0]
        raise DataError(
            f"The labels are a table of {matrix.shape[0]} rows and {matrix.shape[1]} columns, and row {row} has "
            f"{short(matrix.tolist()[row][column])} in column {names[column]!r}. With several columns each must "
            "be 0 or 1: whether the text has that label. For one label a text give one column."
        )
    return [tuple(names[at] for at in np.flatnonzero(row)) for row in reached], names


def indicators(labels: Sequence[LabelSet], classes: Sequence[Any]) -> NDArray[np.bool_]:
    """(N, C) whether each text has each label.

    Raises:
        KeyError: for a label that is not among the classes.
    """
    number = {label: at for at, label in enumerate(classes)}
    matrix = np.zeros((len(labels), len(classes)), np.bool_)
    for row, one in zip(matrix, labels, strict=True):
        row[[number[label] for label in one]] = True
    return matrix


def strata(labels: Sequence[Any]) -> Sequence[Any]:
    """What a split keeps the shares of: the labels themselves; of several labels of a text the rarest.

    So no rare label falls to one side alone. Texts without labels are a stratum of their own.

    >>> strata([("a",), ("a", "b"), ("a",), ()]), strata(["x", "y"])
    (["('a',)", "('b',)", "('a',)", ''], ['x', 'y'])
    """
    if not are_sets(labels):
        return labels
    counts = Counter(label for one in labels for label in one)
    return [str((min(one, key=lambda label: (counts[label], label)),)) if one else "" for one in labels]
