"""The view of a running grid: how much is done, what is running where, what failed and why, how long the rest takes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vmask._core.terminal import make_console

if TYPE_CHECKING:
    from vmask.grid.course import Outcome
    from vmask.grid.estimate import Estimator
    from vmask.grid.task import Task

SHOWN_RUNNING = 12
SHOWN_ERRORS = 5


class GridView:
    """What is known of a grid while it runs.

    Args:
        tasks: the tasks to do.
        estimator: estimates how long a task takes.
    """

    def __init__(self, tasks: Iterable[Task], estimator: Estimator) -> None:
        self.left, self.estimator = set(tasks), estimator
        self.total = len(self.left)
        self.running: dict[Task, tuple[str, float]] = {}
        self.count: Counter[str] = Counter()
        self.errors: list[tuple[str, str]] = []
        self.most_running = 1
        self.message = ""
        self._lock = threading.RLock()  # another thread renders the view

    def started(self, task: Task, where: str) -> None:
        """A worker has begun with a task, or with the next trial of a search."""
        with self._lock:
            self.running[task] = (where, self.running[task][1] if task in self.running else time.monotonic())
            self.most_running = max(self.most_running, len(self.running))
            self.message = ""

    def ended(self, task: Task, outcome: Outcome, error: str) -> None:
        """A task has ended."""
        with self._lock:
            if task in self.running:
                _, since = self.running.pop(task)
                if outcome == "done":
                    self.estimator.add(task, time.monotonic() - since)
            self.left.discard(task)
            self.count[outcome] += 1
            if outcome == "failed":
                self.errors.append((task.title, error))

    def seconds_left(self) -> tuple[float, int]:
        """Estimated seconds until all is done, and the number of tasks without an estimate.

        As many tasks are expected to run at once as have done so far.
        """
        total, longest, unknown = 0.0, 0.0, 0
        for task in self.left:
            seconds = self.estimator.seconds(task)
            if seconds is None:
                unknown += 1
                continue
            if task in self.running:
                seconds = max(seconds - (time.monotonic() - self.running[task][1]), 0.0)
            total, longest = total + seconds, max(longest, seconds)
        return max(total / self.most_running, longest), unknown

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the view on standard error, and keep it up to date."""
        from rich.live import Live

        console = make_console(stderr=True)
        with Live(
            get_renderable=self.render, console=console, transient=True, refresh_per_second=1, redirect_stdout=False
        ):
            yield

    def render(self) -> Any:
        """The view as a renderable of rich."""
        with self._lock:
            return self._render()

    def _render(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(self.total, self.total - len(self.left), width=28), self.summary())
        rows = Table.grid(padding=(0, 2))
        for task, (where, since) in list(self.running.items())[:SHOWN_RUNNING]:
            expected = self.estimator.seconds(task)
            of = "" if expected is None else f" of about {span(expected)}"
            rows.add_row(Text(f"  {task.title}"), Text(f"{span(time.monotonic() - since)}{of}"), Text(where))
        if len(self.running) > SHOWN_RUNNING:
            rows.add_row(Text(f"  and {len(self.running) - SHOWN_RUNNING} more"))
        failed = [Text(f"  failed: {title}: {error}", style="red") for title, error in self.errors[-SHOWN_ERRORS:]]
        return Group(bar, rows, *failed, *([Text(f"  {self.message}")] if self.message else []))

    def summary(self) -> str:
        """How much is done, and how long the rest takes."""
        seconds, unknown = self.seconds_left()
        done = self.total - len(self.left)
        failed = self.count["failed"] + self.count["skipped"]
        parts = [f"{done} of {self.total} pieces", f"{failed} failed" if failed else "", f"{len(self.running)} running"]
        if unknown < len(self.left):
            parts.append(f"about {span(seconds)} left" + (f", and {unknown} without an estimate" if unknown else ""))
        return ", ".join(filter(None, parts))


def span(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 90 * 60 else f"{seconds / 3600:.1f} hours"
