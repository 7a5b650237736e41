"""The results of a grid by the paper's names: its datasets, models and methods, and what stands for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vmask.evaluation.statistics import Estimate
from vmask.grid.store import TRAIN
from vmask.report.grid.results import (
    OVER_TEXTS,
    TEST_ACCURACY,
    GridResults,
    Record,
    Setting,
    interval_end,
    over_seeds,
    over_texts,
)

DATASETS = ("imdb", "sst1", "sst2", "yelp", "agnews", "trec", "subj")
TITLES = {
    **{"imdb": "IMDB", "sst1": "SST-1", "sst2": "SST-2", "yelp": "Yelp", "agnews": "AG News", "trec": "TREC"},
    **{"subj": "Subj", "cnn": "CNN", "lstm": "LSTM", "bert": "BERT", "minilm": "MiniLM"},
    **{"base": "base", "l2": "l2", "l2x": "L2X", "iba": "IBA", "vmask": "VMASK", "sst_trees": "SST trees"},
    **{"select:select-0.5": "select at 50%", "select:select-0.25": "select at 25%"},
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
class ScoreKey:
    """Which score of an evaluation; empty fields do not matter, but `part` is exact."""

    metric: str
    by: str = ""
    hide: str = ""
    part: str = ""

    def fits(self, score: Record) -> bool:
        """Whether a score is this one."""
        return (
            score["metric"] == self.metric
            and self.by in ("", score["by"])
            and self.hide in ("", score["hide"])
            and self.part == score["part"]
        )


@dataclass(frozen=True)
class Results:
    """The results of a folder, those of variants left out.

    Attributes:
        grid: all of them.
        asides: name of a dataset that is not the paper's -> in what way, such as `stand-in`.
    """

    grid: GridResults
    asides: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """Read a folder that `vmask grid` wrote.

        Raises:
            DataError: where there are no results.
        """
        return cls(GridResults.read(folder))

    @cached_property
    def records(self) -> Mapping[tuple[str, str, str, str], Mapping[int, Record]]:
        """Dataset, model, mask and stage -> seed -> the file."""
        return {(*key[:3], stage): by_seed for (key, stage), by_seed in self.grid.records.items() if not key.variant}

    @cached_property
    def searches(self) -> Mapping[tuple[str, str, str], Record]:
        """Dataset, model and mask -> the file."""
        return {key[:3]: search for key, search in self.grid.searches.items() if not key.variant}

    @property
    def datasets(self) -> Mapping[str, Record]:
        """Name -> the file."""
        return self.grid.datasets

    @property
    def failed(self) -> Sequence[Record]:
        """Files of what failed."""
        return self.grid.failed

    def stage(self, dataset: str, model: str, mask: str, stage: str = TRAIN) -> Mapping[int, Record]:
        """The files of a stage by seed; those of the model that stands for one of the paper's.

        A variant of a method stands behind a colon, as in `select:select-0.5`.
        """
        method, _, variant = mask.partition(":")
        return self.grid.stage(Setting(dataset, self.model(model), method, variant), stage)

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

    def lowest_seed(
        self, dataset: str, model: str, stage: str, masks: Sequence[str]
    ) -> tuple[int, list[Record]] | None:
        """The lowest seed that all of the methods have, and their records; None where there is none."""
        by_mask = [self.stage(dataset, model, mask, stage) for mask in masks]
        seeds = set(by_mask[0]).intersection(*by_mask[1:])
        return (min(seeds), [records[min(seeds)] for records in by_mask]) if seeds else None

    def trained(self, dataset: str, model: str, mask: str, what: str = TEST_ACCURACY) -> dict[int, float]:
        """A number of the training of every seed, such as `dev_accuracy` or `seconds_per_epoch`."""
        records = sorted(self.stage(dataset, model, mask).items())
        return {seed: float(record[what]) for seed, record in records if record.get(what) is not None}

    def scored(self, dataset: str, model: str, mask: str, stage: str, key: ScoreKey) -> dict[int, float]:
        """A score of every seed."""
        by_seed = {}
        for seed, record in sorted(self.stage(dataset, model, mask, stage).items()):
            for score in record["scores"]:
                if key.fits(score) and score["value"] is not None:
                    by_seed[seed] = float(score["value"])
                    break
        return by_seed

    def accuracy(self, dataset: str, model: str, mask: str, what: str = TEST_ACCURACY) -> Estimate | None:
        """Test (or dev) accuracy with its interval: over seeds, or over texts where there is one seed."""
        by_seed = self.trained(dataset, model, mask, what)
        if len(by_seed) != 1:
            return over_seeds(by_seed)
        record = self.stage(dataset, model, mask)[next(iter(by_seed))]
        return over_texts(what, record, self.datasets.get(dataset, {}))

    def score(self, dataset: str, model: str, mask: str, stage: str, key: ScoreKey) -> Estimate | None:
        """A score with its interval: over seeds, or over texts where there is one seed."""
        by_seed = self.scored(dataset, model, mask, stage, key)
        if len(by_seed) != 1:
            return over_seeds(by_seed)
        record = self.stage(dataset, model, mask, stage)[next(iter(by_seed))]
        score = next(score for score in record["scores"] if key.fits(score))
        ends = interval_end(score["low"]), interval_end(score["high"])
        return Estimate(score["value"], *ends, score["n"], OVER_TEXTS)
