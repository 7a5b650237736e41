"""Small result folders of a grid, made by hand, for tests of reports."""

from __future__ import annotations

from vmask.grid.store import Store
from vmask.report.templating import environment

FACTS = {"versions": {"vmask": "0.1.0"}, "machine": "a machine", "commit": "abc", "threads": 1}


class Made:
    """Writes result files as `vmask grid` does."""

    def __init__(self, folder):
        self.folder = folder
        self.store = Store(folder)

    def train(self, dataset, model, mask, accuracies, variant="", seeds=None, history=None):
        """Trainings with these test accuracies, one a seed."""
        for seed, accuracy in zip(seeds or range(len(accuracies)), accuracies, strict=True):
            self._write(
                (dataset, model, mask, variant, seed),
                "train",
                test_accuracy=accuracy,
                dev_accuracy=accuracy,
                seconds_per_epoch=2.0,
                history=history or [{"epoch": epoch, "dev_accuracy": accuracy} for epoch in (1, 2)],
                options={"train": {"epochs": 2}},
                dataset={"name": dataset, "fingerprint": "f" * 16, "notes": []},
                vectors={"files": {}, "coverage": None, "of": None},
                parameters={"all": 10, "trained": 5},
            )

    def stage(self, dataset, model, mask, scores, stage="local", variant="", **more):
        """Scores by (metric, by, hide, part), a list with one a seed; the part `""` and those in `headline` lead."""
        headline = more.pop("headline", ("",))
        for seed in range(max(map(len, scores.values()), default=1)):
            rows = [
                {**dict(zip(("metric", "by", "hide", "part"), key, strict=True)), "value": values[seed]}
                | {"low": None if values[seed] is None else values[seed] - 0.1, "n": 50}
                | {"high": None if values[seed] is None else values[seed] + 0.1, "headline": key[3] in headline}
                for key, values in scores.items()
                if seed < len(values)
            ]
            cell = (dataset, model, mask, variant, seed)
            measured = {"hide": ["remove"], "n": 50, "fingerprint": None, "explainers": {}}
            usual = {"values": [], "splime": {}, "examples": [], "importance": None, "metrics": {}}
            self._write(cell, stage, scores=rows, measured=measured, **{**usual, **more})

    def data(self, name, labels=("no", "yes"), truth="", **rows):
        """Facts about a dataset."""
        record = {
            **{"name": name, "title": f"Title of {name}", "fingerprint": "f" * 16, "notes": [], "classes": 2},
            **{"labels": list(labels), "average_length": 9.5, "rows": {"train": 10, "dev": 5, "test": 4, **rows}},
            **{"threshold": 0, "max_words": None, "words_kept": 7, "telling": [], "test_labels": truth or None},
        }
        self.store.write(self.store.data(name), record)

    def fail(self, dataset, model, mask, error, seed=0, stage="train"):
        """A training that failed."""
        cell = {"dataset": dataset, "model": model, "mask": mask, "variant": "", "seed": seed}
        path = self.store.cell(f"{dataset}--{model}--{mask}--s{seed}", stage)
        self.store.write(path, {"cell": cell, "stage": stage, "status": "failed", "error": error, "facts": FACTS})

    def search(self, dataset, model, mask, *trials, chosen=0):
        """A search with these options and dev accuracies."""
        record = {
            **{"status": "done", "chosen": chosen, "identity": "x", "facts": FACTS},
            "combination": {"dataset": dataset, "model": model, "mask": mask, "variant": ""},
            "asked": {"seed": 100, "trials": []},
            "trials": [{"options": options, "dev_accuracy": dev, "seconds": 1.0} for options, dev in trials],
        }
        self.store.write(self.store.search(f"{dataset}--{model}--{mask}"), record)

    def optuna(self, dataset, model, mask, space, *trials, chosen=0):
        """A search by Optuna in this space with these options, dev accuracies and whether they were pruned."""
        record = {
            **{"status": "done", "chosen": chosen, "identity": "x", "facts": FACTS},
            "combination": {"dataset": dataset, "model": model, "mask": mask, "variant": ""},
            "asked": {"seed": 100, "trials": len(trials), "engine": "optuna", "space": space},
            "trials": [
                {"options": options, "dev_accuracy": dev, "seconds": 1.0, "pruned": pruned, "reported": [dev]}
                for options, dev, pruned in trials
            ],
        }
        self.store.write(self.store.search(f"{dataset}--{model}--{mask}"), record)

    def _write(self, cell, stage, **more):
        names = dict(zip(("dataset", "model", "mask", "variant", "seed"), cell, strict=True))
        key = "--".join(str(part).replace("/", "_") for part in cell if part != "")
        record = {"cell": names, "stage": stage, "status": "done", "identity": "x", "seconds": 1.0, "facts": FACTS}
        self.store.write(self.store.cell(key, stage), {**record, "asked": {"n": None}, **more})


def table_html(table):
    """A table as the templates show it."""
    return str(environment().get_template("table.html").module.show(table))
