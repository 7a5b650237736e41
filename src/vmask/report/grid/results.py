"""The results of a grid, read from their files: records by setting and seed, every number as a row, their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmask.errors import DataError
from vmask.evaluation.statistics import Estimate, mean_interval, seeds_interval
from vmask.grid.store import CELLS, DATA, SEARCH, TRAIN, Store

TEST_ACCURACY, DEV_ACCURACY, SECONDS = "test_accuracy", "dev_accuracy", "seconds_per_epoch"
TRAINING_NUMBERS = (TEST_ACCURACY, DEV_ACCURACY, SECONDS)
"""Numbers of every training, beside what later stages measure."""
OVER_TEXTS = "over texts"
"""How the interval of a single training is made."""

Record = Mapping[str, Any]
"""What a file of results holds."""


class Setting(NamedTuple):
    """What trainings have in common that differ in the seed alone."""

    dataset: str
    model: str
    mask: str
    variant: str = ""


class Measurement(NamedTuple):
    """One number of one training."""

    dataset: str
    model: str
    mask: str
    variant: str
    seed: int
    stage: str
    metric: str
    part: str
    by: str
    hide: str
    value: float
    low: float
    high: float
    n: int
    headline: bool

    @property
    def setting(self) -> Setting:
        """The setting of the training."""
        return Setting(self.dataset, self.model, self.mask, self.variant)


@dataclass(frozen=True)
class GridResults:
    """All results of a folder.

    Attributes:
        records: setting and stage -> seed -> the file, of what is done.
        searches: setting -> the file.
        datasets: name -> the file.
        failed: files of what failed.
    """

    records: Mapping[tuple[Setting, str], Mapping[int, Record]]
    searches: Mapping[Setting, Record]
    datasets: Mapping[str, Record]
    failed: Sequence[Record]

    @classmethod
    def read(cls, folder: str | Path) -> GridResults:
        """Read a folder that `vmask grid` wrote.

        Raises:
            DataError: where there are no results, or one is damaged.
        """
        store = Store(Path(folder))
        records: dict[tuple[Setting, str], dict[int, Record]] = {}
        failed = []
        for record in store.records(CELLS):
            if record["status"] != "done":
                failed.append(record)
                continue
            records.setdefault((_setting(record["cell"]), record["stage"]), {})[record["cell"]["seed"]] = record
        if not records and not failed:
            raise DataError(f"{folder} holds no results. Make some with: vmask grid experiments/smoke.yaml")
        searches = {
            _setting(search["combination"]): search for search in store.records(SEARCH) if search["status"] == "done"
        }
        return cls(records, searches, {facts["name"]: facts for facts in store.records(DATA)}, failed)

    @cached_property
    def settings(self) -> list[Setting]:
        """Every setting that has results, in the order of the files."""
        return list(dict.fromkeys(setting for setting, _ in self.records))

    def stage(self, setting: Setting, stage: str = TRAIN) -> Mapping[int, Record]:
        """The files of a stage by seed."""
        return self.records.get((setting, stage), {})

    @cached_property
    def measurements(self) -> list[Measurement]:
        """Every number of every training, in the order of the files."""
        return [
            measurement
            for (setting, stage), by_seed in self.records.items()
            for seed, record in sorted(by_seed.items())
            for measurement in self._of_record(setting, seed, stage, record)
        ]

    def _of_record(self, setting: Setting, seed: int, stage: str, record: Record) -> Iterator[Measurement]:
        if stage == TRAIN:
            for name in TRAINING_NUMBERS:
                estimate = over_texts(name, record, self.datasets.get(setting.dataset, {}))
                if estimate is not None:
                    numbers = (estimate.value, estimate.low, estimate.high, estimate.n)
                    yield Measurement(*setting, seed, stage, name, "", "", "", *numbers, True)
            return
        for score in record["scores"]:
            if score["value"] is not None:
                which = (score["metric"], score["part"], score["by"], score["hide"])
                numbers = (float(score["value"]), interval_end(score["low"]), interval_end(score["high"]), score["n"])
                yield Measurement(*setting, seed, stage, *which, *numbers, bool(score.get("headline")))


def over_seeds(by_seed: Mapping[int, float]) -> Estimate | None:
    """Mean over seeds with its t interval; None without any.

    Seeds that happen to give the same number have no interval: one of no width would claim to be certain.
    """
    if not by_seed:
        return None
    estimate = seeds_interval(list(by_seed.values()))
    return replace(estimate, low=nan, high=nan) if len(set(by_seed.values())) == 1 else estimate


def over_texts(name: str, record: Record, facts: Record) -> Estimate | None:
    """A number of one training with its interval over texts, where files tell enough for one.

    Args:
        name: one of `TRAINING_NUMBERS`.
        record: of the training.
        facts: about its dataset; empty where they are not among the results.
    """
    if record.get(name) is None:
        return None
    value = float(record[name])
    if name == TEST_ACCURACY and (right := right_answers(record, facts)) is not None:
        return mean_interval(right)
    dev = facts.get("rows", {}).get("dev")
    if name == DEV_ACCURACY and dev:  # files do not keep predictions of dev
        right = round(dev * value)
        return mean_interval(np.repeat([1.0, 0.0], [right, dev - right]))
    return Estimate(value, nan, nan, 1, "one training")


def right_answers(record: Record, facts: Record) -> NDArray[np.float64] | None:
    """(N,) 1 for every test text that a training classifies rightly, else 0; None where files do not tell.

    Args:
        record: of the training.
        facts: about its dataset.
    """
    if facts.get("test_labels") is None or record.get("test") is None:
        return None
    truth = [facts["labels"][int(label)] for label in facts["test_labels"]]
    predicted = [record["test"]["labels"][label] for label in record["test"]["predicted"]]
    return np.array([a == b for a, b in zip(truth, predicted, strict=True)], np.float64)


def signature(cells: Sequence[Mapping[int, Record]], *more: str) -> str:
    """The line under a table that says what its numbers are of: seeds, texts, code, machine.

    Args:
        cells: for each cell, seed -> the file.
        more: what else is told, before it.
    """
    records = [record for by_seed in cells for record in by_seed.values()]
    texts = among(record["measured"]["n"] for record in records if "measured" in record)
    parts = [*more, f"n {texts} texts" if texts else "", count_seeds([list(by_seed) for by_seed in cells])]
    return "; ".join(filter(None, [*parts, made_by(records)]))


def made_by(records: Iterable[Record]) -> str:
    """The code and the machines."""
    facts = [record["facts"] for record in records]
    versions = among(fact["versions"].get("vmask", "?") for fact in facts)
    commits = among(fact["commit"] or "no commit" for fact in facts)
    threads = among(fact["threads"] for fact in facts if "threads" in fact)
    machines = among(fact["machine"] for fact in facts)
    return "; ".join(filter(None, [f"vmask {versions} ({commits})", f"threads {threads}" if threads else "", machines]))


def count_seeds(seeds: Sequence[Sequence[int]]) -> str:
    """How many trainings a cell has, and which seeds."""
    counts = [len(of_cell) for of_cell in seeds if of_cell]
    least, most = min(counts), max(counts)
    every = sorted({seed for of_cell in seeds for seed in of_cell})
    whole = every == list(range(every[0], every[-1] + 1)) and len(every) > 1
    which = f"{every[0]}-{every[-1]}" if whole else ", ".join(map(str, every))
    count = str(most) if least == most else f"{least} to {most}"
    return f"{count} {'seed' if most == 1 else 'seeds'} a cell ({which})"


def among(values: Iterable[Any]) -> str:
    """Different values in their order; numbers by size."""
    different = set(values)
    if all(isinstance(value, int) for value in different):
        return ", ".join(f"{value:,}" for value in sorted(different))
    return ", ".join(sorted(map(str, different)))


def _setting(of: Record) -> Setting:
    return Setting(of["dataset"], of["model"], of["mask"], of["variant"])


def interval_end(value: float | None) -> float:
    """An end of an interval; NaN where there is none."""
    return nan if value is None else float(value)
