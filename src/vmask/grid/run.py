"""Run an experiment: which tasks there are, in which order, how long they take; then do them in parallel."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Literal

from vmask._core.files import remove_folder, sweep
from vmask.data.datasets import load_dataset
from vmask.errors import VmaskError
from vmask.grid.cell import Cell, Combination, identity, short_name
from vmask.grid.claims import Claims
from vmask.grid.estimate import Size, seconds_left, size_of_dataset, size_of_record
from vmask.grid.experiment import Experiment, Where
from vmask.grid.pool import Pool
from vmask.grid.provenance import number_versions
from vmask.grid.store import State, Store
from vmask.grid.task import Task
from vmask.grid.warm_start import start_of
from vmask.grid.worker import Places, write_failure

Outcome = Literal["done", "failed", "skipped", "there"]
"""`skipped`: a task that it needs failed. `there`: done already, by another grid or as turned out after its search."""
LOOK_AGAIN = 0.5
"""Seconds after which a task of another grid is looked at again."""


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
        self._local = lru_cache(maxsize=None)(self._read_local)
        self.tasks = list(dict.fromkeys(tasks_of(self.experiment, self.where)))  # two blocks may share a search

    def state(self, task: Task) -> State:
        """The state of a task."""
        request = task.request(self.store, self.experiment)
        if request is None:
            return "missing"
        local = self._local(task.combination.dataset)
        data = None if local is None else local.fingerprint
        return self.store.state(task.path(self.store), identity(request), number_versions(task.uses), data)

    def run(
        self,
        jobs: int,
        on_outcome: Callable[[Task, Outcome, str], None],
        on_wait: Callable[[str], None] = lambda message: None,
    ) -> Counter[str]:
        """Do the tasks that are to be done; those that another grid is working on are waited for.

        Args:
            jobs: number of processes.
            on_outcome: called with the outcome of each task and its error message, empty if there is none.
            on_wait: called with a message if all that is left is being done by other grids.

        Returns:
            The number of tasks with each outcome.
        """
        began = time.time()
        states = {task: self.state(task) for task in self.tasks}
        self._tidy(task for task, state in states.items() if state == "done")
        waiting = [task for task, state in states.items() if self.wanted.to_do(state)]
        failed = {task for task, state in states.items() if state == "failed"}.difference(waiting)
        processes = min(jobs, max(len(waiting), 1))
        with (
            Claims(self.store, self.places.models) as claims,
            Pool(self.experiment, self.places, processes) as pool,
        ):
            course = _Course(self, pool, claims, on_outcome, began, waiting, failed)
            while course.waiting or pool.running:
                course.start_tasks()
                course.take_results(on_wait)
        return course.count

    def _tidy(self, done: Iterable[Task]) -> None:
        """Remove what killed runs left among the models: temporary files, explanations of finished stages."""
        sweep(self.places.models)
        for task in done:
            if task.stage is not None:
                for explanations in self.places.models.glob(f"{escape(task.of.key)}--*.{escape(task.stage.name)}"):
                    remove_folder(explanations)

    def _write_death(self, task: Task, error: str) -> None:
        request = task.request(self.store, self.experiment) or {}
        write_failure(self.store, task, {"identity": identity(request), "asked": request}, error)

    def seconds_left(self, tasks: Iterable[Task], jobs: int) -> tuple[float, int]:
        """Estimated seconds for some tasks, from similar ones, and the number of tasks without an estimate."""
        seconds, unknown = seconds_left(tasks, self.store, lru_cache(maxsize=None)(self._size))
        return seconds / max(jobs, 1), unknown

    def _size(self, dataset: str) -> Size | None:
        record = self.store.read(self.store.data(short_name(dataset)))
        if record is not None:
            return size_of_record(record)
        local = self._local(dataset)
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


class _Course:
    """The course of a run: what is waiting, what is unfinished, what became of the rest.

    Args:
        grid: the grid.
        pool: the processes.
        claims: the tasks that this grid works on, and no other.
        on_outcome: see `Grid.run`.
        began: when the run began, in seconds since the epoch.
        waiting: tasks to do.
        failed: tasks that failed before and are not done again.
    """

    def __init__(
        self,
        grid: Grid,
        pool: Pool,
        claims: Claims,
        on_outcome: Callable[[Task, Outcome, str], None],
        began: float,
        waiting: list[Task],
        failed: set[Task],
    ) -> None:
        self.grid, self.pool, self.claims, self.on_outcome, self.began = grid, pool, claims, on_outcome, began
        self.waiting, self.failed = waiting, failed
        self.unfinished = set(waiting)  # waiting or running, here or elsewhere
        self.elsewhere: list[Task] = []
        self.count: Counter[str] = Counter({"done": 0, "failed": 0, "skipped": 0, "there": 0})

    def start_tasks(self) -> None:
        """Start what can be started, in its order; what another grid is working on stays waiting."""
        self.elsewhere = []
        for task in list(self.waiting):
            if not self.pool.free:
                return
            needs = needs_of(task, self.grid.experiment)
            if any(needed in self.failed for needed in needs):
                self._finish(task, "skipped", "skipped, because what it needs failed")
            elif not any(needed in self.unfinished for needed in needs):
                if self.claims.take(task):
                    self._start(task)
                else:
                    self.elsewhere.append(task)

    def _start(self, task: Task) -> None:
        """Start a task, unless its search, or another grid, has made that needless meanwhile."""
        state = self.grid.state(task)
        if self.grid.wanted.to_do(state) and not (state == "failed" and self._is_new(task)):
            self.waiting.remove(task)
            self.pool.start(task)
        elif state == "failed":
            self._finish(task, "skipped", "skipped, because it failed before")
        else:
            self._finish(task, "there")

    def _is_new(self, task: Task) -> bool:
        """Whether the file of a task was written since this run began, by another grid."""
        return task.path(self.grid.store).stat().st_mtime >= self.began

    def take_results(self, on_wait: Callable[[str], None]) -> None:
        """Wait until a task ends, here or perhaps elsewhere."""
        if self.pool.running:
            for task, error, died in self.pool.finished(LOOK_AGAIN if self.elsewhere else None):
                if died:
                    self.grid._write_death(task, error)
                self._finish(task, "failed" if error else "done", error)
        elif self.elsewhere:
            if message := self.claims.news(self.elsewhere):
                on_wait(message)
            time.sleep(LOOK_AGAIN)

    def _finish(self, task: Task, outcome: Outcome, error: str = "") -> None:
        self.claims.release(task)
        if task in self.waiting:
            self.waiting.remove(task)
        self.unfinished.discard(task)
        if outcome in ("failed", "skipped"):
            self.failed.add(task)
        self.count[outcome] += 1
        self.on_outcome(task, outcome, error)


def tasks_of(experiment: Experiment, where: Where) -> Iterator[Task]:
    """All tasks: dataset by dataset the searches, then the trainings, then the stages, low seeds first.

    So the cells of an early block of the grid are complete before a later block begins.
    """
    chosen = [cell for cell in experiment.cells if where.fits(cell)]
    stages = {
        cell: [
            Task(cell, stage, experiment.ranker_of(cell, stage), experiment.confident_of(cell, stage))
            for stage in experiment.stages_of(cell)
        ]
        for cell in chosen
    }
    needed = {*chosen, *(other for tasks in stages.values() for task in tasks for other in task.others)}
    needed |= {start for cell in needed if (start := start_of(experiment, cell)) is not None}
    for block in _blocks([cell for cell in experiment.cells if cell in needed]):
        for of in dict.fromkeys(cell.combination for cell in block):
            yield from (Task(searched) for searched in experiment.searches_for(of))
        ordered = sorted(block, key=lambda cell: cell.seed)
        yield from (Task(cell) for cell in ordered)
        for name in dict.fromkeys(stage.name for stage in experiment.stages):
            for cell in ordered:
                yield from (task for task in stages.get(cell, ()) if task.kind == name)


def _blocks(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Consecutive cells of one dataset."""
    block: list[Cell] = []
    for cell in cells:
        if block and cell.combination.dataset != block[-1].combination.dataset:
            yield block
            block = []
        block.append(cell)
    if block:
        yield block


def needs_of(task: Task, experiment: Experiment) -> list[Task]:
    """The tasks that must be done before a task."""
    if isinstance(task.of, Combination):
        return []
    if task.stage is None:
        needs = [Task(searched) for searched in experiment.searches_for(task.of.combination)]
        if (start := start_of(experiment, task.of)) is not None:
            needs.append(Task(start))
        return needs
    return [Task(cell) for cell in dict.fromkeys((task.of, *task.others))]
