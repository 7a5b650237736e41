"""The course of a run: what is waiting, what is unfinished, what became of the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from vmask.errors import DataError
from vmask.grid.cell import Cell, identity
from vmask.grid.claims import Claims
from vmask.grid.engines.contract import Engine, Started, Waiting
from vmask.grid.experiment import OPTUNA
from vmask.grid.job import Job, Product, job_of
from vmask.grid.order import needs_of
from vmask.grid.provenance import facts, number_versions
from vmask.grid.store import Store
from vmask.grid.task import Task

if TYPE_CHECKING:
    from vmask.grid.run import Grid

Outcome = Literal["done", "failed", "skipped", "there"]
"""`skipped`: a task that it needs failed. `there`: done already, by another grid or as turned out after its search."""
SAME = "Install the same versions on all machines, or remove the file of the search to begin anew."
LOOK_AGAIN = 0.5
"""Seconds after which a task of another grid is looked at again."""


class Course:
    """Starts the tasks of a grid as soon as what they need is done, and writes their files.

    Args:
        grid: the grid.
        engine: does the tasks.
        claims: the tasks that this grid works on, and no other.
        on_outcome: see `Grid.run`.
        on_start: see `Grid.run`.
        waiting: tasks to do.
        failed: tasks that failed before and are not done again.
    """

    def __init__(
        self,
        grid: Grid,
        engine: Engine,
        claims: Claims,
        on_outcome: Callable[[Task, Outcome, str], None],
        on_start: Callable[[Task, str], None],
        waiting: list[Task],
        failed: set[Task],
    ) -> None:
        self.grid, self.engine, self.claims = grid, engine, claims
        self.on_outcome, self.on_start = on_outcome, on_start
        self.waiting, self.failed = dict.fromkeys(waiting), failed
        self.unfinished = set(waiting)  # waiting or running, here or elsewhere
        self.elsewhere: list[Task] = []
        self.count: Counter[str] = Counter({"done": 0, "failed": 0, "skipped": 0, "there": 0})
        self.began = time.time()

    def run(self, on_wait: Callable[[str], None]) -> Counter[str]:
        """Do all tasks, and count their outcomes."""
        while self.waiting or self.engine.running:
            self._start_tasks()
            self._take_results(on_wait)
        return self.count

    def _start_tasks(self) -> None:
        """Start what can be started, in its order; what another grid is working on stays waiting."""
        self.elsewhere = []
        for task in list(self.waiting):
            if not self.engine.free:
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
            del self.waiting[task]
            self._start_job(task)
        elif state == "failed":
            self._finish(task, "skipped", "skipped, because it failed before")
        else:
            self._finish(task, "there")

    def _start_job(self, task: Task) -> None:
        local = self.grid.local(task.combination.dataset)
        data = None if local is None else local.fingerprint
        self.engine.start(job_of(task, self.grid.experiment, self.grid.store, data))

    def _is_new(self, task: Task) -> bool:
        """Whether the file of a task was written since this run began, by another grid."""
        return task.path(self.grid.store).stat().st_mtime >= self.began

    def _take_results(self, on_wait: Callable[[str], None]) -> None:
        """Wait until a task ends, here or perhaps elsewhere."""
        if self.engine.running:
            waits = bool(self.waiting) and (bool(self.elsewhere) or self.engine.free)
            for event in self.engine.events(LOOK_AGAIN if waits else None):
                if isinstance(event, Started):
                    self.claims.describe(event.job.task, event.where)
                    self.on_start(event.job.task, event.where)
                elif isinstance(event, Waiting):
                    on_wait(event.message)
                else:
                    self._take(event.job, event.product)
        elif self.elsewhere:
            if message := self.claims.news(self.elsewhere):
                on_wait(message)
            time.sleep(LOOK_AGAIN)

    def _take(self, job: Job, product: Product) -> None:
        """Write what came out of a job; a search goes on with its next trial."""
        store, task = self.grid.store, job.task
        if product.error:
            about = {"identity": identity(job.request), "asked": job.request}
            if job.unfinished is not None and job.request.get("engine") == OPTUNA:
                about |= {name: job.unfinished[name] for name in ("trials", "facts")}  # to go on with
            write_failure(store, task, about, product.error, product.trace)
            self._finish(task, "failed", product.error)
            return
        running = [record for record in product.files.values() if record.get("status") == "running"]
        before = 0 if job.unfinished is None else len(job.unfinished["trials"])
        if any(len(record["trials"]) <= before for record in running):
            self._take(job, Product(error=f"Its machine has other versions or data than the trials so far. {SAME}"))
            return
        for name, text in product.texts.items():
            store.write_text(store.folder / name, text)
        for name, record in product.files.items():
            store.write(store.folder / name, record)
        if running:
            self._start_job(task)
        else:
            self._finish(task, "done")

    def _finish(self, task: Task, outcome: Outcome, error: str = "") -> None:
        self.claims.release(task)
        self.waiting.pop(task, None)
        self.unfinished.discard(task)
        if outcome in ("failed", "skipped"):
            self.failed.add(task)
        self.count[outcome] += 1
        self.on_outcome(task, outcome, error)


def write_failure(store: Store, task: Task, about: Mapping[str, Any], error: str, trace: str = "") -> None:
    """Record that a task failed, and why, unless another grid has done it meanwhile."""
    with suppress(DataError):
        if store.state(task.path(store), about.get("identity", ""), number_versions(task.uses)) == "done":
            return
    cell = task.of.to_dict() if isinstance(task.of, Cell) else {"key": task.of.key}
    record = {"cell": cell, "stage": task.kind, "status": "failed", **about, "error": error}
    found = {"traceback": trace.splitlines(), "facts": about.get("facts") or facts(task.uses)}
    store.write(task.path(store), {**record, **found})
