"""What a person sees while a model trains or explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from vmask.terminal import make_console

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


def shown(results: Iterable[T], total: int | None, title: str, done: int = 0) -> Iterator[T]:
    """The results, with a progress bar on standard error as they come; `total` may be unknown."""
    with advancing(total, title, done) as advance:
        for result in results:
            yield result
            advance(1)


@contextmanager
def advancing(total: int | None, title: str, done: int = 0) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, and the function that moves it on by a number; `total` may be unknown."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=28), MofNCompleteColumn(), TimeRemainingColumn())
    # What is printed meanwhile stays on standard output.
    with Progress(*columns, console=make_console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.advance(task, count)


class Silence:
    """Shows nothing. Also the contract: `start`, any number of `step` and `epoch`, inside a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the display."""

    def stage(self, number: int, total: int) -> None:
        """The first or second of two stages begins."""

    def start(self, steps: int, done: int) -> None:
        """There will be `steps` steps, of which `done` are done already."""

    def step(self, loss: float) -> None:
        """One more step is done."""

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """An epoch is done; `row` is its line of the history."""


class TrainingBar(Silence):
    """A progress bar with the time left, and a line for every epoch, on standard error."""

    def __init__(self, title: str, console: Any = None) -> None:
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.console = console or make_console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.title = escape(title)  # an encoder's folder may have brackets in its name
        self.task = self.bar.add_task(self.title, total=None, loss=0.0)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the display."""
        self.bar.stop()

    def stage(self, number: int, total: int) -> None:
        """Say which stage the bar is about."""
        self.bar.update(self.task, description=f"{self.title}, stage {number} of {total}")
        self.console.print(
            f"[dim]{self.title}[/dim] stage {number} of {total}: "
            + ("without a mask" if number == 1 else "with the mask, word vectors frozen"),
            highlight=False,
        )

    def start(self, steps: int, done: int) -> None:
        """Set the length of the bar, which may have been full of an earlier stage."""
        self.bar.reset(self.task, total=steps, completed=done)

    def step(self, loss: float) -> None:
        """Move the bar on."""
        self.bar.update(self.task, advance=1, loss=loss)

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """Print the epoch's line."""
        mask = f"  mask {row['mask_mean']:.2f} ± {row['mask_std']:.2f}" if row["mask_mean"] is not None else ""
        self.console.print(
            f"[dim]{self.title}[/dim] epoch {row['epoch']:>3}  loss {row['loss']:.3f}  beta {row['beta']:.2f}  "
            f"dev {row['dev_accuracy']:.3f}{mask}{'  [bold green]best[/bold green]' if best else ''}",
            highlight=False,
        )
