"""Estimates of how long the tasks of a grid take, from the time of similar tasks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vmask.data.datasets import Dataset
from vmask.grid.cell import short_name
from vmask.grid.store import CELLS, SEARCH, TRAIN, Store
from vmask.grid.task import Task

Group = tuple[str, str, str, str]
"""Kind, dataset, model and mask of a task."""
SHRINKAGE = 0.1
"""Penalty of the factors: one that was seen once counts for ten elevenths."""
SHORTEST = 0.01
"""Seconds that a task takes at least."""


@dataclass(frozen=True)
class Timing:
    """How long a task took.

    Attributes:
        group: its kind, dataset, model and mask.
        seconds: its time.
        texts: number of texts that it explained at most, None if that does not apply.
    """

    group: Group
    seconds: float
    texts: int | None = None


@dataclass(frozen=True)
class Size:
    """How large a dataset is.

    Attributes:
        rows: texts of each split.
        length: mean number of words that a model reads of a text.
    """

    rows: Mapping[str, int]
    length: float

    def words(self, kind: str, n: int | None) -> float:
        """Words that a task reads: those of the training texts, or of the `n` test texts that are explained."""
        if kind in (TRAIN, SEARCH):
            return self.rows["train"] * self.length
        rows = self.rows.get("test", 0)
        return min(rows, n or rows) * self.length


SizeOf = Callable[[str], "Size | None"]
FloatArray = npt.NDArray[np.float64]


class Estimator:
    """Learns from finished tasks how long others take.

    A task that was done with other seeds takes as long as these did. For another, the seconds a word of the tasks of
    its kind are taken apart into factors of model, method and dataset: a method that took twice as long as another on
    one dataset will do so on the next.

    Args:
        store: results of finished tasks.
        size_of: gives the size of a dataset, None if unknown.
    """

    def __init__(self, store: Store, size_of: SizeOf) -> None:
        self._size_of = lru_cache(maxsize=None)(size_of)
        self._timings: dict[Group, list[Timing]] = {}
        self._factors: dict[str, Factors] = {}
        trials: dict[Group, list[Timing]] = {}
        for timing in _cell_timings(store):
            self._timings.setdefault(timing.group, []).append(timing)
        for search, trial in _search_timings(store):
            self._timings.setdefault(search.group, []).append(search)
            trials.setdefault(trial.group, []).append(trial)
        self._timings = {**trials, **self._timings}  # trials stand in for trainings until one is done

    def add(self, task: Task, seconds: float) -> None:
        """Learn from a task that was just done."""
        timing = Timing(_group(task), seconds, _texts(task))
        self._timings.setdefault(timing.group, []).append(timing)
        self._factors.pop(task.kind, None)

    def seconds(self, task: Task) -> float | None:
        """Estimated seconds of a task on one core; None if no task of its kind was done with its model."""
        group = _group(task)
        if same := self._timings.get(group):
            return statistics.mean(timing.seconds for timing in same)
        kind, dataset, model, mask = group
        timings = [timing for of, all_of in self._timings.items() if of[0] == kind for timing in all_of]
        if not any(timing.group[2] == model for timing in timings):
            return None
        words = [self._words(timing.group[1], kind, timing.texts) for timing in timings]
        typical = math.exp(statistics.mean(math.log(number) for number in words if number) if any(words) else 0.0)
        if kind not in self._factors:
            rows = zip(timings, words, strict=True)
            per_word = [(of.group[1:], math.log(of.seconds / (number or typical))) for of, number in rows]
            self._factors[kind] = Factors(per_word)
        own = (any(words) and self._words(task.combination.dataset, kind, _texts(task))) or typical
        return math.exp(self._factors[kind].predict((dataset, model, mask))) * own

    def _words(self, dataset: str, kind: str, texts: int | None) -> float:
        """Words that a task reads; 0 if the size of its dataset is unknown."""
        size = self._size_of(dataset)
        return 0.0 if size is None else max(size.words(kind, texts), 1.0)


class Factors:
    """Effects that add up, by ridge regression; a level that was never seen has no effect.

    Args:
        rows: levels, such as a dataset, a model and a method, and a number.
    """

    def __init__(self, rows: Sequence[tuple[tuple[str, ...], float]]) -> None:
        self._columns = {level: number for number, level in enumerate(dict.fromkeys(_levels(rows)))}
        indicators = np.array([self._indicators(levels) for levels, _ in rows])
        numbers = np.array([number for _, number in rows])
        self._mean = float(numbers.mean())
        normal = indicators.T @ indicators + SHRINKAGE * np.eye(len(self._columns))
        self._effects = np.linalg.solve(normal, indicators.T @ (numbers - self._mean))

    def predict(self, levels: tuple[str, ...]) -> float:
        """The number for some levels."""
        return self._mean + float(self._indicators(levels) @ self._effects)

    def _indicators(self, levels: tuple[str, ...]) -> FloatArray:
        indicators = np.zeros(len(self._columns))
        for level in enumerate(levels):
            if level in self._columns:
                indicators[self._columns[level]] = 1.0
        return indicators


def _levels(rows: Sequence[tuple[tuple[str, ...], float]]) -> Iterator[tuple[int, str]]:
    for levels, _ in rows:
        yield from enumerate(levels)


def _group(task: Task) -> Group:
    of = task.combination
    return task.kind, short_name(of.dataset), short_name(of.model), of.mask


def _texts(task: Task) -> int | None:
    return None if task.stage is None else task.stage.n


def size_of_record(record: Mapping[str, Any]) -> Size:
    """The size of a dataset, from its file in a results folder."""
    length = float(record["average_length"])
    return Size(record["rows"], min(length, record.get("max_words") or length))


def size_of_dataset(dataset: Dataset) -> Size:
    """The size of a dataset that has no results yet."""
    limit = dataset.defaults.get("max_words")
    texts = dataset.splits["train"].texts
    lengths = [len(text.split()) for text in texts]
    words = sum(min(length, limit or length) for length in lengths)
    return Size({split: len(part) for split, part in dataset.splits.items()}, words / max(len(texts), 1))


def _cell_timings(store: Store) -> Iterator[Timing]:
    """The timings of finished trainings and stages."""
    for record in store.records(CELLS):
        if record.get("status") == "done" and _is_cell(record):
            of = record["cell"]
            group = (record["stage"], of["dataset"], of["model"], of["mask"])
            yield Timing(group, max(record["seconds"], SHORTEST), record["asked"].get("n"))


def _search_timings(store: Store) -> Iterator[tuple[Timing, Timing]]:
    """The timings of finished searches, each with that of one trial."""
    for record in store.records(SEARCH):
        if record.get("status") == "done" and _is_search(record):
            of, seconds = record["combination"], [trial["seconds"] for trial in record["trials"]]
            group = (of["dataset"], of["model"], of["mask"])
            mean = max(statistics.mean(seconds), SHORTEST)
            yield Timing((SEARCH, *group), max(sum(seconds), SHORTEST)), Timing((TRAIN, *group), mean)


def _is_cell(record: Mapping[str, Any]) -> bool:
    """Whether the file of a cell is complete. One that was changed by hand may not be, and is made again anyway."""
    return {"cell", "seconds", "stage", "asked"} <= record.keys() and _is_combination(record["cell"])


def _is_search(record: Mapping[str, Any]) -> bool:
    """Whether the file of a search is complete."""
    if not {"combination", "trials"} <= record.keys() or not _is_combination(record["combination"]):
        return False
    return bool(record["trials"]) and all("seconds" in trial for trial in record["trials"])


def _is_combination(fields: Mapping[str, Any]) -> bool:
    return {"dataset", "model", "mask"} <= fields.keys()
