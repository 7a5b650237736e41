"""The result files, and the state of each: done, failed, of another request, or with numbers of an older version."""

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
"""Subfolders: trainings and their stages, hyperparameter searches, facts about datasets."""
TRAIN = "train"
"""The first stage, whose file has the name of the cell alone."""

State = Literal["done", "older", "failed", "missing", "changed"]
"""`older`: done, with numbers of another version. `changed`: done with other options or data than requested."""


@dataclass(frozen=True)
class Store:
    """A folder of results. A file is complete or missing; a missing one is a task to do."""

    folder: Path

    def cell(self, key: str, stage: str = TRAIN) -> Path:
        """The file of a cell's stage."""
        return self.folder / CELLS / (f"{key}.json" if stage == TRAIN else f"{key}.{stage}.json")

    def search(self, key: str) -> Path:
        """The file of a combination's hyperparameter search."""
        return self.folder / SEARCH / f"{key}.json"

    def journal(self, key: str) -> Path:
        """The journal of Optuna that accompanies a combination's hyperparameter search."""
        return self.folder / SEARCH / f"{key}.journal.log"

    def data(self, name: str) -> Path:
        """The file with facts about a dataset."""
        return self.folder / DATA / f"{name}.json"

    def read(self, path: Path) -> dict[str, Any] | None:
        """The content of a file, or None if it does not exist.

        Raises:
            DataError: if the file is damaged.
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
        """Write a file atomically, one line for each key, so that diffs are readable."""
        parts = ",\n".join(f"{json.dumps(key)}: {_compact(value)}" for key, value in record.items())
        self.write_text(path, f"{{\n{parts}\n}}\n")

    def write_text(self, path: Path, text: str) -> None:
        """Write a text atomically, in a folder that is made if it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)

    def state(self, path: Path, identity: str, numbers: Mapping[str, int], data: str | None = None) -> State:
        """The state of a result file for a request.

        Args:
            path: the file.
            identity: identity of the request.
            numbers: current versions, see `number_versions`; a record without one has version 1.
            data: current fingerprint of the dataset, None if unknown.
        """
        record = self.read(path)
        if record is None:
            return "missing"
        if record.get("identity") != identity:
            return "changed"
        if record.get("status") == "running":  # an interrupted search
            return "missing"
        if record.get("status") != "done":
            return "failed"
        if data is not None and _data_of(record) not in (None, data):
            return "changed"
        recorded = record.get("facts", {}).get("numbers", {})
        return "done" if all(recorded.get(name, 1) == version for name, version in numbers.items()) else "older"

    def records(self, folder: str = CELLS) -> Iterator[dict[str, Any]]:
        """All files of a subfolder, in the order of their names."""
        for path in sorted((self.folder / folder).glob("*.json")):
            record = self.read(path)
            if record is not None:
                yield record


def _data_of(record: Mapping[str, Any]) -> str | None:
    """The fingerprint of the dataset of a training, a stage or a search; None if it is not recorded."""
    places = (("dataset", "fingerprint"), ("measured", "fingerprint"), ("facts", "data"))
    fingerprints = (record.get(part, {}).get(key) for part, key in places)
    return next(filter(None, fingerprints), None)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
