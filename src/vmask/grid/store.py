"""The files of results: what is done, what failed, what was asked for otherwise or has numbers of an older version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vmask._core.files import write_text
from vmask._core.parsing import read_json
from vmask.errors import DataError, FileMissing
from vmask.grid.result_schema import check_record

CELLS, SEARCH, DATA = "cells", "search", "data"
"""Folders of a results folder: trainings and their stages, searches for hyperparameters, facts about datasets."""
TRAIN = "train"
"""The stage that comes first, whose file has the cell's bare name."""

State = Literal["done", "older", "failed", "missing", "changed"]
"""`older`: done, with numbers of another version. `changed`: there, but of other options or data than are asked for."""


@dataclass(frozen=True)
class Store:
    """A folder of results. A file is there in full or not at all, and a missing one is work to do."""

    folder: Path

    def cell(self, key: str, stage: str = TRAIN) -> Path:
        """The file of a cell's stage."""
        return self.folder / CELLS / (f"{key}.json" if stage == TRAIN else f"{key}.{stage}.json")

    def search(self, key: str) -> Path:
        """The file of the search for a combination's hyperparameters."""
        return self.folder / SEARCH / f"{key}.json"

    def data(self, name: str) -> Path:
        """The file with facts about a dataset."""
        return self.folder / DATA / f"{name}.json"

    def read(self, path: Path) -> dict[str, Any] | None:
        """A file, or None where there is none.

        Raises:
            DataError: for a damaged one.
        """
        try:
            loaded = read_json(path)
        except FileMissing:
            return None
        except DataError as error:
            raise DataError(f"{path} is damaged. {error} Remove it, and the grid makes it anew.") from None
        if not isinstance(loaded, dict):
            raise DataError(f"{path} holds no result. Remove it, and the grid makes it anew.")
        check_record(loaded, path)
        return loaded

    def write(self, path: Path, record: Mapping[str, Any]) -> None:
        """Write a file, whole or not at all: a line for each part, so that changes can be read."""
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = ",\n".join(f"{json.dumps(key)}: {_compact(value)}" for key, value in record.items())
        write_text(path, f"{{\n{parts}\n}}\n")

    def state(self, path: Path, identity: str, numbers: Mapping[str, int], data: str | None = None) -> State:
        """How it stands with what is asked for now.

        Args:
            path: the file.
            identity: of what is asked for.
            numbers: versions of what makes the numbers; a record without one has version 1.
            data: fingerprint of the dataset as it is now, None where that is not known.
        """
        record = self.read(path)
        if record is None:
            return "missing"
        if record.get("identity") != identity:
            return "changed"
        if record.get("status") == "running":  # a search that was cut off
            return "missing"
        if record.get("status") != "done":
            return "failed"
        if data is not None and _data_of(record) not in (None, data):
            return "changed"
        recorded = record.get("facts", {}).get("numbers", {})
        return "done" if all(recorded.get(name, 1) == version for name, version in numbers.items()) else "older"

    def records(self, folder: str = CELLS) -> Iterator[dict[str, Any]]:
        """All files of one of the folders, in the order of their names."""
        for path in sorted((self.folder / folder).glob("*.json")):
            record = self.read(path)
            if record is not None:
                yield record


def _data_of(record: Mapping[str, Any]) -> str | None:
    """The fingerprint of the dataset that a training, a stage or a search is of; None where it does not say."""
    found = (record.get("dataset", {}).get("fingerprint"), record.get("measured", {}).get("fingerprint"))
    return next(filter(None, (*found, record.get("facts", {}).get("data"))), None)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
