"""Results and published numbers together: what ours stand for, in what they differ, what is told under a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reproduction.bands import judge_count, printed_step
from reproduction.published import Published
from reproduction.results import CONTROLS, DATASETS, METHODS, MODELS, OURS, Results, in_order, titled
from vmask.grid.store import TRAIN

SPLITS = ("train", "dev", "test")
PAPER_VECTORS = r"googlenews-vectors-negative300\.\w+(\.gz)?"
"""What the file of the paper's word vectors is called; a selection of them has another name."""
VECTORS, ENCODER, DATA, TRAIN_DATA = "vectors", "encoder", "data", "train data"
"""In what ours can differ from the paper's."""
ASIDES = {DATA: "stand-in", TRAIN_DATA: "train subset"}
"""What is said beside the name of a dataset that differs."""
STANDIN = "Stand-in data"
"""How a dataset's note begins that says that it is not the paper's."""

Cell = tuple[str, str, str]
"""Dataset, model (as the paper calls it) and method."""


@dataclass(frozen=True)
class Context:
    """What the tables are made from.

    Attributes:
        results: ours.
        published: the paper's; None where they are not at hand.
    """

    results: Results
    published: Published | None

    def number(self, table: str, *keys: str) -> float | None:
        """A published number, or None where there is none."""
        return None if self.published is None else self.published.number(table, *keys)

    def rows(self, table: str) -> Mapping[str, Any]:
        """The rows of a published table; none where it is not at hand."""
        return {} if self.published is None else self.published.table(table).rows

    def column(self, dataset: str) -> str:
        """A dataset's name over a column; that of other data than the paper's says so."""
        return self.results.title(dataset)

    def named(self) -> Results:
        """The results, with what is to be said beside the names of datasets that are not the paper's."""
        differing = {dataset: self.data_differs(dataset) for dataset in self.results.datasets}
        return replace(
            self.results, asides={dataset: ASIDES[one] for dataset, found in differing.items() for one in found}
        )

    def columns(self) -> tuple[str, ...]:
        """The datasets by name."""
        return tuple(self.column(dataset) for dataset in self.datasets)

    @property
    def datasets(self) -> list[str]:
        """The paper's seven, where any of them was run, and others that were."""
        return in_order([*(DATASETS if self.results.of_paper else ()), *(dataset for dataset, _ in self.results.ran)])

    @property
    def models(self) -> list[str]:
        """The paper's three, where any of its datasets was run, and others that were."""
        stands = {self.results.model(name): name for name in MODELS}
        run = [stands.get(model, model) for _, model in self.results.ran]
        return list(dict.fromkeys([*(one for one in MODELS if self.results.of_paper or one in run), *run]))

    @property
    def methods(self) -> list[str]:
        """The paper's methods, our controls, and others that were trained, such as another package's."""
        trained = {mask for _, _, mask, stage in self.results.records if stage == TRAIN}
        return list(dict.fromkeys([*METHODS, *CONTROLS, *sorted(trained)]))

    def cells(self, masks: Sequence[str]) -> list[Cell]:
        """Every method of every model on every dataset."""
        return [(dataset, model, mask) for dataset in self.datasets for model in self.models for mask in masks]

    def model(self, name: str) -> str:
        """A model's name at the head of a row: which one stands for the paper's."""
        own = self.results.model(name)
        return f"{titled(own)} (for {titled(name)})" if own == OURS.get(name) else titled(name)

    def data_differs(self, dataset: str) -> tuple[str, ...]:
        """`data` where the test texts are others than the paper's, `train data` where only those to learn from are.

        Texts are told apart by their number, and by the note of a dataset that says that it stands in for another.
        """
        facts = self.results.datasets.get(dataset)
        if facts is None:
            return ()
        differing = [split for split in SPLITS if self.size_verdict(dataset, split) == "off"]
        if "test" in differing:
            return (DATA,)
        if differing:
            return (TRAIN_DATA,)
        return (DATA,) if any(note.startswith(STANDIN) for note in facts["notes"]) else ()

    def size_verdict(self, dataset: str, split: str) -> str:
        """Whether a split has as many texts as the paper's."""
        published = self.number("datasets", dataset, split)
        ours = self.results.datasets.get(dataset, {}).get("rows", {}).get(split)
        return "" if published is None else judge_count(ours, published, self.size_step(dataset, split))

    def size_step(self, dataset: str, split: str) -> int:
        """What the paper rounded the size of a split to."""
        sizes = {name: self.number("datasets", dataset, name) or 0 for name in SPLITS}
        return printed_step(sizes[split], max(sizes.values()))

    def differs(self, dataset: str, model: str, mask: str) -> tuple[str, ...]:
        """In what a cell was trained otherwise than the paper's, as its record tells."""
        of_model: tuple[str, ...] = ()
        if model in OURS:
            of_model = (ENCODER,) if self.results.model(model) == OURS[model] else ()
        elif not self._paper_vectors(self.results.stage(dataset, model, mask)):
            of_model = (VECTORS,)
        return (*of_model, *self.data_differs(dataset))

    @staticmethod
    def _paper_vectors(records: Mapping[int, Mapping[str, Any]]) -> bool:
        return all(
            len(used) == 1 and re.fullmatch(PAPER_VECTORS, used[0], re.IGNORECASE)
            for used in (record["vectors"]["of"] or [] for record in records.values())
        )

    # Under a table -----------------------------------------------------------------------------------------

    def used(self, cells: Iterable[Cell], stage: str = TRAIN) -> list[Mapping[str, Any]]:
        """The records of cells, seed by seed."""
        return [record for cell in cells for _, record in sorted(self.results.stage(*cell, stage).items())]

    def notes(self, cells: Sequence[Cell]) -> Iterator[str]:
        """A sentence for everything in which the cells differ from the paper's."""
        cells = [cell for cell in cells if self.results.stage(*cell)]
        found = {cell: self.differs(*cell) for cell in cells}
        of_vectors = list(dict.fromkeys(titled(cell[1]) for cell in cells if VECTORS in found[cell]))
        if of_vectors:
            used = {_sources(one) for one in self.used(cell for cell in cells if VECTORS in found[cell])}
            yield f"{VECTORS}: {' and '.join(of_vectors)} had {_or(used)}, not all of GoogleNews, which the paper has."
        for model in MODELS:
            if any(cell[1] == model and ENCODER in found[cell] for cell in cells):
                yield f"{ENCODER}: {titled(OURS[model])} was run in place of {titled(model)}-base."
        for dataset in self.datasets:
            reasons = next((self.data_differs(cell[0]) for cell in cells if cell[0] == dataset), ())
            if reasons:
                yield self._data_note(dataset, reasons[0])

    def _data_note(self, dataset: str, reason: str) -> str:
        rows = self.results.datasets[dataset]["rows"]
        sizes = []
        for split in SPLITS:
            published = self.number("datasets", dataset, split)
            if published is not None and self.size_verdict(dataset, split) == "off":
                sizes.append(f"{rows.get(split, 0):,} {split} texts for {published:,.0f}")
        told = f": {', '.join(sizes)}" if sizes else ""
        what = "other texts than the paper's" if reason == DATA else "the paper's, but fewer texts to learn from"
        return f"{reason}: {titled(dataset)} is {what}{told}."

    def failed(self, cells: Iterable[Cell], stage: str = TRAIN) -> Iterator[str]:
        """A sentence about what was tried and failed, which the table shows as not run."""
        wanted = {(dataset, self.results.model(model), mask) for dataset, model, mask in cells}
        names = []
        for record in self.results.failed:
            of = record["cell"]
            named = (of.get("dataset"), of.get("model"), of.get("mask"))
            if record["stage"] == stage and named in wanted and not of.get("variant"):
                names.append(f"{of['dataset']} {of['model']} {of['mask']} seed {of['seed']}")
        if names:
            yield f"Failed, and so not run: {', '.join(sorted(names))}."


def _sources(record: Mapping[str, Any]) -> str:
    return " with ".join(record["vectors"]["of"] or ["none"])


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))
