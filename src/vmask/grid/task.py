"""A task of a grid: a search, a training or a measurement, and what determines its result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmask.grid.cell import Cell, Combination, identity
from vmask.grid.experiment import Experiment, Stage
from vmask.grid.search import chosen_options, search_request
from vmask.grid.store import TRAIN, Store


@dataclass(frozen=True)
class Task:
    """One task of a grid.

    Attributes:
        of: the combination to search for, or the cell.
        stage: what to measure of the cell; None to search or to train.
        ranker: another cell whose model ranks the words for the stage, or None.
        confident: the cell whose model sets the mean confidence for the stage, or None.
    """

    of: Combination | Cell
    stage: Stage | None = None
    ranker: Cell | None = None
    confident: Cell | None = None

    @property
    def others(self) -> tuple[Cell, ...]:
        """The other cells whose models it uses."""
        return tuple(cell for cell in (self.ranker, self.confident) if cell is not None)

    @property
    def kind(self) -> str:
        """`search`, `train` or the name of the stage."""
        if isinstance(self.of, Combination):
            return "search"
        return TRAIN if self.stage is None else self.stage.name

    @property
    def combination(self) -> Combination:
        """The combination, whatever the seed."""
        return self.of if isinstance(self.of, Combination) else self.of.combination

    @property
    def uses(self) -> frozenset[str]:
        """Names of the dataset, model, masks, metrics and explainers, which may be of other packages."""
        return uses_of(self.combination, self.stage) | {cell.combination.mask for cell in self.others}

    @property
    def title(self) -> str:
        """The title in messages."""
        return f"{self.of.key} {self.kind}"

    def path(self, store: Store) -> Path:
        """The result file."""
        return store.search(self.of.key) if isinstance(self.of, Combination) else store.cell(self.of.key, self.kind)

    def request(self, store: Store, experiment: Experiment) -> dict[str, Any] | None:
        """Everything that determines the result; None if a search must be done first."""
        if isinstance(self.of, Combination):
            assert experiment.search is not None
            return search_request(experiment.search, self.of)
        training = training_request(store, experiment, self.of)
        if self.stage is None or training is None:
            return training
        request = {"train": identity(training), **self.stage.request()}
        for role, cell in (("ranker", self.ranker), ("confident", self.confident)):
            if cell is not None:
                other = training_request(store, experiment, cell)
                if other is None:
                    return None
                request[role] = identity(other)
        return request


def uses_of(of: Combination, stage: Stage | None = None) -> frozenset[str]:
    """Names of the dataset, model, mask, metrics and explainers of a combination and a stage."""
    measuring = () if stage is None else (*stage.metrics, *stage.explainers)
    return frozenset((of.dataset, of.model, of.mask, *measuring))


def training_request(store: Store, experiment: Experiment, cell: Cell) -> dict[str, Any] | None:
    """Everything that determines a cell's training; None if a search must be done first."""
    options = chosen_options(store, experiment, cell.combination)
    return None if options is None else {**cell.to_dict(), "options": options}
