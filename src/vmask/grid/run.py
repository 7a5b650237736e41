"""A grid: an experiment and its results, what is done of it, how long the rest takes, and its run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from glob import escape
from pathlib import Path

from vmask._core.files import remove_folder, sweep
from vmask.data.datasets import load_dataset
from vmask.errors import VmaskError
from vmask.grid.cell import identity, short_name
from vmask.grid.claims import Claims
from vmask.grid.course import Course, Outcome
from vmask.grid.engines.contract import Engine
from vmask.grid.engines.local import LocalEngine
from vmask.grid.estimate import Estimator, Size, size_of_dataset, size_of_record
from vmask.grid.experiment import Experiment, Where
from vmask.grid.order import tasks_of
from vmask.grid.provenance import number_versions
from vmask.grid.store import State, Store
from vmask.grid.task import Task
from vmask.grid.worker import Places


@dataclass(frozen=True)
class Wanted:
    """Which finished tasks are done again.

    Attributes:
        failed: tasks that failed before.
        stale: tasks whose numbers are of an older version.
    """

    failed: bool = False
    stale: bool = False

    def to_do(self, state: State) -> bool:
        """Whether a task in this state is to be done."""
        if state == "failed":
            return self.failed
        if state == "older":
            return self.stale
        return state in ("missing", "changed")


@dataclass(frozen=True)
class Local:
    """A dataset as it is on this machine.

    Attributes:
        fingerprint: fingerprint of its texts and labels.
        size: number of texts and words.
    """

    fingerprint: str
    size: Size


@dataclass
class Grid:
    """An experiment and its results.

    Attributes:
        experiment: the experiment.
        places: folders and threads.
        wanted: which finished tasks are done again.
        where: the selected cells; others are trained only if these need them.
        tasks: all tasks in their order.
    """

    experiment: Experiment
    places: Places
    wanted: Wanted = field(default_factory=Wanted)
    where: Where = field(default_factory=Where)

    def __post_init__(self) -> None:
        self.store: Store = self.places.store
        self.local = lru_cache(maxsize=None)(self._read_local)
        self.tasks = list(dict.fromkeys(tasks_of(self.experiment, self.where)))  # two blocks may share a search

    def state(self, task: Task) -> State:
        """The state of a task."""
        request = task.request(self.store, self.experiment)
        if request is None:
            return "missing"
        local = self.local(task.combination.dataset)
        data = None if local is None else local.fingerprint
        return self.store.state(task.path(self.store), identity(request), number_versions(task.uses), data)

    def error(self, task: Task) -> str:
        """The error message of a task that failed."""
        record = self.store.read(task.path(self.store)) or {}
        return str(record.get("error", ""))

    def run(
        self,
        jobs: int,
        on_outcome: Callable[[Task, Outcome, str], None],
        on_wait: Callable[[str], None] = lambda message: None,
        on_start: Callable[[Task, str], None] = lambda task, where: None,
        engine: Engine | None = None,
    ) -> Counter[str]:
        """Do the tasks that are to be done; those that another grid is working on are waited for.

        Args:
            jobs: number of processes, if no engine is given.
            on_outcome: called with the outcome of each task and its error message, empty if there is none.
            on_wait: called with a message if all that is left is being done by other grids.
            on_start: called with each task that a worker begins with, and where that is.
            engine: does the tasks; by default processes of this machine.

        Returns:
            The number of tasks with each outcome.
        """
        states = {task: self.state(task) for task in self.tasks}
        self._tidy(task for task, state in states.items() if state == "done")
        waiting = [task for task, state in states.items() if self.wanted.to_do(state)]
        failed = {task for task, state in states.items() if state == "failed"}.difference(waiting)
        with (
            Claims(self.store, self.places.models) as claims,
            engine or LocalEngine(self.experiment, self.places, min(jobs, max(len(waiting), 1))) as running,
        ):
            return Course(self, running, claims, on_outcome, on_start, waiting, failed).run(on_wait)

    def _tidy(self, done: Iterable[Task]) -> None:
        """Remove what killed runs left among the models: temporary files, explanations of finished stages."""
        sweep(self.places.models)
        for task in done:
            if task.stage is not None:
                for explanations in self.places.models.glob(f"{escape(task.of.key)}--*.{escape(task.stage.name)}"):
                    remove_folder(explanations)

    def estimator(self) -> Estimator:
        """Estimates how long tasks take, from the results so far."""
        return Estimator(self.store, self._size)

    def _size(self, dataset: str) -> Size | None:
        record = self.store.read(self.store.data(short_name(dataset)))
        if record is not None:
            return size_of_record(record)
        local = self.local(dataset)
        return None if local is None else local.size

    def _read_local(self, dataset: str) -> Local | None:
        """The dataset of this name on this machine; nothing is downloaded."""
        folders = (self.places.data_dir, os.environ.get("VMASK_DATA"))
        paths = (Path(dataset), *(Path(folder).expanduser() / dataset for folder in folders if folder))
        if not any(path.exists() for path in paths):
            return None
        try:
            loaded = load_dataset(dataset, data_dir=self.places.data_dir)
        except VmaskError:  # a task that needs it reports the error
            return None
        return Local(loaded.fingerprint, size_of_dataset(loaded))
