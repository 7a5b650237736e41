"""TensorBoard: event files in FOLDER/GROUP/NAME, for `tensorboard --logdir FOLDER`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.trackers import TRACKERS
from vmask.trackers.contract import HISTOGRAM_EDGES, Point, Status, Tracker


@TRACKERS.register("tensorboard")
class TensorBoard(Tracker):
    """Writes event files by torch's `SummaryWriter`. TensorBoard keeps no files: they are copied beside the events."""

    package = "tensorboard"

    def open_run(self, step: int | None) -> None:
        """Go on after `step`: what was written of later steps, or of an earlier training, is not shown any more."""
        from torch.utils.tensorboard import SummaryWriter

        self.run_folder = self.folder / self.group / self.name
        purge = step is not None and any(self.run_folder.glob("*.tfevents.*"))
        self.writer: Any = SummaryWriter(str(self.run_folder), purge_step=(step + 1 if step else 0) if purge else None)

    def write_options(self, options: Mapping[str, Any]) -> None:
        """Write the options as a table."""
        rows = "\n".join(f"| {name} | `{value}` |" for name, value in options.items())
        self.writer.add_text("options", f"| option | value |\n|---|---|\n{rows}", 0)

    def write_numbers(self, points: Sequence[Point]) -> None:
        """Write scalars, to be seen at once."""
        for name, value, step in points:
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def write_histogram(self, name: str, values: NDArray[np.float32], step: int) -> None:
        """Write a histogram; the bins of TensorBoard itself are too wide near 1."""
        self.writer.add_histogram(name, values, step, bins=HISTOGRAM_EDGES)

    def write_text(self, name: str, text: str, step: int) -> None:
        """Write a text."""
        self.writer.add_text(name, text, step)
        self.writer.flush()

    def write_file(self, path: Path) -> None:
        """Copy a file into the folder of the run, and write where it is."""
        shutil.copyfile(path, self.run_folder / path.name)
        self.writer.add_text("files", f"`{path.name}` is in the folder of this run's events.", 0)
        self.writer.flush()

    def close_run(self, status: Status) -> None:
        """Close the event file; the writer begins another if more is written."""
        self.writer.close()
