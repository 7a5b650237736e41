"""What travels with a job to another machine: its dataset, word vectors, encoders and models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from vmask._core.files import replacing
from vmask.classifier import TextClassifier
from vmask.cluster.connection import import_ray
from vmask.cluster.parcels import Parcel, pack
from vmask.data.datasets import Dataset
from vmask.data.downloads import ASSETS, ENCODERS, VECTORS, cache_dir, fetch
from vmask.grid.cell import Cell, Combination, identity
from vmask.grid.experiment import Experiment
from vmask.grid.job import Job
from vmask.grid.sources import LocalSources
from vmask.grid.word_lists import spelled_out
from vmask.grid.worker import Places
from vmask.persistence.model_folder import CONFIG
from vmask.pretrained.word_vectors import DISTIL

MODELS_KEPT = 64
"""Number of models whose parcels are kept in the object store, for stages that need them again."""


@dataclass(frozen=True)
class Shipment:
    """References to what a job needs. Only what a machine lacks is fetched.

    Attributes:
        datasets: datasets by name, as references of Ray inside of a tuple.
        files: word vectors and encoders, by their names in options.
        assets: downloads, by name.
        models: trained models, by the names of their folders.
    """

    datasets: Mapping[str, tuple[Any]] = field(default_factory=dict)
    files: Mapping[str, Parcel] = field(default_factory=dict)
    assets: Mapping[str, Parcel] = field(default_factory=dict)
    models: Mapping[str, Parcel] = field(default_factory=dict)

    def unpack_assets(self) -> None:
        """Write downloads to the cache of this machine, as far as they are missing."""
        for name, parcel in self.assets.items():
            for member in ASSETS[name].files:
                path = cache_dir() / name / member.rpartition("/")[2]
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with replacing(path) as temporary:
                        shutil.copyfile(parcel.unpacked() / path.name, temporary)

    @property
    def digest(self) -> str:
        """A digest of the files that trainings read."""
        read = {name: parcel.digest for name, parcel in {**self.files, **self.assets}.items()}
        return identity(read)

    def trained(self, name: str) -> Path | None:
        """The folder of a trained model that came along."""
        return self.models[name].unpacked() if name in self.models else None

    def dataset(self, name: str) -> Dataset:
        """The dataset of a name."""
        dataset: Dataset = import_ray().get(self.datasets[name][0])
        return dataset

    def located(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with the paths of word vectors and encoders on this machine."""
        return {name: self._located(value) if isinstance(value, str) else value for name, value in options.items()}

    def model(self, name: str) -> str:
        """The name of a model; if it is the path of an encoder, its path on this machine."""
        return self._located(name)

    def _located(self, value: str) -> str:
        parts = [part.strip() for part in value.split(",")]
        return ",".join(self._path(part) for part in parts) if any(map(self._is_shipped, parts)) else value

    def _is_shipped(self, part: str) -> bool:
        return _name_of(part) in self.files

    def _path(self, part: str) -> str:
        name = _name_of(part)
        return part.replace(name, str(self.files[name].unpacked()), 1) if name in self.files else part


def _name_of(part: str) -> str:
    """The file or encoder of a part of `embeddings`: without `distil:` and the size behind it."""
    return part.removeprefix(DISTIL).partition("@")[0] if part.startswith(DISTIL) else part


class Shipper:
    """Puts what jobs need into the object store, each thing once.

    Args:
        experiment: the experiment.
        places: folders of the driver.
    """

    def __init__(self, experiment: Experiment, places: Places) -> None:
        self.experiment, self.places = experiment, places
        self.sources = LocalSources(places.data_dir, places.vectors_dir)
        self._dataset = lru_cache(maxsize=None)(self.sources.dataset)
        self._put = lru_cache(maxsize=None)(lambda name: (import_ray().put(self._dataset(name)),))
        self._packed = lru_cache(maxsize=None)(_packed)
        self._packed_model = lru_cache(maxsize=MODELS_KEPT)(pack)

    def shipment(self, job: Job) -> Shipment:
        """What a job needs.

        Raises:
            VmaskError: for a dataset or a file that is missing.
        """
        files: dict[str, Parcel] = {}
        assets: dict[str, Parcel] = {}
        for of, options in self._trainings(job):
            for name in self._names(of, options):
                path = Path(self.sources.located({"embeddings": name})["embeddings"]).expanduser()
                if name in (*VECTORS, *ENCODERS):
                    assets[name] = self._packed(_folder(fetch(name)))
                elif path.exists():
                    files[name] = self._packed(path)
        datasets = {job.task.combination.dataset, *(cell.combination.dataset for cell in job.models)}
        return Shipment({name: self._put(name) for name in datasets}, files, assets, self._models(job))

    def _trainings(self, job: Job) -> Iterator[tuple[Combination, Mapping[str, Any]]]:
        """The combinations that may be trained by a job, with their options; of a search all values of options."""
        if isinstance(job.task.of, Cell):
            yield from ((cell.combination, model.request["options"]) for cell, model in job.models.items())
        elif self.experiment.search is not None:
            of = job.task.of
            yield from ((of, {**of.options, **trial}) for trial in self.experiment.search.samples(of))

    def _names(self, of: Combination, options: Mapping[str, Any]) -> Iterator[str]:
        """Names and paths of word vectors, encoder and first model that a training reads, as its options have them."""
        defaults = self._dataset(of.dataset).defaults
        plain = spelled_out(options, self.experiment.word_lists)
        plan = TextClassifier(of.model, of.mask, device="cpu", **{**defaults, **plain}).plan()
        for part in str(plan.data.embeddings or "").split(","):
            if part.strip() not in ("", "random"):
                yield _name_of(part.strip())
        if plan.train.init_from:
            yield str(plan.train.init_from)
        if encoder := getattr(plan.model_options, "encoder", None):
            yield str(encoder)

    def _models(self, job: Job) -> dict[str, Parcel]:
        """The trained models that a job uses, as far as they are there."""
        found = {}
        for cell, model in job.models.items():
            if job.task.stage is None and cell == job.task.of:
                continue  # about to be trained
            for name in model.folders:
                if (self.places.models / name / CONFIG).exists():
                    found[name] = self._packed_model(self.places.models / name)
                    break
        return found


def _folder(path: Path) -> Path:
    """The folder of a download, which is a folder or the file in it."""
    return path if path.is_dir() else path.parent


def _packed(path: Path) -> Parcel:
    """A file of word vectors with its list of words, or a folder."""
    if path.is_dir():
        return pack(path)
    words = path.with_suffix(".vocab.txt")
    return pack(path, beside=[words] if words.exists() else [])


def worker_places(places: Places, experiment: Experiment, shipment: Shipment, gpus: float) -> Places:
    """The folders of a worker: in the cache of its machine, and a GPU if it has one.

    Models are kept apart by the driver's results folder, and by the files that they are trained with.
    """
    key = identity({"results": str(places.results), "files": shipment.digest})
    models = cache_dir() / "grid" / f"{experiment.name}-{key}"
    return replace(places, models=models, device="auto" if gpus else "cpu")
