"""Test examples of the dataset that a model was trained on, with its predictions."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmask.data.card import card_folder
from vmask.data.datasets import Dataset
from vmask.data.downloads import ASSETS, cache_dir
from vmask.data.recorded_source import dataset_of
from vmask.errors import PluginError, VmaskError
from vmask.serve.batcher import PendingQuery

SPLIT = "test"


@dataclass(frozen=True)
class Example:
    """A test text, its label and its prediction."""

    number: int
    text: str
    label: str
    predicted: str
    probability: float

    @property
    def right(self) -> bool:
        """Whether the prediction is the label."""
        return self.predicted == self.label

    def to_dict(self) -> dict[str, Any]:
        """Return the example as JSON values."""
        return {
            "number": self.number,
            "text": self.text,
            "label": self.label,
            "predicted": self.predicted,
            "probability": self.probability,
            "right": self.right,
        }


class Examples:
    """Test texts and labels; their predictions are computed in the background.

    Args:
        dataset: name of the dataset.
        split: name of the split.
        texts: the texts.
        labels: a label for each text.
        numbers: position of each text in the split.
    """

    def __init__(
        self, dataset: str, split: str, texts: Sequence[str], labels: Sequence[str], numbers: Sequence[int]
    ) -> None:
        self.dataset, self.split = dataset, split
        self.texts, self.labels, self.numbers = list(texts), list(labels), list(numbers)
        self._pending: PendingQuery | None = None
        self._predicted: list[Example] = []

    def describe(self) -> dict[str, Any]:
        """Return their description for the page."""
        return {"dataset": self.dataset, "split": self.split, "n": len(self.texts)}

    def start(self, submit: Callable[[Sequence[str]], PendingQuery]) -> PendingQuery:
        """Return the query for the predictions, submitted on the first call."""
        if self._pending is None:
            self._pending = submit(self.texts)
        return self._pending

    def predicted(self, answers: Sequence[tuple[int, float]], labels: Sequence[str]) -> list[Example]:
        """Return the examples with their predictions.

        Args:
            answers: index and probability of the most probable class of each text.
            labels: labels of the classes.
        """
        if not self._predicted:
            rows = zip(self.numbers, self.texts, self.labels, answers, strict=True)
            self._predicted = [
                Example(number, text, label, labels[best], probability)
                for number, text, label, (best, probability) in rows
            ]
        return self._predicted

    @classmethod
    def find(
        cls, about: Mapping[str, Any], data: str | None, data_dir: str | None, max_examples: int
    ) -> tuple[Examples | None, str]:
        """Return the test examples of the data that a model was trained on, or None and the reason.

        Nothing is downloaded for them: without `data`, only local data is read.

        Args:
            about: metadata of the model folder.
            data: dataset, file or folder to use instead.
            data_dir: folder with local datasets.
            max_examples: maximum number of examples; 0 for none.
        """
        if not max_examples:
            return None, "They are switched off."
        source = data or str(about.get("source") or about.get("dataset") or "")
        if data is None and source and not _is_local(str(source), data_dir):
            name = about.get("dataset") or Path(source).name  # the page shows it: no path of this machine
            return None, f"The data '{name}' is not on this machine. Name it with --data or --data-dir."
        try:
            dataset = dataset_of(about, data, data_dir)
        except VmaskError as error:
            return None, str(error)
        return cls._from_dataset(dataset, max_examples)

    @classmethod
    def _from_dataset(cls, dataset: Dataset, max_examples: int) -> tuple[Examples | None, str]:
        split = dataset.splits.get(SPLIT)
        if split is None or not len(split) or not split.labels:
            return None, f"The data '{dataset.name}' has no {SPLIT} split."
        rows = list(range(len(split)))
        if len(rows) > max_examples:  # the same sample every time
            rows = sorted(random.Random(0).sample(rows, max_examples))
        texts, labels = [split.texts[row] for row in rows], [split.labels[row] for row in rows]
        return cls(dataset.name, SPLIT, texts, labels, rows), ""


def _is_local(source: str, data_dir: str | None) -> bool:
    """Whether a dataset is on this machine, so that it can be read without a network."""
    root = data_dir or os.environ.get("VMASK_DATA")
    if os.path.exists(source) or (root and os.path.isdir(Path(root).expanduser() / source)):  # noqa: PTH110, PTH112
        return True  # unlike those of `Path`, these functions accept names that are too long
    if source in ASSETS:
        return (cache_dir() / source).is_dir()
    with suppress(PluginError):  # a dataset of another package
        return card_folder(source) is not None
    return False
