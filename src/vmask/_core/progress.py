"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from vmask._core.terminal import make_console

if TYPE_CHECKING:
    from rich.progress import Task

T = TypeVar("T")


def shown(results: Iterable[T], total: int | None, title: str, done: int = 0) -> Iterator[T]:
    """Yield the results and show a progress bar on standard error; `total` may be unknown."""
    with advancing(total, title, done) as advance:
        for result in results:
            yield result
            advance(1)


@contextmanager
def advancing(total: int | None, title: str, done: int = 0, unit: str = "") -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, and yield the function that advances it.

    Args:
        total: how many there are; None if that is unknown.
        title: what is done.
        done: how many are done already.
        unit: what there are many of, to show how many are done in a second; empty to leave it out.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if unit and task.speed else "")

    bar_of = BarColumn(bar_width=28)
    columns = (TextColumn("{task.description}"), bar_of, MofNCompleteColumn(), Speed(), TimeRemainingColumn())
    # Output that is printed meanwhile must stay on standard output.
    with Progress(*columns, console=make_console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.advance(task, count)
