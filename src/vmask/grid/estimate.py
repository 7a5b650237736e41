"""How long pieces of a grid's work may take, by what like pieces took."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vmask.data.datasets import Dataset
from vmask.grid.cell import short_name
from vmask.grid.store import CELLS, SEARCH, TRAIN, Store
from vmask.grid.worker import Task

Guess = tuple[str, str, str, str]
"""What pieces have in common: kind, dataset, model and mask; empty where these differ."""
Took = tuple[float, str, "int | None"]
"""Seconds of a piece, its dataset, and how many texts it was to explain."""


@dataclass(frozen=True)
class Size:
    """How large a dataset is.

    Attributes:
        rows: texts of each split.
        length: words that a model reads of a text, on average.
    """

    rows: Mapping[str, int]
    length: float

    def words(self, kind: str, n: int | None) -> float:
        """Words that a piece of work is about: of the training texts, or of the `n` test texts that are explained."""
        if kind in (TRAIN, SEARCH):
            return self.rows["train"] * self.length
        rows = self.rows.get("test", 0)
        return min(rows, n or rows) * self.length


SizeOf = Callable[[str], "Size | None"]


def seconds_left(tasks: Iterable[Task], store: Store, size_of: SizeOf) -> tuple[float, int]:
    """Seconds of one core for some tasks, and how many of them have nothing to go by.

    Args:
        tasks: what is to do.
        store: what was done.
        size_of: the size of a dataset, None where that cannot be known.
    """
    took = _took(store)
    total, unknown = 0.0, 0
    for task in tasks:
        of, n = task.combination, None if task.stage is None else task.stage.n
        dataset, model = short_name(of.dataset), short_name(of.model)
        same, others = (
            next((took[guess] for guess in guesses if guess in took), None)
            for guesses in _guesses(task.kind, dataset, model, of.mask)
        )
        if same is not None:
            total += statistics.mean(seconds for seconds, _, _ in same)
        elif others is not None:
            total += _scaled(others, task.kind, size_of(of.dataset), n, size_of)
        else:
            unknown += 1
    return total, unknown


def _guesses(kind: str, dataset: str, model: str, mask: str) -> tuple[tuple[Guess, ...], tuple[Guess, ...]]:
    """What a piece has in common with others, best first: those of its dataset, and those of any."""
    return ((kind, dataset, model, mask), (kind, dataset, model, "")), ((kind, "", model, mask), (kind, "", model, ""))


def _scaled(others: list[Took], kind: str, size: Size | None, n: int | None, size_of: SizeOf) -> float:
    """Seconds by what it took on other datasets: in the proportion of the words, where these are known."""
    sizes = [size_of(dataset) for _, dataset, _ in others]
    words = [other.words(kind, one[2]) for other, one in zip(sizes, others, strict=True) if other is not None]
    if size is None or len(words) < len(others) or not sum(words):
        return statistics.mean(seconds for seconds, _, _ in others)
    return sum(seconds for seconds, _, _ in others) * size.words(kind, n) / sum(words)


def size_of_record(record: Mapping[str, Any]) -> Size:
    """The size of a dataset that a results folder describes."""
    length = float(record["average_length"])
    return Size(record["rows"], min(length, record.get("max_words") or length))


def size_of_dataset(dataset: Dataset) -> Size:
    """The size of a dataset that no result is about yet."""
    cut = dataset.defaults.get("max_words")
    texts = dataset.splits["train"].texts
    words = sum(min(count, cut or count) for count in (len(text.split()) for text in texts))
    return Size({split: len(part) for split, part in dataset.splits.items()}, words / max(len(texts), 1))


def _took(store: Store) -> dict[Guess, list[Took]]:
    """Finished pieces of work by what they have in common: seconds, dataset, and how many texts were to be explained.

    Trials of a search tell how long a training takes, where none is done yet.
    """
    took: dict[Guess, list[Took]] = {}
    trials: dict[Guess, list[Took]] = {}
    for record in store.records(CELLS):
        if record.get("status") == "done" and _tells(record, "cell"):
            _note(took, record["seconds"], record["stage"], record["cell"], record["asked"].get("n"))
    for record in store.records(SEARCH):
        if record.get("status") == "done" and _tells(record, "combination"):
            seconds = [trial["seconds"] for trial in record["trials"]]
            _note(took, sum(seconds), SEARCH, record["combination"])
            _note(trials, statistics.mean(seconds), TRAIN, record["combination"])
    return {**trials, **took}


def _tells(record: Mapping[str, Any], of: str) -> bool:
    """Whether a file has what is looked for; one that was changed by hand may not, and is done again anyway."""
    needed = ("seconds", "stage", "asked") if of == "cell" else ("trials",)
    whole = {*needed, of} <= record.keys() and {"dataset", "model", "mask"} <= record[of].keys()
    return whole and (of == "cell" or (bool(record["trials"]) and all("seconds" in one for one in record["trials"])))


def _note(
    took: dict[Guess, list[Took]],
    seconds: float,
    kind: str,
    of: Mapping[str, Any],
    n: int | None = None,
) -> None:
    for guesses in _guesses(kind, of["dataset"], of["model"], of["mask"]):
        for guess in guesses:
            took.setdefault(guess, []).append((seconds, of["dataset"], n))
