"""The results of a grid, read from their files and ordered by what they are results of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from vmask.errors import DataError
from vmask.evaluation.statistics import Estimate, mean_interval, seeds_interval
from vmask.grid.store import CELLS, DATA, SEARCH, TRAIN, Store

DATASETS = ("imdb", "sst1", "sst2", "yelp", "agnews", "trec", "subj")
TITLES = {
    **{"imdb": "IMDB", "sst1": "SST-1", "sst2": "SST-2", "yelp": "Yelp", "agnews": "AG News", "trec": "TREC"},
    **{"subj": "Subj", "cnn": "CNN", "lstm": "LSTM", "bert": "BERT", "minilm": "MiniLM"},
    **{"base": "base", "l2": "l2", "l2x": "L2X", "iba": "IBA", "vmask": "VMASK"},
    **{"word_dropout": "word dropout", "random_mask": "random mask", "lime": "LIME", "shapley": "SampleShapley"},
}
MODELS = ("cnn", "lstm", "bert")
METHODS = ("base", "l2", "l2x", "iba", "vmask")
CONTROLS = ("word_dropout", "random_mask")
OURS = {"bert": "minilm"}
"""Which of our models stands for one of the paper's that is not at hand."""
OWN = {"bert": r"(.*/)?bert-base\b.*"}
"""What the paper's model is called where it is at hand after all."""


def titled(name: str) -> str:
    """What people call a dataset, model or method."""
    return TITLES.get(name, name)


def in_order(datasets: Iterable[str]) -> list[str]:
    """Datasets in the paper's order, then others by alphabet."""
    found = set(datasets)
    return [*(one for one in DATASETS if one in found), *sorted(found.difference(DATASETS))]


@dataclass(frozen=True)
class Key:
    """A score of an evaluation."""

    metric: str
    by: str = ""
    hide: str = ""
    part: str = ""

    def fits(self, score: Mapping[str, Any]) -> bool:
        """Whether it is this one; empty fields of the key do not matter, but `part` is exact."""
        return (
            score["metric"] == self.metric
            and self.by in ("", score["by"])
            and self.hide in ("", score["hide"])
            and self.part == score["part"]
        )


@dataclass(frozen=True)
class Results:
    """All finished results of a folder.

    Attributes:
        records: dataset, model, mask and stage -> seed -> the file.
        searches: dataset, model and mask -> the file.
        datasets: name -> the file.
        failed: files of what failed.
        asides: name of a dataset that is not the paper's -> in what way, such as `stand-in`.
    """

    records: Mapping[tuple[str, str, str, str], Mapping[int, Mapping[str, Any]]]
    searches: Mapping[tuple[str, str, str], Mapping[str, Any]]
    datasets: Mapping[str, Mapping[str, Any]]
    failed: Sequence[Mapping[str, Any]]
    asides: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """Read a folder that `vmask grid` wrote.

        Raises:
            DataError: where there are no results.
        """
        store = Store(Path(folder))
        records: dict[tuple[str, str, str, str], dict[int, Mapping[str, Any]]] = {}
        failed = []
        for record in store.records(CELLS):
            if record["status"] != "done":
                failed.append(record)
            elif not record["cell"]["variant"]:
                of = record["cell"]
                key = (of["dataset"], of["model"], of["mask"], record["stage"])
                records.setdefault(key, {})[of["seed"]] = record
        if not records and not failed:
            raise DataError(f"{folder} holds no results. Make some with: vmask grid experiments/smoke.yaml")
        searches = {
            (one["combination"]["dataset"], one["combination"]["model"], one["combination"]["mask"]): one
            for one in store.records(SEARCH)
            if one["status"] == "done" and not one["combination"]["variant"]
        }
        return cls(records, searches, {one["name"]: one for one in store.records(DATA)}, failed)

    def stage(self, dataset: str, model: str, mask: str, stage: str = TRAIN) -> Mapping[int, Mapping[str, Any]]:
        """The files of a stage by seed; those of the model that stands for one of the paper's."""
        return self.records.get((dataset, self.model(model), mask, stage), {})

    def model(self, name: str) -> str:
        """Which of the models that were run is one of the paper's, or stands for it."""
        own = (one for one in self._models if name in OWN and re.fullmatch(OWN[name], one))
        return next(own, OURS.get(name, name))

    def title(self, name: str) -> str:
        """What people call a dataset, model or method; a dataset that is not the paper's says so."""
        aside = self.asides.get(name)
        return f"{titled(name)} ({aside})" if aside else titled(name)

    @cached_property
    def ran(self) -> list[tuple[str, str]]:
        """Datasets and models that were trained, in order."""
        pairs = {(dataset, model) for dataset, model, _, stage in self.records if stage == TRAIN}
        order = in_order(dataset for dataset, _ in pairs)
        return sorted(pairs, key=lambda pair: (order.index(pair[0]), pair[1]))

    @property
    def of_paper(self) -> bool:
        """Whether any dataset of the paper was run."""
        return any(dataset in DATASETS for dataset, _ in self.ran)

    @cached_property
    def _models(self) -> list[str]:
        return sorted({model for _, model, _, _ in self.records})

    def trained(self, dataset: str, model: str, mask: str, what: str = "test_accuracy") -> dict[int, float]:
        """A number of the training of every seed, such as `dev_accuracy` or `seconds_per_epoch`."""
        found = self.stage(dataset, model, mask)
        return {seed: float(one[what]) for seed, one in sorted(found.items()) if one.get(what) is not None}

    def scored(self, dataset: str, model: str, mask: str, stage: str, key: Key) -> dict[int, float]:
        """A score of every seed."""
        found = {}
        for seed, record in sorted(self.stage(dataset, model, mask, stage).items()):
            for score in record["scores"]:
                if key.fits(score) and score["value"] is not None:
                    found[seed] = float(score["value"])
                    break
        return found

    def accuracy(self, dataset: str, model: str, mask: str) -> Estimate | None:
        """Test accuracy with its interval: over seeds, or over texts where there is one seed."""
        by_seed = self.trained(dataset, model, mask)
        if len(by_seed) != 1:
            return over_seeds(by_seed)
        record = self.stage(dataset, model, mask)[next(iter(by_seed))]
        truth = self.datasets[dataset]["test_labels"]
        names = self.datasets[dataset]["labels"]
        said = [record["test"]["labels"][one] for one in record["test"]["predicted"]]
        return mean_interval(np.array([names[int(a)] == b for a, b in zip(truth, said, strict=True)], float))

    def score(self, dataset: str, model: str, mask: str, stage: str, key: Key) -> Estimate | None:
        """A score with its interval: over seeds, or over texts where there is one seed."""
        by_seed = self.scored(dataset, model, mask, stage, key)
        if len(by_seed) != 1:
            return over_seeds(by_seed)
        record = self.stage(dataset, model, mask, stage)[next(iter(by_seed))]
        one = next(score for score in record["scores"] if key.fits(score))
        ends = (nan if one["low"] is None else one["low"], nan if one["high"] is None else one["high"])
        return Estimate(one["value"], *ends, one["n"], "over texts")


def over_seeds(by_seed: Mapping[int, float]) -> Estimate | None:
    """Mean over seeds with its t interval; None without any.

    Seeds that happen to give the same number have no interval: one of no width would claim to be certain.
    """
    if not by_seed:
        return None
    found = seeds_interval(list(by_seed.values()))
    return replace(found, low=nan, high=nan) if len(set(by_seed.values())) == 1 else found
