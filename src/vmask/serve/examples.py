"""Test texts of the dataset that a model was trained on, with its predictions."""

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
from vmask.errors import PluginError, VmaskError
from vmask.evaluation.dataset_training import dataset_of
from vmask.serve.batcher import Asked

SPLIT = "test"


@dataclass(frozen=True)
class Example:
    """A test text and what the model says of it."""

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
        """All of it as JSON values."""
        return {
            "number": self.number,
            "text": self.text,
            "label": self.label,
            "predicted": self.predicted,
            "probability": self.probability,
            "right": self.right,
        }


class Examples:
    """Test texts with their labels; predictions join them in the background.

    Args:
        dataset: its name.
        split: of the dataset.
        texts: the texts, and
        labels: their labels, and
        numbers: their places in the split.
    """

    def __init__(
        self, dataset: str, split: str, texts: Sequence[str], labels: Sequence[str], numbers: Sequence[int]
    ) -> None:
        self.dataset, self.split = dataset, split
        self.texts, self.labels, self.numbers = list(texts), list(labels), list(numbers)
        self._asked: Asked | None = None
        self._predicted: list[Example] = []

    def describe(self) -> dict[str, Any]:
        """What the page is told of them."""
        return {"dataset": self.dataset, "split": self.split, "n": len(self.texts)}

    def start(self, ask: Callable[[Sequence[str]], Asked]) -> Asked:
        """Ask for the predictions, once."""
        if self._asked is None:
            self._asked = ask(self.texts)
        return self._asked

    def predicted(self, answers: Sequence[tuple[int, float]], labels: Sequence[str]) -> list[Example]:
        """The examples with what the model says of them: the number of the best class and its probability."""
        if not self._predicted:
            rows = zip(self.numbers, self.texts, self.labels, answers, strict=True)
            self._predicted = [
                Example(number, text, label, labels[best], probability)
                for number, text, label, (best, probability) in rows
            ]
        return self._predicted

    @classmethod
    def find(
        cls, about: Mapping[str, Any], data: str | None, data_dir: str | None, most: int
    ) -> tuple[Examples | None, str]:
        """The test texts of the data that a model was trained on, or the reason why there are none.

        Nothing is downloaded for them: without `data`, only what is on this machine is read.
        """
        if not most:
            return None, "They are switched off."
        source = data or str(about.get("source") or about.get("dataset") or "")
        if data is None and source and not _at_hand(str(source), data_dir):
            name = about.get("dataset") or Path(source).name  # the page shows it: no path of this machine
            return None, f"The data '{name}' is not on this machine. Name it with --data or --data-dir."
        try:
            dataset = dataset_of(about, data, data_dir)
        except VmaskError as error:
            return None, str(error)
        return cls._of(dataset, most)

    @classmethod
    def _of(cls, dataset: Dataset, most: int) -> tuple[Examples | None, str]:
        split = dataset.splits.get(SPLIT)
        if split is None or not len(split) or not split.labels:
            return None, f"The data '{dataset.name}' has no {SPLIT} split."
        rows = list(range(len(split)))
        if len(rows) > most:  # the same ones every time
            rows = sorted(random.Random(0).sample(rows, most))
        texts, labels = [split.texts[row] for row in rows], [split.labels[row] for row in rows]
        return cls(dataset.name, SPLIT, texts, labels, rows), ""


def _at_hand(source: str, data_dir: str | None) -> bool:
    """Whether a dataset lies on this machine, so that reading it asks no other."""
    root = data_dir or os.environ.get("VMASK_DATA")
    if os.path.exists(source) or (root and os.path.isdir(Path(root).expanduser() / source)):  # noqa: PTH110, PTH112
        return True  # unlike those of Path, these take any name, also one that is too long
    if source in ASSETS:
        return (cache_dir() / source).is_dir()
    with suppress(PluginError):  # a dataset of another package may lie in the package
        return card_folder(source) is not None
    return False
