"""A job: a task with everything that a worker must know of other results, so that it reads no result file itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from vmask._core.parsing import read_text
from vmask.errors import VmaskError
from vmask.grid.cell import Cell, Combination, identity, short_name
from vmask.grid.experiment import Experiment
from vmask.grid.provenance import number_versions
from vmask.grid.search import unfinished_search
from vmask.grid.store import Store
from vmask.grid.task import Task, training_request, uses_of
from vmask.grid.warm_start import start_of


@dataclass(frozen=True)
class ModelOf:
    """Where the model of a cell is, or how it is trained.

    Attributes:
        request: the request of its training.
        folders: names of folders that it may be in; it is trained into the last if it is in none.
        start: the cell whose model it starts from, or None.
    """

    request: Mapping[str, Any]
    folders: tuple[str, ...]
    start: Cell | None = None


@dataclass(frozen=True)
class Job:
    """A task and what its worker must know.

    Attributes:
        task: the task.
        request: its request, see `Task.request`.
        models: the models that it uses, and those that these start from.
        unfinished: the record of a search some of whose trials are done, or None.
        journal: the journal of Optuna that accompanies it, or None.
        describe: whether the facts about the dataset are to be written too.
    """

    task: Task
    request: Mapping[str, Any]
    models: Mapping[Cell, ModelOf] = field(default_factory=dict)
    unfinished: Mapping[str, Any] | None = None
    journal: str | None = None
    describe: bool = False


@dataclass(frozen=True)
class Product:
    """What a worker has made of a job.

    Attributes:
        files: result files, by their paths below the results folder.
        texts: the same for what accompanies them and is no JSON.
        error: the error message, empty if there is none.
        trace: the traceback of the error.
        model: name of the folder of a model that was trained by the job, or None.
    """

    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    trace: str = ""
    model: str | None = None


def job_of(task: Task, experiment: Experiment, store: Store, data: str | None = None) -> Job:
    """The job of a task that can be started.

    Args:
        task: the task.
        experiment: its experiment.
        store: the result files.
        data: fingerprint of the dataset, None if unknown.
    """
    request = task.request(store, experiment)
    assert request is not None, f"{task.title} was started before its search"
    if isinstance(task.of, Combination):
        unfinished = unfinished_search(store, task.of, request)
        return Job(task, request, unfinished=unfinished, journal=_journal(store, task.of) if unfinished else None)
    models: dict[Cell, ModelOf] = {}
    _add_model(models, task.of, experiment, store, finished=task.stage is not None)
    for cell in task.others:
        _add_model(models, cell, experiment, store)
    return Job(task, request, models, describe=task.stage is None and not _is_described(task, store, data))


def _journal(store: Store, of: Combination) -> str | None:
    """The journal of Optuna that accompanies a search; None if there is none, or none that can be read."""
    with suppress(VmaskError, OSError):
        return read_text(store.journal(of.key))
    return None


def _is_described(task: Task, store: Store, data: str | None) -> bool:
    """Whether there is a file with the facts about the dataset of a task."""
    record = store.read(store.data(short_name(task.combination.dataset)))
    return record is not None and data in (None, record.get("fingerprint"))


def _add_model(
    models: dict[Cell, ModelOf], cell: Cell, experiment: Experiment, store: Store, finished: bool = True
) -> None:
    """Add the model of a cell and that which it starts from; a finished training may be of an older version."""
    request = training_request(store, experiment, cell)
    assert request is not None
    folders = [model_folder(cell, request, number_versions(uses_of(cell.combination)))]
    record = store.read(store.cell(cell.key)) if finished else None
    if record is not None and record["status"] == "done" and record["identity"] == identity(request):
        folders.insert(0, model_folder(cell, request, record["facts"].get("numbers", {})))
    start = start_of(experiment, cell)
    models[cell] = ModelOf(request, tuple(dict.fromkeys(folders)), start)
    if start is not None:
        _add_model(models, start, experiment, store)


def model_folder(cell: Cell, request: Mapping[str, Any], numbers: Mapping[str, int]) -> str:
    """Name of the model folder of a cell: different for different options or versions of the numbers."""
    return f"{cell.key}--{identity({**request, 'numbers': dict(numbers)})}"
