"""A cell: one training of one method on one dataset, and the names of its files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Combination:
    """A method on a dataset, whatever the seed: what hyperparameters are searched for.

    Attributes:
        dataset: name of the dataset, or the path of one.
        model: name of the model.
        mask: name of the training method.
        variant: name of a set of options, such as other word vectors; mostly empty.
        options: options from the experiment's file, named as in `TextClassifier`.
    """

    dataset: str
    model: str
    mask: str
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """`trec--cnn--vmask`, readable and unique in an experiment."""
        return "--".join(part for part in self.to_dict().values() if part)

    def to_dict(self) -> dict[str, str]:
        """The fields that identify the combination in a result file."""
        names = {"dataset": short_name(self.dataset), "model": short_name(self.model)}
        return {**names, "mask": self.mask, "variant": self.variant}


@dataclass(frozen=True)
class Cell:
    """One training.

    Attributes:
        combination: the method and the dataset.
        seed: seed of everything random.
    """

    combination: Combination
    seed: int

    @property
    def key(self) -> str:
        """`trec--cnn--vmask--s0`: the prefix of the names of all its files."""
        return f"{self.combination.key}--s{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """The fields that identify the cell in a result file."""
        return {**self.combination.to_dict(), "seed": self.seed}


def short_name(name: str) -> str:
    """The name of a dataset or model in results; for a path, the name of the file or folder without its suffix."""
    last = name.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.+-]+", "-", re.sub(r"\.(csv|tsv|jsonl?|parquet)$", "", last)).strip("-.").lower()


def identity(request: Mapping[str, Any]) -> str:
    """The identifier of a request: 16 hex digits of the digest of its JSON."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:16]
