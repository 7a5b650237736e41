"""Record where a model's training data came from, and find that data again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmask.config import SplitConfig, make, to_dict
from vmask.data.card import card_names
from vmask.data.config import ReadConfig
from vmask.data.datasets import Dataset, load_dataset
from vmask.data.label_columns import recorded_separator
from vmask.data.patterns import files_of, is_pattern
from vmask.data.targets import LabelBins
from vmask.errors import DataError, FileMissing, VmaskError

MOST_BYTES = 1 << 36
"""Largest data that is hashed to check whether it is what was recorded; some system files have no end."""


def recorded_source(data: str, data_dir: str | None = None, reading: ReadConfig | None = None) -> dict[str, Any]:
    """Record of a model's training data: its name as it was given; of files also their size, digest and reading."""
    places = [] if data in card_names() else _places(data, data_dir)
    how = {name: value for name, value in to_dict(reading or ReadConfig()).items() if value is not None}
    return {"source": data, **(_size_and_digest(places[0]) if places else {}), **({"reading": how} if how else {})}


def columns_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the data that a model was trained on, as options of `load_dataset`."""
    return {
        "text": about.get("text"),
        "label": about.get("label") or None,
        "label_separator": recorded_separator(about),
    }


def dataset_of(
    about: Mapping[str, Any],
    data: str | None = None,
    data_dir: str | None = None,
    reading: ReadConfig | None = None,
) -> Dataset:
    """Load the dataset that a model was trained on.

    A model folder may come from a stranger. So the recorded data is opened only if it is a dataset that vmask knows by
    name, or has the recorded content.

    Args:
        about: what the model folder says about its data (`TextClassifier.about_`).
        data: a dataset, file or folder to use instead of the recorded one.
        data_dir: folder with local datasets.
        reading: how files are read; by default the recorded data as it was, and other data by its look.

    Raises:
        VmaskError: if it cannot be read; the message says what to do.
    """
    if data is not None:
        known = about if is_local(data) else {}  # a dataset with a card names its columns itself
        how = to_dict(reading or ReadConfig())
        return load_dataset(
            data,
            data_dir=data_dir,
            **columns_of(known),
            split=recorded_split(about) if known else None,
            label_bins=recorded_bins(about) or LabelBins(()),
            **how,
        )
    source = about.get("source") or about.get("dataset")
    if not isinstance(source, str):
        raise DataError("The model does not say which data it was trained on. Name the data: a file or a dataset.")
    name = Path(source).name
    try:
        path = source if source in card_names() else _as_recorded(source, about, data_dir)
        how = to_dict(reading or ReadConfig())
        recorded = about.get("reading")
        if isinstance(recorded, Mapping):
            how = {**recorded, **{name: value for name, value in how.items() if value is not None}}
        dataset = load_dataset(
            path,
            data_dir=data_dir,
            **columns_of(about),
            split=recorded_split(about),
            label_bins=recorded_bins(about) or LabelBins(()),
            **how,
        )
    except VmaskError as error:
        raise DataError(
            f"The data that the model was trained on, '{name}', cannot be read here: {error} "
            "Name the data as it is called here."
        ) from None
    if about.get("dataset_fingerprint") not in (None, dataset.fingerprint):
        raise DataError(f"The data '{name}' has changed since the model was trained on it. Name the data.")
    return dataset


def split_of(path: Path, about: Mapping[str, Any]) -> SplitConfig | None:
    """How to hold out splits of a file or folder: as in training if it is the training data, else by default."""
    return recorded_split(about) if path.exists() and path.name == about.get("dataset") else None


def recorded_split(about: Mapping[str, Any]) -> SplitConfig:
    """How the splits of a model's training data were held out; in older folders, row by row.

    Raises:
        ConfigError: if that is no record of ours.
    """
    recorded = about.get("split")
    return make(SplitConfig, recorded) if isinstance(recorded, dict) else SplitConfig(duplicates="ignore")


def recorded_bins(about: Mapping[str, Any]) -> LabelBins | None:
    """The ranges of numbers that are the classes of a model, if it was trained on such; None for other models.

    Raises:
        DataError: if that is no record of ours.
    """
    return None if about.get("label_bins") is None else LabelBins.from_dict(about["label_bins"])


@dataclass(frozen=True)
class _Place:
    """Where data may be.

    Attributes:
        path: its path, or a pattern.
        files: its files.
        single: whether it is one file, not a folder or a pattern.
    """

    path: str
    files: list[Path]
    single: bool


def _as_recorded(source: str, about: Mapping[str, Any], data_dir: str | None) -> str:
    """The file, folder or pattern of that name that has the recorded content."""
    places = _places(source, data_dir)
    if not places:
        raise DataError("it is not there.")
    recorded = {key: about.get(key) for key in ("source_bytes", "source_sha256")}
    for place in places:
        try:
            if recorded["source_bytes"] == _size(place) <= MOST_BYTES and _size_and_digest(place) == recorded:
                return place.path
        except OSError:  # no permission, or a device
            continue
    raise DataError("what is there now is not what the model was trained on.")


def is_local(source: str) -> bool:
    """Whether there is a file or folder of that name, or files that match it as a pattern."""
    return os.path.exists(source) or is_pattern(source)  # noqa: PTH110 - unlike Path, never raises for odd names


def _places(source: str, data_dir: str | None) -> list[_Place]:
    """Files, folders and patterns of that name."""
    root = data_dir or os.environ.get("VMASK_DATA")
    places = []
    for name in (source, *([str(Path(root).expanduser() / source)] if root else [])):
        if os.path.isfile(name):  # noqa: PTH113
            places.append(_Place(name, [Path(name)], single=True))
        elif os.path.isdir(name):  # noqa: PTH112
            files = sorted(file for file in Path(name).iterdir() if file.is_file())
            places.append(_Place(name, files, single=False))
        elif is_pattern(name):
            with suppress(FileMissing):
                places.append(_Place(name, files_of(name), single=False))
    return places


def _size(place: _Place) -> int:
    return sum(file.stat().st_size for file in place.files)


def _size_and_digest(place: _Place) -> dict[str, Any]:
    """Size and digest of a file, or of several with their names.

    No more of a file is read than its size: some system files have no end.
    """
    digests = []
    for file in place.files:
        hasher, left = hashlib.sha256(), file.stat().st_size
        with file.open("rb") as stream:
            while left and (block := stream.read(min(left, 1 << 20))):
                hasher.update(block)
                left -= len(block)
        digests.append((file.name, hasher.hexdigest()))
    if place.single:
        digest = digests[0][1]
    else:
        listing = "".join(f"{name}\0{digest}\n" for name, digest in digests)
        digest = hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
    return {"source_bytes": _size(place), "source_sha256": digest}
