"""Estimates of how long the tasks of a grid take, from the time of similar tasks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vmask.data.datasets import Dataset
from vmask.grid.cell import short_name
from vmask.grid.store import CELLS, SEARCH, TRAIN, Store
from vmask.grid.task import Task

Group = tuple[str, str, str, str]
"""Kind, dataset, model and mask that tasks have in common; empty where they differ."""
Timing = tuple[float, str, "int | None"]
"""Seconds of a task, its dataset, and the number of texts to explain."""


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


def seconds_left(tasks: Iterable[Task], store: Store, size_of: SizeOf) -> tuple[float, int]:
    """Estimated seconds on one core for some tasks, and the number of tasks without an estimate.

    Args:
        tasks: the tasks to do.
        store: results of finished tasks.
        size_of: gives the size of a dataset, None if unknown.
    """
    timings = _timings(store)
    total, unknown = 0.0, 0
    for task in tasks:
        of, n = task.combination, None if task.stage is None else task.stage.n
        groups = _groups(task.kind, short_name(of.dataset), short_name(of.model), of.mask)
        group = next((group for group in groups if group in timings), None)
        if group is None:
            unknown += 1
        elif group[1]:
            total += _mean_seconds(timings[group])
        else:
            total += _scaled(timings[group], task.kind, size_of(of.dataset), n, size_of)
    return total, unknown


def _groups(kind: str, dataset: str, model: str, mask: str) -> tuple[Group, ...]:
    """The groups that a task is in, the most similar tasks first: those of its dataset, then those of any dataset."""
    return (kind, dataset, model, mask), (kind, dataset, model, ""), (kind, "", model, mask), (kind, "", model, "")


def _mean_seconds(timings: list[Timing]) -> float:
    return statistics.mean(seconds for seconds, _, _ in timings)


def _scaled(timings: list[Timing], kind: str, size: Size | None, n: int | None, size_of: SizeOf) -> float:
    """Seconds estimated from other datasets, in proportion to the number of words if that is known."""
    words = 0.0
    for _, dataset, texts in timings:
        measured = size_of(dataset)
        if measured is None:
            return _mean_seconds(timings)
        words += measured.words(kind, texts)
    if size is None or not words:
        return _mean_seconds(timings)
    return sum(seconds for seconds, _, _ in timings) * size.words(kind, n) / words


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


def _timings(store: Store) -> dict[Group, list[Timing]]:
    """The timings of finished tasks by group.

    As long as no training is done, the trials of a search stand in for it.
    """
    timings: dict[Group, list[Timing]] = {}
    trials: dict[Group, list[Timing]] = {}
    for record in store.records(CELLS):
        if record.get("status") == "done" and _is_cell(record):
            _add(timings, record["seconds"], record["stage"], record["cell"], record["asked"].get("n"))
    for record in store.records(SEARCH):
        if record.get("status") == "done" and _is_search(record):
            seconds = [trial["seconds"] for trial in record["trials"]]
            _add(timings, sum(seconds), SEARCH, record["combination"])
            _add(trials, statistics.mean(seconds), TRAIN, record["combination"])
    return {**trials, **timings}


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


def _add(
    timings: dict[Group, list[Timing]],
    seconds: float,
    kind: str,
    of: Mapping[str, Any],
    n: int | None = None,
) -> None:
    for group in _groups(kind, of["dataset"], of["model"], of["mask"]):
        timings.setdefault(group, []).append((seconds, of["dataset"], n))
