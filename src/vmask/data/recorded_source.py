"""Record where a model's training data came from, and find that data again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmask.data.card import card_names
from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import DataError, VmaskError

MOST_BYTES = 1 << 36
"""Largest data that is hashed to check whether it is what was recorded; some system files have no end."""


def recorded_source(data: str, data_dir: str | None = None) -> dict[str, Any]:
    """Record of a model's training data: the name as it was given; for files, also their size and digest."""
    paths = [] if data in card_names() else _paths_named(data, data_dir)
    return {"source": data, **(_size_and_digest(paths[0]) if paths else {})}


def dataset_of(about: Mapping[str, Any], data: str | None = None, data_dir: str | None = None) -> Dataset:
    """Load the dataset that a model was trained on.

    A model folder may come from a stranger. So the recorded data is opened only if it is a dataset that vmask knows by
    name, or has the recorded content.

    Args:
        about: what the model folder says about its data (`TextClassifier.about_`).
        data: a dataset, file or folder to use instead of the recorded one.
        data_dir: folder with local datasets.

    Raises:
        VmaskError: if it cannot be read; the message says what to do.
    """
    if data is not None:
        known = about if Path(data).exists() else {}  # a dataset with a card names its columns itself
        return load_dataset(data, data_dir=data_dir, text=known.get("text"), label=known.get("label") or None)
    source = about.get("source") or about.get("dataset")
    if not isinstance(source, str):
        raise DataError("The model does not say which data it was trained on. Name the data: a file or a dataset.")
    name = Path(source).name
    try:
        path = source if source in card_names() else str(_as_recorded(source, about, data_dir))
        dataset = load_dataset(path, data_dir=data_dir, text=about.get("text"), label=about.get("label") or None)
    except VmaskError as error:
        raise DataError(
            f"The data that the model was trained on, '{name}', cannot be read here: {error} "
            "Name the data as it is called here."
        ) from None
    if about.get("dataset_fingerprint") not in (None, dataset.fingerprint):
        raise DataError(f"The data '{name}' has changed since the model was trained on it. Name the data.")
    return dataset


def _as_recorded(source: str, about: Mapping[str, Any], data_dir: str | None) -> Path:
    """The file or folder of that name that has the recorded content."""
    paths = _paths_named(source, data_dir)
    if not paths:
        raise DataError("it is not there.")
    recorded = {key: about.get(key) for key in ("source_bytes", "source_sha256")}
    for path in paths:
        try:
            if recorded["source_bytes"] == _size(path) <= MOST_BYTES and _size_and_digest(path) == recorded:
                return path
        except OSError:  # no permission, or a device
            continue
    raise DataError("what is there now is not what the model was trained on.")


def _paths_named(source: str, data_dir: str | None) -> list[Path]:
    """Files and folders of that name."""
    root = data_dir or os.environ.get("VMASK_DATA")
    names = [source, *([str(Path(root).expanduser() / source)] if root else [])]
    return [Path(name) for name in names if os.path.isfile(name) or os.path.isdir(name)]  # noqa: PTH112, PTH113 - unlike Path, never raises for odd names


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path))


def _size_and_digest(path: Path) -> dict[str, Any]:
    """Size and digest of a file, or of the files in a folder with their names.

    No more of a file is read than its size: some system files have no end.
    """
    digests = []
    for file in _files(path):
        hasher, left = hashlib.sha256(), file.stat().st_size
        with file.open("rb") as stream:
            while left and (block := stream.read(min(left, 1 << 20))):
                hasher.update(block)
                left -= len(block)
        digests.append((file.name, hasher.hexdigest()))
    if path.is_file():
        digest = digests[0][1]
    else:
        listing = "".join(f"{name}\0{digest}\n" for name, digest in digests)
        digest = hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
    return {"source_bytes": _size(path), "source_sha256": digest}
