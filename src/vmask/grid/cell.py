"""A cell: one training of one method on one dataset, and what its files are called."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Combination:
    """What hyperparameters are searched for: a method on a dataset, whatever the seed.

    Attributes:
        dataset: name of the dataset, or the path of one.
        model: name of the model.
        mask: name of the training method.
        variant: name of a set of options that sets it apart, such as other word vectors; mostly empty.
        options: those that the experiment gives it, by the names of `TextClassifier`.
    """

    dataset: str
    model: str
    mask: str
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """`trec--cnn--vmask`, readable and unique in an experiment."""
        return "--".join(filter(None, (short_name(self.dataset), short_name(self.model), self.mask, self.variant)))


@dataclass(frozen=True)
class Cell:
    """One training.

    Attributes:
        combination: the method and the dataset.
        seed: of everything random.
    """

    combination: Combination
    seed: int

    @property
    def key(self) -> str:
        """`trec--cnn--vmask--s0`: the beginning of the names of all its files."""
        return f"{self.combination.key}--s{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """What a result file says about which cell it is."""
        of = self.combination
        names = {"dataset": short_name(of.dataset), "model": short_name(of.model)}
        return {**names, "mask": of.mask, "variant": of.variant, "seed": self.seed}


def short_name(name: str) -> str:
    """The name of a dataset or model in results; of a path the file's or folder's, without what ends it."""
    last = name.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.+-]+", "-", re.sub(r"\.(csv|tsv|jsonl?|parquet)$", "", last)).strip("-.").lower()


def identity(asked: Mapping[str, Any]) -> str:
    """What tells a request from any other: 16 hex digits of its JSON."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
