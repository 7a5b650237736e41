"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from vmask._core.terminal import make_console

T = TypeVar("T")


def shown(results: Iterable[T], total: int | None, title: str, done: int = 0) -> Iterator[T]:
    """Yield the results and show a progress bar on standard error; `total` may be unknown."""
    with advancing(total, title, done) as advance:
        for result in results:
            yield result
            advance(1)


@contextmanager
def advancing(total: int | None, title: str, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, and yield the function that advances it; `total` may be unknown."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=28), MofNCompleteColumn(), TimeRemainingColumn())
    # Output that is printed meanwhile must stay on standard output.
    with Progress(*columns, console=make_console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.advance(task, count)
