"""Result files of explained texts, for tests of reports."""

from __future__ import annotations

from reproduction.results import Results
from vmask.grid.store import Store


def spans(text):
    found, at = [], 0
    for word in text.split(" "):
        found.append([at, at + len(word)])
        at += len(word) + 1
    return found


def explained(text, label="1", predicted=None, **scores):
    """A text of a result file; without scores the second word has the highest."""
    count = len(text.split(" "))
    plain = {"lime": [0.1] + [0.9] * (count > 1) + [0.2] * (count - 2)}
    return {"text": text, "label": label, "predicted": predicted or label, "spans": spans(text), **(scores or plain)}


class Grid:
    """Writes result files of explained texts, and reads them back as results."""

    def __init__(self, folder):
        self.store = Store(folder)

    def local(self, dataset, model, mask, seed, texts, **more):
        cell = {"dataset": dataset, "model": model, "mask": mask, "variant": "", "seed": seed}
        record = {"cell": cell, "stage": "local", "status": "done", "scores": [], "examples": texts, **more}
        path = self.store.cell(f"{dataset}--{model}--{mask}--s{seed}", "local")
        self.store.write(path, {"splime": {}, "importance": None, **record})

    def both(self, dataset, model, texts, seed=0):
        for mask in ("base", "vmask"):
            self.local(dataset, model, mask, seed, texts)

    @property
    def results(self):
        return Results.read(self.store.folder)
