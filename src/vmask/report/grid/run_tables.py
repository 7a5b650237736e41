"""Tables of what was run: datasets, and how many trainings every setting has."""

from __future__ import annotations

from vmask.grid.store import TRAIN
from vmask.report.grid.metric_tables import datasets_of, methods_of
from vmask.report.grid.results import GridResults, Setting
from vmask.report.grid.table import Entry, Row, Table, exact

SPLITS = ("train", "dev", "test")


def dataset_table(results: GridResults) -> Table[Entry]:
    """The datasets with their sizes."""
    return Table(
        name="datasets",
        title="Datasets",
        heads=("dataset",),
        columns=("title", "classes", *SPLITS, "words a text"),
        rows=[
            Row(
                (name,),
                (
                    Entry(text=str(facts.get("title") or name)),
                    Entry(text=str(facts["classes"])),
                    *(Entry(text=f"{facts['rows'].get(split, 0):,}") for split in SPLITS),
                    Entry(text=f"{facts['average_length']:g}"),
                ),
            )
            for name, facts in sorted(results.datasets.items())
        ],
    )


def trainings_table(results: GridResults, baseline: str) -> Table[Entry]:
    """How many trainings every method and variant has on every dataset."""
    datasets, methods = datasets_of(results), methods_of(results, baseline)
    variants = any(variant for *_, variant in methods)
    return Table(
        name="trainings",
        title="Trainings, one for each seed",
        heads=("model", "method", "variant") if variants else ("model", "method"),
        columns=tuple(datasets),
        rows=[
            Row(
                method if variants else method[:2],
                tuple(
                    Entry(exact(len(results.stage(Setting(dataset, *method), TRAIN)) or None)) for dataset in datasets
                ),
            )
            for method in methods
        ],
        digits=0,
    )
