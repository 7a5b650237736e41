"""What trackers share: which facts of a training are written and when, and that a failure never ends the training.

A tracker is a callback of the training. The base class turns events into the few calls that a subclass answers:
`open_run`, `write_options`, `write_numbers`, `write_histogram`, `write_text`, `write_file` and `close_run`. Everything
has one axis, the number of steps that are done. Nothing here draws a random number or changes the model.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmask.config import NoOptions
from vmask.errors import MissingExtra, TrackerWarning
from vmask.inference.word_importance import WordImportance
from vmask.trackers import TRACKERS
from vmask.training.progress import ProgressCallback, StopTraining

Status = Literal["finished", "failed", "interrupted"]
TRACKING = "tracking"
"""Folder of the files of trackers, beside the output folder."""
PENDING = 100
"""Steps after which their losses are written, if the epoch takes longer."""
TOP, MIN_COUNT = 25, 3
"""Number of words that are written as text, and how often they were seen in training at least."""
LONGEST_OPTION = 250
"""Characters of the value of an option; a longer one is cut."""
HISTOGRAM_EDGES: NDArray[np.float64] = np.linspace(0.0, 1.0, 51)
"""Limits of the bins of a histogram of masks."""
PARTS = ("dev", "test", "mask")
"""First words of the names of numbers that make a group in a tracker; others belong to `train`."""


class Point(NamedTuple):
    """A number at a step."""

    name: str
    value: float
    step: int


class Tracker(ProgressCallback):
    """Base class of trackers.

    Args:
        folder: folder of the tracker's own files, if it has any.
        name: name of the run.
        group: name of the trainings that it belongs with, such as those of a grid.
        key: by which a resumed training finds its run again, such as the path of its folder; by default group and
            name. `self.key` is its digest.

    Raises:
        MissingExtra: if the package of the tracker is not installed.
    """

    Options: ClassVar[type] = NoOptions
    package: ClassVar[str] = ""
    """The package that it needs, which is also the name of the extra."""

    def __init__(self, folder: str | Path, name: str, *, group: str = "", key: str = "") -> None:
        if self.package and find_spec(self.package) is None:
            raise MissingExtra(f"Tracking by {self.package}", self.package)
        self.folder, self.name, self.group = Path(folder), name, group
        self.key = hashlib.sha256((key or f"{group}/{name}").encode()).hexdigest()[:16]
        self.failed = False
        self._opened = False
        self._step = 0
        self._stage: int | None = None
        self._options: Mapping[str, Any] = {}
        self._words: Callable[[], Sequence[WordImportance]] = lambda: []
        self._losses: list[Point] = []

    # What a subclass writes ------------------------------------------------------------------------------

    def open_run(self, step: int | None) -> None:
        """Open the run.

        Args:
            step: 0 for a new run; the number of steps that are done if a training is resumed, whose run goes on from
                there; None to add to a run that is complete.
        """
        raise NotImplementedError

    def write_options(self, options: Mapping[str, Any]) -> None:
        """Write the options of the training: numbers, truth values and short strings, by names such as `train.beta`."""
        raise NotImplementedError

    def write_numbers(self, points: Sequence[Point]) -> None:
        """Write numbers, each with its step."""
        raise NotImplementedError

    def write_histogram(self, name: str, values: NDArray[np.float32], step: int) -> None:
        """Write a histogram of values between 0 and 1."""
        raise NotImplementedError

    def write_text(self, name: str, text: str, step: int) -> None:
        """Write a text in Markdown."""
        raise NotImplementedError

    def write_file(self, path: Path) -> None:
        """Keep a copy of a file with the run."""
        raise NotImplementedError

    def close_run(self, status: Status) -> None:
        """The training has ended. Scores and files may still be written afterwards."""
        raise NotImplementedError

    # Events of a training --------------------------------------------------------------------------------

    def begin(self, options: Mapping[str, Any], words: Callable[[], Sequence[WordImportance]]) -> None:
        """Keep what the training is."""
        self._options, self._words = options, words

    def stage(self, number: int, total: int) -> None:
        """Keep the number of the stage."""
        self._stage = number

    def start(self, steps: int, done: int) -> None:
        """Keep the number of steps that are done; the run is opened by the first event after them."""
        self._step += done

    def step(self, loss: float) -> None:
        """Keep the loss of a step, and write it with others."""
        self._begin_run()
        self._step += 1
        self._losses.append(Point("train/step_loss", loss, self._step))
        if len(self._losses) >= PENDING:
            self._write_points()

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """Write the row of the history and the masks of the words."""
        self._begin_run()
        numbers = grouped({**row, **({} if self._stage is None else {"stage": self._stage})})
        self._write_points(Point(name, value, self._step) for name, value in numbers.items())
        self._write(self._write_words, "words")

    def end(self, row: Mapping[str, Any]) -> None:
        """Write the row of the kept epoch and the masks of the kept model."""
        self._begin_run()
        self._write_points(Point(f"kept/{name}", value, self._step) for name, value in numbers_in(row).items())
        self._write(self._write_words, "kept words")
        self._write(self.close_run, "finished")

    def _begin_run(self) -> None:
        """Open the run, if it is not open yet: of two stages the first may have been done before."""
        if not self._opened:
            self._write(self._open, self._step)
            self._write(self.write_options, flat(self._options))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the run if the training is broken off."""
        if kind is not None and self._opened:
            self._write_points()
            failed = issubclass(kind, Exception) and not issubclass(kind, StopTraining)
            self._write(self.close_run, "failed" if failed else "interrupted")

    def scores(self, values: Mapping[str, Any]) -> None:
        """Write scores of the trained model."""
        self._open_again()
        self._write_points(Point(name, value, self._step) for name, value in grouped(values).items())

    def file(self, path: Path) -> None:
        """Keep a file about the trained model."""
        self._open_again()
        self._write(self.write_file, path)

    def _open(self, step: int | None) -> None:
        self.open_run(step)
        self._opened = True

    def _open_again(self) -> None:
        """Open the run of a training that ended in an earlier process."""
        if not self._opened:
            self._write(self._open, None)

    def _write_points(self, points: Iterable[Point] = ()) -> None:
        """Write the losses that are kept, and more numbers."""
        written = [*self._losses, *points]
        self._losses = []
        if written:
            self._write(self.write_numbers, written)

    def _write_words(self, name: str) -> None:
        """Write a histogram of the masks of all words, and the words with the highest as a table."""
        if not (words := self._words()):
            return
        self.write_histogram(f"{name}/masks", np.array([word.score for word in words], np.float32), self._step)
        top = [word for word in words if word.count >= MIN_COUNT][:TOP] or words[:TOP]
        self.write_text(f"{name}/top", words_table(top), self._step)

    def _write(self, write: Callable[..., None], *arguments: Any) -> None:
        """Write something; the first failure is a warning, and nothing is written after it."""
        if self.failed:
            return
        try:
            write(*arguments)
        except Exception as error:  # a full disk, a server that is gone: whatever the library raises
            self.failed = True
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            warnings.warn(
                f"{type(self).__name__} failed and is left out from here on; the training goes on. {reason:.300}",
                TrackerWarning,
                stacklevel=2,
            )


def make_trackers(names: str | None, folder: str | Path, name: str, *, group: str = "", key: str = "") -> list[Tracker]:
    """The trackers of these names, commas between; nothing is opened or written yet.

    Raises:
        UnknownName: with the nearest known name.
        MissingExtra: if the package of one is not installed.
    """
    chosen = dict.fromkeys(filter(None, (part.strip() for part in (names or "").split(","))))
    return [TRACKERS.get(one)(folder, name, group=group, key=key) for one in chosen]


def numbers_in(values: Mapping[str, Any]) -> dict[str, float]:
    """The values that are numbers; no truth values."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def grouped(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by their names in trackers.

    >>> grouped({"loss": 0.5, "dev_accuracy": 1, "mask_mean": None, "competes": True})
    {'train/loss': 0.5, 'dev/accuracy': 1.0}
    """
    parts = {name: name.partition("_") for name in values}
    return {
        f"{parts[name][0]}/{parts[name][2]}" if parts[name][0] in PARTS else f"train/{name}": value
        for name, value in numbers_in(values).items()
    }


def flat(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested options as one mapping of simple values.

    >>> flat({"mask": "vmask", "train": {"beta": 1.0, "init_from": None}, "model_options": {"windows": [3, 4]}})
    {'mask': 'vmask', 'train.beta': 1.0, 'train.init_from': 'None', 'model_options.windows': '[3, 4]'}
    """
    simple: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            simple |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, (bool, int, float)):
            simple[prefix + name] = value
        else:
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, (list, tuple)) else str(value)
            simple[prefix + name] = text if len(text) <= LONGEST_OPTION else f"{text[: LONGEST_OPTION - 1]}…"
    return simple


def words_table(words: Sequence[WordImportance]) -> str:
    """Words with their masks and counts as a table in Markdown."""
    rows = [f"| {_escaped(word.word)} | {word.score:.3f} | {word.count:,} |" for word in words]
    return "\n".join(("| word | mask | count |", "|---|---:|---:|", *rows))


def _escaped(word: str) -> str:
    """A word without markup of Markdown or HTML."""
    return "".join(char if char.isalnum() else f"&#{ord(char)};" for char in word)
