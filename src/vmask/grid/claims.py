"""Which grid works on which task: a lock each, so that several grids in one folder share the work.

The system removes the locks of a process that ends, however it ends, so that a killed grid blocks no other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path

from vmask._core.locks import Claim, claim, is_locked
from vmask._core.parsing import read_json
from vmask._core.wording import plural
from vmask.errors import VmaskError
from vmask.grid.cell import Combination
from vmask.grid.search import number_of_trials
from vmask.grid.store import Store
from vmask.grid.task import Task
from vmask.persistence.model_folder import CHECKPOINT
from vmask.training.checkpoints import STATE

LOCKS = ".locks"
"""Subfolder of the results, which is there only while a grid runs."""
NAMED = 3
"""Number of tasks that a message names."""
QUIET = 30.0
"""Seconds between two messages about tasks of other grids."""


class Claims:
    """The tasks that this grid works on, and no other.

    Args:
        store: the result files.
        models: folder of the trained models, where trainings leave their checkpoints.
    """

    def __init__(self, store: Store, models: Path) -> None:
        self.store, self.models = store, models
        self.folder = store.folder / LOCKS
        self.name = f"process {os.getpid()}"
        self.held: dict[Task, Claim] = {}
        self._told, self._told_at = "", 0.0

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        """Release all tasks."""
        for task in list(self.held):
            self.release(task)
        with suppress(OSError):  # another grid has locks there, or there never were any
            self.folder.rmdir()

    def take(self, task: Task) -> bool:
        """Take a task, unless another grid is working on it."""
        taken = claim(self._path(task), self.name)
        if taken is not None:
            self.held[task] = taken
        return taken is not None

    def describe(self, task: Task, where: str) -> None:
        """Let others read where a task of this grid is being done."""
        if where and task in self.held:
            self.held[task].rewrite(f"{self.name}, {where}")

    def of_others(self, task: Task) -> str:
        """Who is working on a task, and how far that is; empty if nobody is."""
        path = self._path(task)
        return self._describe(task) if path.exists() and is_locked(path) else ""

    def release(self, task: Task) -> None:
        """Release a task, if this grid has taken it."""
        if task in self.held:
            self.held.pop(task).release()

    def news(self, tasks: Sequence[Task]) -> str:
        """How far other grids are with tasks, as a message; empty if there is nothing new, or it was told just now."""
        if self._told and time.monotonic() - self._told_at < QUIET:
            return ""
        named = [f"{task.title} ({self._describe(task)})" for task in tasks[:NAMED]]
        more = f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
        message = f"waiting for {plural(len(tasks), 'piece')} of other processes: {', '.join(named)}{more}"
        if message == self._told:
            return ""
        self._told, self._told_at = message, time.monotonic()
        return message

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.of.key}.{task.kind}"

    def _describe(self, task: Task) -> str:
        """Who works on a task, and how far that is."""
        where = ""
        with suppress(OSError):
            where = self._path(task).read_text(encoding="utf-8")
        parts = (where, _progress(task, self.store, self.models))
        return ", ".join(filter(None, parts)) or "just done"


def _progress(task: Task, store: Store, models: Path) -> str:
    """How far a search or a training is by its files; empty if they do not say."""
    with suppress(VmaskError, OSError, KeyError, TypeError):  # files come and go
        if isinstance(task.of, Combination):
            record = store.read(task.path(store)) or {}
            return f"{len(record['trials'])} of {number_of_trials(record['asked'])} trials" if record else ""
        if task.stage is None:
            found = models.glob(f"{escape(task.of.key)}--*/{CHECKPOINT}/**/{STATE}")
            newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
            return "" if newest is None else f"{plural(read_json(newest)['epoch'], 'epoch')} done"
    return ""
