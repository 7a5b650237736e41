"""Compare a dataset with the paper's two tables of datasets, and describe the differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import DataError
from vmask.text.words import count_words


@dataclass(frozen=True)
class CheckRow:
    """One quantity of a dataset and its value in the paper."""

    quantity: str
    ours: float
    paper: float | None
    """None if the paper does not have the dataset."""
    note: str = ""
    """How our value was counted."""

    @property
    def agrees(self) -> bool:
        """Whether both are equal up to the paper's rounding: lengths to words, large sizes to thousands."""
        if self.paper is None:
            return True
        step = 1000 if self.quantity in ("train", "dev", "test") and self.paper % 1000 == 0 else 1
        return abs(self.ours - self.paper) <= step / 2


@dataclass(frozen=True)
class DatasetCheck:
    """A dataset compared with the paper's tables."""

    name: str
    title: str
    rows: tuple[CheckRow, ...]
    differences: tuple[str, ...]
    """Descriptions of the differences."""
    notes: tuple[str, ...]
    """The notes of the dataset itself."""
    fingerprint: str

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        values = dataclasses.asdict(self)
        for row, value in zip(self.rows, values["rows"], strict=True):
            value["agrees"] = row.agrees
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def check_dataset(name: str, data_dir: str | Path | None = None) -> DatasetCheck:
    """Count classes, words and rows of a dataset with a card, and compare them with the paper.

    Args:
        name: the name of a card, or a folder with a `card.yaml`.
        data_dir: folder of local datasets; by default the variable VMASK_DATA.

    Raises:
        DataError: for data without a card.
    """
    dataset = load_dataset(name, data_dir=data_dir)
    card = dataset.card
    if card is None:
        raise DataError(
            f"'{name}' has no card, so there is nothing to check it against. Give the name of a dataset "
            "with a card, or put a card.yaml in its folder."
        )
    paper: dict[str, Any] = dataclasses.asdict(card.paper) if card.paper else {}
    counts = {split: count_words(dataset.splits[split].texts, card.cleaning) for split in ("train", "dev", "test")}
    everything = counts["train"] + counts["dev"] + counts["test"]
    over = everything if card.vocabulary_over == "all" else counts["train"]
    where = "all splits" if card.vocabulary_over == "all" else "train"
    texts = sum(len(dataset.splits[split]) for split in counts)
    rows = [
        CheckRow("classes", len(dataset.labels), paper.get("classes")),
        CheckRow(
            "average length",
            round(sum(everything.values()) / texts, 1),
            paper.get("average_length"),
            f"words a text after the {card.cleaning} cleaning, before cutting at {card.max_words}; all splits",
        ),
        *(CheckRow(split, len(dataset.splits[split]), paper.get(split), "rows") for split in counts),
        CheckRow(
            "vocabulary",
            sum(count > card.threshold for count in over.values()),
            paper.get("vocabulary"),
            f"words seen {card.threshold + 1} times or more in {where}" if card.threshold else f"words seen in {where}",
        ),
    ]
    return DatasetCheck(
        dataset.name,
        card.title,
        tuple(rows),
        tuple(_differences(dataset, rows)),
        dataset.notes,
        dataset.fingerprint,
    )


def _differences(dataset: Dataset, rows: list[CheckRow]) -> Iterator[str]:
    for row in rows:
        if row.agrees or row.paper is None:
            continue
        percent = 100 * (row.ours - row.paper) / row.paper
        text = f"{row.quantity}: ours {row.ours:,} ({row.note}), paper {row.paper:,}; {percent:+.1f}%."
        if dataset.card and dataset.card.standin:
            text += " This is stand-in data, not the paper's rows."
        elif row.quantity == "vocabulary":
            known = dataset.card.vocabulary_note if dataset.card else ""
            text += f" {known or 'The paper gives neither its cleaning nor which rows are in dev.'}"
        elif row.quantity == "average length":
            text += " The paper does not say how it counts words."
        yield text
