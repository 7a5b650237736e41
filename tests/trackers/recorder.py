"""A tracker that keeps what it is given, and small trainings to track."""

from __future__ import annotations

import warnings

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import TrackerWarning, VmaskWarning
from vmask.trackers.contract import Tracker
from vmask.training.progress import ProgressCallback

TEXTS, LABELS = toy_texts(60)
DEV = toy_texts(20, seed=1)
STEPS, EPOCHS = 3, 4
"""Steps of an epoch, and epochs."""
SHORT = {"epochs": EPOCHS, "batch_size": 20, "device": "cpu"}
OF_MODEL = {
    "cnn": {"embeddings": "random", "model__filters": 4},
    "lstm": {"embeddings": "random", "model__hidden": 6},
}


class Recorder(Tracker):
    """Keeps every call; fails from a given one on."""

    def __init__(self, *words, fails_at=None, **named):
        super().__init__(*(words or ("folder", "name")), **named)
        self.calls, self.fails_at = [], fails_at

    def _keep(self, *call):
        self.calls.append(call)
        if call[0] == self.fails_at:
            raise OSError(28, "No space left on device")

    def open_run(self, step):
        self._keep("open", step)

    def write_options(self, options):
        self._keep("options", options)

    def write_numbers(self, points):
        self._keep("numbers", points)

    def write_histogram(self, name, values, step):
        self._keep("histogram", name, values, step)

    def write_text(self, name, text, step):
        self._keep("text", name, text, step)

    def write_file(self, path):
        self._keep("file", path)

    def close_run(self, status):
        self._keep("close", status)

    def of(self, kind):
        """The calls of a kind, without it."""
        return [call[1:] for call in self.calls if call[0] == kind]

    @property
    def points(self):
        """All numbers: name to their values by step."""
        found = {}
        for (points,) in self.of("numbers"):
            for name, value, step in points:
                found.setdefault(name, {})[step] = value
        return found


class Stop(ProgressCallback):
    """Ends the training after some steps, as Ctrl-C would."""

    def __init__(self, steps):
        self.left = steps

    def step(self, loss):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def train(*callbacks, mask="vmask", checkpoint=None, resume=False, model="cnn", **options):
    """Train in small; warnings of trackers are not hushed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
        warnings.simplefilter("always", TrackerWarning)
        classifier = TextClassifier(model, mask, **{**SHORT, **OF_MODEL.get(model, {}), **options})
        return classifier.fit(TEXTS, LABELS, dev=DEV, callbacks=callbacks, checkpoint=checkpoint, resume=resume)
