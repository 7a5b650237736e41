"""Callbacks of a training, and its progress bar."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from vmask._core import progress
from vmask._core.terminal import make_console

if TYPE_CHECKING:
    from typing_extensions import Self

    from vmask.inference.word_importance import WordImportance


class StopTraining(Exception):
    """Raised by a callback that ends a training on purpose; whoever started the training catches it."""


class ProgressCallback:
    """Base class of callbacks; does nothing.

    Called for each stage: `begin`, then in a `with` `start` and any number of `step` and `epoch`. After the last stage
    come `end`, and `scores` and `file` where the model is tested and written about. Of several processes only the main
    one calls.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the display."""

    def begin(self, options: Mapping[str, Any], words: Callable[[], Sequence[WordImportance]]) -> None:
        """A training, or a stage of it, begins.

        Args:
            options: all options of the training.
            words: gives the words of the training texts with their masks as they are at the moment, highest first;
                none for a method that does not rank words. To be called in `epoch` and `end`.
        """

    def stage(self, number: int, total: int) -> None:
        """The first or second of two stages begins."""

    def note(self, text: str) -> None:
        """A fact about the training, such as what `auto` stands for."""

    def start(self, steps: int, done: int) -> None:
        """The training begins: `steps` steps in all, of which `done` are done already."""

    def step(self, loss: float) -> None:
        """A step is done."""

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """An epoch is done; `row` is its row of the history."""

    def end(self, row: Mapping[str, Any]) -> None:
        """The training is done; `row` is the row of the epoch that is kept."""

    def scores(self, values: Mapping[str, Any]) -> None:
        """The trained model was tested."""

    def file(self, path: Path) -> None:
        """A file about the trained model was written, such as its page."""


class CallbackList(ProgressCallback):
    """Several callbacks as one."""

    def __init__(self, callbacks: Sequence[ProgressCallback]) -> None:
        self.callbacks = tuple(callbacks)
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.enter_context(callback)
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of them."""
        self._entered.__exit__(kind, error, trace)

    def begin(self, options: Mapping[str, Any], words: Callable[[], Sequence[WordImportance]]) -> None:
        """Call all of them."""
        self._call("begin", options, words)

    def stage(self, number: int, total: int) -> None:
        """Call all of them."""
        self._call("stage", number, total)

    def note(self, text: str) -> None:
        """Call all of them."""
        self._call("note", text)

    def start(self, steps: int, done: int) -> None:
        """Call all of them."""
        self._call("start", steps, done)

    def step(self, loss: float) -> None:
        """Call all of them."""
        self._call("step", loss)

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """Call all of them."""
        self._call("epoch", row, best)

    def end(self, row: Mapping[str, Any]) -> None:
        """Call all of them."""
        self._call("end", row)

    def scores(self, values: Mapping[str, Any]) -> None:
        """Call all of them."""
        self._call("scores", values)

    def file(self, path: Path) -> None:
        """Call all of them."""
        self._call("file", path)

    def _call(self, name: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(*arguments)


class TrainingBar(ProgressCallback):
    """A progress bar with the remaining time, and a line for every epoch, on standard error."""

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
        """End the display."""
        self.bar.stop()

    def stage(self, number: int, total: int) -> None:
        """Show the number of the stage."""
        self.bar.update(self.task, description=f"{self.title}, stage {number} of {total}")
        self.console.print(
            f"[dim]{self.title}[/dim] stage {number} of {total}: "
            + ("without a mask" if number == 1 else "with the mask, word vectors frozen"),
            highlight=False,
        )

    def note(self, text: str) -> None:
        """Print a line."""
        self.console.print(f"[dim]{self.title}[/dim] {text}", highlight=False)

    def start(self, steps: int, done: int) -> None:
        """Set the length of the bar, which may be full after an earlier stage."""
        self.bar.reset(self.task, total=steps, completed=done)

    def step(self, loss: float) -> None:
        """Advance the bar."""
        self.bar.update(self.task, advance=1, loss=loss)

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """Print the epoch's line."""
        dev = row.get("dev_micro_f1", row["dev_accuracy"])
        mask = f"  mask {row['mask_mean']:.2f} ± {row['mask_std']:.2f}" if row["mask_mean"] is not None else ""
        self.console.print(
            f"[dim]{self.title}[/dim] epoch {row['epoch']:>3}  loss {row['loss']:.3f}  beta {row['beta']:.2f}  "
            f"dev {dev:.3f}{mask}{'  [bold green]best[/bold green]' if best else ''}",
            highlight=False,
        )


def __getattr__(name: str) -> Any:
    """Old names, for one release."""
    moved: dict[str, Any] = {"Silence": ProgressCallback, "shown": progress.shown, "advancing": progress.advancing}
    if name not in moved:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = f"{moved[name].__module__}.{moved[name].__name__}"
    warnings.warn(f"{__name__}.{name} is now {new}; the old name will go with the next release.", DeprecationWarning, 2)
    return moved[name]
