"""Run an experiment: what is to do, in which order, how long it may take; then do it, some pieces side by side."""

from __future__ import annotations

import os
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
from vmask.grid.estimate import Size, seconds_left, size_of_dataset, size_of_record
from vmask.grid.pool import Pool
from vmask.grid.provenance import number_versions
from vmask.grid.spec import Experiment, Where
from vmask.grid.store import State, Store
from vmask.grid.warm_start import start_of
from vmask.grid.worker import Places, Task, write_failure

Outcome = Literal["done", "failed", "skipped", "there"]
"""`skipped`: what it needs failed. `there`: after its search was done again, it turned out to be done already."""


@dataclass(frozen=True)
class Wanted:
    """Which pieces of work are done again.

    Attributes:
        failed: those that failed before.
        stale: those whose numbers are of an older version.
    """

    failed: bool = False
    stale: bool = False

    def to_do(self, state: State) -> bool:
        """Whether a piece that stands so is work."""
        return (
            state in ("missing", "changed") or (state == "failed" and self.failed) or (state == "older" and self.stale)
        )


@dataclass(frozen=True)
class Local:
    """A dataset as it is on this machine.

    Attributes:
        fingerprint: of its texts and labels.
        size: how large it is.
    """

    fingerprint: str
    size: Size


@dataclass
class Grid:
    """An experiment and its results.

    Attributes:
        experiment: what is run.
        places: where things are.
        wanted: what is done again.
        where: the cells that count; others are trained only where these need them.
        tasks: all pieces of work, in their order.
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
        """How a piece of work stands."""
        asked = task.asked(self.store, self.experiment.search)
        if asked is None:
            return "missing"
        local = self._local(task.combination.dataset)
        data = None if local is None else local.fingerprint
        return self.store.state(task.path(self.store), identity(asked), number_versions(task.uses), data)

    def run(self, jobs: int, told: Callable[[Task, Outcome, str], None]) -> Counter[str]:
        """Do what is to do.

        Args:
            jobs: processes that work side by side.
            told: is told of every piece what became of it, with its error or nothing.

        Returns:
            How many had which outcome.
        """
        count: Counter[str] = Counter({"done": 0, "failed": 0, "skipped": 0, "there": 0})
        states = {task: self.state(task) for task in self.tasks}
        self._tidy(task for task, state in states.items() if state == "done")
        waiting = [task for task, state in states.items() if self.wanted.to_do(state)]
        open_ = set(waiting)  # not done yet: waiting or running
        failed: set[Task] = {task for task, state in states.items() if task not in open_ and state == "failed"}

        def ended(task: Task, outcome: Outcome, error: str = "") -> None:
            open_.discard(task)
            if outcome in ("failed", "skipped"):
                failed.add(task)
            count[outcome] += 1
            told(task, outcome, error)

        with Pool(self.experiment, self.places, min(jobs, max(len(waiting), 1))) as pool:
            while waiting or pool.running:
                for task in list(waiting):
                    if not pool.free:
                        break
                    needs = needs_of(task, self.experiment)
                    if any(one in failed for one in needs):
                        waiting.remove(task)
                        ended(task, "skipped", "skipped, because what it needs failed")
                    elif not any(one in open_ for one in needs):
                        waiting.remove(task)
                        if self.wanted.to_do(state := self.state(task)):  # its search may have been done since then
                            pool.start(task)
                        elif state == "failed":
                            ended(task, "skipped", "skipped, because it failed before")
                        else:
                            ended(task, "there")
                for task, error, died in pool.finished() if pool.running else ():
                    if died:
                        self._write_death(task, error)
                    ended(task, "failed" if error else "done", error)
        return count

    def _tidy(self, done: Iterable[Task]) -> None:
        """Remove what earlier kills left among the models: temporary files, explanations of stages that are done."""
        sweep(self.places.models)
        for task in done:
            if task.stage is not None:
                for kept in self.places.models.glob(f"{escape(task.of.key)}--*.{escape(task.stage.name)}"):
                    remove_folder(kept)

    def _write_death(self, task: Task, error: str) -> None:
        asked = task.asked(self.store, self.experiment.search) or {}
        write_failure(self.store, task, {"identity": identity(asked), "asked": asked}, error)

    def seconds_left(self, tasks: Iterable[Task], jobs: int) -> tuple[float, int]:
        """Estimated seconds for some tasks, by what like ones took, and how many tasks have nothing to go by."""
        seconds, unknown = seconds_left(tasks, self.store, lru_cache(maxsize=None)(self._size))
        return seconds / max(jobs, 1), unknown

    def _size(self, dataset: str) -> Size | None:
        known = self.store.read(self.store.data(short_name(dataset)))
        if known is not None:
            return size_of_record(known)
        local = self._local(dataset)
        return None if local is None else local.size

    def _read_local(self, dataset: str) -> Local | None:
        """What lies on this machine under the name of a dataset; nothing is fetched to know it."""
        folders = (self.places.data_dir, os.environ.get("VMASK_DATA"))
        paths = (Path(dataset), *(Path(one).expanduser() / dataset for one in folders if one))
        if not any(path.exists() for path in paths):
            return None
        try:
            found = load_dataset(dataset, data_dir=self.places.data_dir)
        except VmaskError:  # those who need it will say so
            return None
        return Local(found.fingerprint, size_of_dataset(found))


def tasks_of(experiment: Experiment, where: Where) -> Iterator[Task]:
    """All pieces of work: dataset by dataset the searches, then the trainings, then the stages, low seeds first.

    So the cells of an early block of the grid are complete before a later block begins.
    """
    chosen = [cell for cell in experiment.cells if where.fits(cell)]
    stages = {cell: [(one, experiment.ranker_of(cell, one)) for one in experiment.stages_of(cell)] for cell in chosen}
    needed = {*chosen, *(ranker for pairs in stages.values() for _, ranker in pairs if ranker is not None)}
    needed |= {start for cell in needed if (start := start_of(experiment, cell)) is not None}
    for block in _blocks([cell for cell in experiment.cells if cell in needed]):
        if experiment.search is not None:
            for of in dict.fromkeys(cell.combination for cell in block):
                if len(experiment.search.trials(of)) > 1:
                    yield Task(of)
        ordered = sorted(block, key=lambda cell: cell.seed)
        yield from (Task(cell) for cell in ordered)
        for name in dict.fromkeys(stage.name for stage in experiment.stages):
            for cell in ordered:
                yield from (Task(cell, stage, ranker) for stage, ranker in stages.get(cell, ()) if stage.name == name)


def _blocks(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Cells of one dataset that stand together in the grid."""
    block: list[Cell] = []
    for cell in cells:
        if block and cell.combination.dataset != block[-1].combination.dataset:
            yield block
            block = []
        block.append(cell)
    if block:
        yield block


def needs_of(task: Task, experiment: Experiment) -> list[Task]:
    """What must be done before a piece of work."""
    if isinstance(task.of, Combination):
        return []
    if task.stage is None:
        searched = experiment.search is not None and len(experiment.search.trials(task.of.combination)) > 1
        start = start_of(experiment, task.of)
        return [*([Task(task.of.combination)] if searched else []), *([] if start is None else [Task(start)])]
    return [Task(task.of), *([] if task.ranker is None else [Task(task.ranker)])]
