"""A grid in small, what does its work inside the test's own process, and how two folders of results are compared."""

from __future__ import annotations

import json
import warnings

import torch
import yaml

from toy import toy_texts, write_csv
from vmask.errors import VmaskWarning
from vmask.grid.engines.contract import Finished, Started
from vmask.grid.worker import Worker

TINY = {
    "name": "tiny",
    "out": "results",
    "models": {
        "cnn": {"embeddings": "random", "epochs": 2, "batch_size": 20, "learning_rate": 0.02, "model__filters": 4}
    },
    "grid": [{"datasets": ["reviews.csv"], "models": ["cnn"], "masks": ["base", "vmask"], "seeds": "0-1"}],
    "search": {"seed": 100, "trials": 2, "models": {"cnn": {"learning_rate": [0.02, 0.01]}}},
    "stages": [
        {"name": "words", "where": {"masks": ["vmask"]}, "metrics": ["post_hoc_accuracy", "frequency_correlation"]},
        {"name": "words", "where": {"masks": ["base"]}, "metrics": ["post_hoc_accuracy"], "ranking": "vmask"},
        {
            "name": "local",
            "where": {"seeds": [0]},
            "metrics": ["aopc"],
            "confidence_of": "base",
            "explainers": {"lime": {"samples": 20}},
            "n": 5,
            "examples": 2,
        },
    ],
}
"""2 searches, 4 trainings, 4 times `words` and 2 times `local`: 12 pieces."""
PIECES = 12


def write_tiny(folder, **changes):
    """Write the file of a grid with its data beside it; None takes a part out."""
    texts, labels = toy_texts(60)
    write_csv(folder / "reviews.csv", [f"{text} {number}" for number, text in enumerate(texts)], labels)
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({key: one for key, one in {**TINY, **changes}.items() if one is not None}))
    return path


class Inline:
    """As `LocalEngine`, in this process: nothing is lost on starting others. The last that was started ends first."""

    def __init__(self, experiment, places, jobs):
        self.worker, self.jobs, self.running = Worker(experiment, places), jobs, []

    def __enter__(self):
        self.threads = torch.get_num_threads()
        torch.set_num_threads(self.worker.places.threads)
        return self

    def __exit__(self, *_):
        torch.set_num_threads(self.threads)

    @property
    def free(self):
        return len(self.running) < self.jobs

    def start(self, job):
        self.running.append(job)

    def events(self, timeout=None):
        job = self.running.pop()
        yield Started(job, "")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)
            yield Finished(job, self.worker.do(job))


def files(folder):
    """The result files of a folder: their names from there, and when they were written."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.json"))}


MAY_DIFFER = {
    ("seconds",),  # of a piece of work
    ("seconds_per_epoch",),
    ("memory_mb",),
    ("resumed",),  # whether the training was cut off
    ("history", "seconds"),  # of every epoch
    ("trials", "seconds"),  # of every trial of a search
    ("facts", "commit"),  # of the moment
}
"""What two runs of one grid may have different, by the keys on the way there: times, memory and whether it was cut."""


def stripped(value, way=()):
    """A JSON value without what may differ; lists add nothing to the way."""
    if isinstance(value, dict):
        return {key: stripped(one, (*way, key)) for key, one in value.items() if (*way, key) not in MAY_DIFFER}
    return [stripped(one, way) for one in value] if isinstance(value, list) else value


def results(folder):
    """All result files of a folder, by their names, without what may differ."""
    return {name: stripped(json.loads((folder / name).read_text(encoding="utf-8"))) for name in files(folder)}


def differences(one, other):
    """Names of the files, and their keys, in which two folders of results differ in what must not."""
    a, b = results(one), results(other)
    found = [name for name in {**a, **b} if (name in a) != (name in b)]
    for name in a.keys() & b.keys():
        found += [f"{name}: {key}" for key in {**a[name], **b[name]} if a[name].get(key) != b[name].get(key)]
    return sorted(found)
