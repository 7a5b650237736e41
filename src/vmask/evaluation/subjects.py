"""Texts to evaluate on, from any source, and the predictions of a model for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.config import to_dict
from vmask.data.config import ReadConfig
from vmask.data.datasets import Dataset, Split, load_dataset, load_table
from vmask.data.frames import as_texts, is_column, is_table, known_columns, labelled_columns, listed
from vmask.data.label_columns import recorded_separator
from vmask.data.label_sets import are_sets, as_label, as_label_sets, indicators
from vmask.data.patterns import is_pattern
from vmask.data.rationales import Spans
from vmask.data.recorded_source import recorded_bins, split_of
from vmask.data.targets import LabelBins
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.explain.api import checked
from vmask.inference.decisions import thresholds_of
from vmask.inference.work import Map, PredictWork, numbered
from vmask.metrics.contract import Subject
from vmask.text.words import chunks

PREDICTED_AT_ONCE = 2000
SPLIT = "test"
"""Default split of a dataset."""


@dataclass(frozen=True)
class Texts:
    """The texts of an evaluation, from any source."""

    texts: Sequence[str]
    labels: Sequence[Any] | None
    ids: Sequence[str]
    rationales: Sequence[Spans] | None
    counted: Sequence[str]
    counted_name: str
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Identifies these texts and labels."""
        labels = None if self.labels is None else [_spelt(label) for label in self.labels]
        return digest_of([list(self.texts), labels])


def _spelt(label: Any) -> str | list[str]:
    return sorted(str(as_label(one)) for one in label) if isinstance(label, tuple) else str(as_label(label))


def digest_of(value: Any) -> str:
    """The sha256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()


def load_data(
    source: str | Path,
    about: Mapping[str, Any],
    *,
    split: str | None = None,
    text: str | None = None,
    label: str | None = None,
    label_separator: str | None = None,
    data_dir: str | None = None,
    labelled: bool = True,
    reading: ReadConfig | None = None,
) -> Dataset | Split:
    """Load data to evaluate on: all rows of a file or of a pattern, or a dataset or folder with its splits.

    Args:
        source: a file, several by a pattern, a folder of splits, or the name of a dataset.
        about: what the model says about its training data; files and folders have the same columns by default.
        split: required split of a dataset, by default `test`.
        text: the column with the texts.
        label: the column with the labels, or several with commas between.
        label_separator: what stands between the labels of a text, see `load_dataset`.
        data_dir: folder with local datasets.
        labelled: False to leave the labels out.
        reading: how files are read.

    Raises:
        UnknownName: for a dataset or split that does not exist.
        DataError: for data that cannot be used.
    """
    path = Path(source)
    pattern = is_pattern(path)
    how = to_dict(reading or ReadConfig())
    known = about if pattern or path.exists() else {}  # a dataset with a card names its columns itself
    text, label = text or known.get("text"), (label or known.get("label")) if labelled else None
    columns = {"text": text, "label": label, "label_separator": label_separator or recorded_separator(known)}
    if not (pattern or path.is_file()):
        dataset = load_dataset(
            str(source),
            data_dir=data_dir,
            require_labels=labelled,
            split=split_of(path, about),
            label_bins=recorded_bins(about) or LabelBins(()),
            **columns,
            **how,
        )
        _part(dataset, split)
        return dataset
    if split is not None:
        raise DataError(f"{source} is a single file and is measured whole. Leave the split out.")
    rows = load_table(path, require_labels=labelled, label_bins=recorded_bins(about), **columns, **how)
    kind = "several files" if pattern else "a single file"
    notes = [
        *rows.notes,
        f"{path.name} is {kind}: all {'of their' if pattern else 'of its'} {len(rows):,} texts are measured.",
    ]
    if path.name == about.get("dataset"):
        notes.append(f"The model was trained on a file called {path.name}: these rows may not be new to it.")
    return replace(rows, notes=tuple(notes))


def texts_of(
    data: Any,
    split: str | None = None,
    about: Mapping[str, Any] | None = None,
    labelled: bool = True,
    names: Sequence[Any] | None = None,
) -> Texts:
    """The texts of a split of a dataset, of a file or of a `Split`, or given directly, with or without labels.

    Args:
        data: a file, a folder of splits or the name of a dataset; a `Dataset` or `Split`; a table of another library;
            a pair of texts and labels; only texts; or `Texts`, which are returned.
        split: split of a dataset; by default `test`.
        about: as in `load_data`.
        labelled: False to leave the labels out.
        names: names of the columns of a matrix of labels in a pair, where it has none.

    Raises:
        UnknownName: for a dataset or split that does not exist.
        DataError: for texts or labels that cannot be used.
    """
    texts = data if isinstance(data, Texts) else _texts_of(data, split, about or {}, labelled, names)
    return texts if labelled else replace(texts, labels=None)


def _texts_of(
    data: Any, split: str | None, about: Mapping[str, Any], labelled: bool, names: Sequence[Any] | None
) -> Texts:
    facts: dict[str, Any] = {}
    if isinstance(data, Path) or (isinstance(data, str) and data):
        facts = {"data": str(data)}
        data = load_data(data, about, split=split, labelled=labelled)
    if isinstance(data, Dataset):
        part, train = _part(data, split), data.splits["train"]
        facts = {"data": data.name, "split": split or SPLIT, "fingerprint": data.fingerprint}
        return _of_split(part, facts, data.notes, train.texts, f"the training texts of {data.name}")
    if split is not None:
        raise ConfigError("split is for a dataset. Leave it out.")
    if isinstance(data, Split):
        return _of_split(data, facts, data.notes)
    if is_table(data):
        return _of_table(data, about, labelled)
    pair = isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], str)
    texts, labels = (list(as_texts(data[0])), _labels_of(data[1], names)) if pair else (list(as_texts(data)), None)
    if labels is not None and len(labels) != len(texts):
        raise DataError(f"There are {len(texts)} texts and {len(labels)} labels. Give a label for every text.")
    return _of_split(Split(list(checked(texts)), labels or [], [f"text-{i}" for i in range(len(texts))]), {})


def _of_table(data: Any, about: Mapping[str, Any], labelled: bool) -> Texts:
    text, label = known_columns(data, about)
    found = labelled_columns(data, text, label if labelled else None, want_label=labelled)
    split = Split(list(checked(found.texts)), found.labels or [], [f"row-{i}" for i in range(len(found.texts))])
    return _of_split(split, {}, found.notes)


def _labels_of(labels: Any, names: Sequence[Any] | None) -> list[Any]:
    """Labels from Python, of which a text may have several."""
    matrix = getattr(labels, "ndim", 1) == 2
    values = listed(labels) if is_column(labels) and not matrix else labels
    unnamed = matrix and not hasattr(values, "columns")
    sets = as_label_sets(values, names if unnamed else None)
    return list(values) if sets is None else list(sets[0])


def _part(dataset: Dataset, split: str | None) -> Split:
    wanted = split or SPLIT
    if wanted not in dataset.splits:
        raise UnknownName("split", wanted, dataset.splits)
    return dataset.splits[wanted]


def _of_split(
    part: Split, facts: Mapping[str, Any], notes: tuple[str, ...] = (), counted: Sequence[str] = (), name: str = ""
) -> Texts:
    if not len(part):
        raise DataError("There are no texts to evaluate on. Give some.")
    return Texts(
        part.texts,
        part.labels or None,
        part.ids,
        getattr(part, "rationales", None),
        counted or part.texts,
        name or "the texts themselves",
        facts,
        notes,
    )


def class_numbers(labels: Sequence[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """(N,) class numbers of labels, which are compared as strings.

    Raises:
        DataError: for a label that the model does not know.
    """
    numbers = {str(as_label(label)): number for number, label in enumerate(classes)}
    names = [str(as_label(label)) for label in labels]
    if unseen := sorted(set(names) - set(numbers)):
        raise DataError(
            f"The texts have labels that the model was not trained on: {', '.join(unseen[:5])}. "
            f"It knows: {', '.join(numbers)}. Check the label column, drop those rows, or leave all labels out "
            "(labelled=False, --unlabelled) to measure explanations alone."
        )
    return np.array([numbers[name] for name in names], np.int64)


def truth_of(labels: Sequence[Any], predictor: Any) -> NDArray[Any]:
    """(N,) class numbers of labels; where a text may have several labels, (N, C) whether it has each.

    Raises:
        DataError: for labels that the model does not know, or of another task.
    """
    several = thresholds_of(predictor) is not None
    if are_sets(list(labels)) != several:
        model, data = ("several", "one") if several else ("one", "several")
        raise DataError(
            f"The model gives a text {_many(model)}, and these texts have {_many(data)} each. Name the column "
            "with --label, and what stands between labels with --label-separator (`none` if nothing does)."
        )
    if not several:
        return class_numbers(labels, predictor.labels)
    flat = class_numbers([label for one in labels for label in one], predictor.labels).tolist()
    numbers = iter(flat)
    return indicators([tuple(next(numbers) for _ in one) for one in labels], range(len(predictor.labels)))


def _many(count: str) -> str:
    """How many labels a text has, in words."""
    return f"{count} label" if count == "one" else f"{count} labels"


def subject_of(
    predictor: Any,
    texts: Texts,
    sample: NDArray[np.int64],
    hides: tuple[str, ...],
    seed: int,
    ranking: Mapping[str, float] | None,
    planted: bool,
    others: tuple[Any, ...],
    share: Map | None = None,
    number: int = 0,
) -> Subject:
    """A model with its predictions for the texts; `number` is that of the model in processes that share the work."""
    numbers = None if texts.labels is None else truth_of(texts.labels, predictor)
    shards = numbered(chunks(texts.texts, PREDICTED_AT_ONCE))
    parts = map(PredictWork().begin([predictor]), shards) if share is None else share(PredictWork(number), shards)
    return Subject(
        predictor=predictor,
        texts=texts.texts,
        labels=numbers,
        probabilities=np.concatenate(list(parts)),
        sample=sample,
        hides=hides,
        seed=seed,
        rationales=texts.rationales,
        planted=planted,
        counted=texts.counted,
        counted_name=texts.counted_name,
        ranking=ranking,
        others=others,
    )


def confusion(subject: Subject) -> list[list[int]]:
    """(C, C) confusion matrix: number of texts by true class (rows) and predicted class; none with several labels."""
    if subject.several:
        return []
    classes = len(subject.predictor.labels)
    assert subject.labels is not None
    table = np.bincount(subject.labels * classes + subject.predicted, minlength=classes**2)
    counts: list[list[int]] = table.reshape(classes, classes).tolist()
    return counts
