"""An experiment: its cells, what is searched for them, what is measured of them."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from vmask.config import LARGEST_SEED, ClusterConfig, check_positive, option
from vmask.errors import ConfigError
from vmask.grid.cell import Cell, Combination, short_name
from vmask.grid.search_space import Range, Space, samples_of


@dataclass(frozen=True)
class Where:
    """A selection of cells; an empty tuple selects all."""

    datasets: tuple[str, ...] = option((), "datasets")
    models: tuple[str, ...] = option((), "models")
    masks: tuple[str, ...] = option((), "training methods")
    seeds: tuple[int, ...] = option((), "seeds", most=LARGEST_SEED)

    def fits(self, cell: Cell) -> bool:
        """Whether a cell is selected."""
        of = cell.combination
        return (
            _among(of.dataset, self.datasets)
            and _among(of.model, self.models)
            and _among(of.mask, self.masks)
            and _among(cell.seed, self.seeds)
        )


@dataclass(frozen=True)
class Stage:
    """What is measured of a trained cell, with a result file of its own.

    Attributes:
        name: part of the file's name; of stages with the same name the first that selects a cell is used.
        where: the cells that it is for.
        metrics: metrics with their options, as for `evaluate`.
        explainers: explainers with their options, as for `evaluate`.
        n: maximum number of explained texts.
        hide: ways of hiding words.
        ranking: the training method whose model, of the same seed, ranks the words; empty for the model itself.
        confidence_of: the training method whose model, of the same seed, sets the mean confidence on dev at which AOPC
            has its reading `equal confidence`; empty for none.
        examples: maximum number of texts whose explanations are kept in the file.
        long: maximum number of words of such a text.
    """

    name: str
    where: Where = field(default_factory=Where)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    explainers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    n: int = 1000
    hide: tuple[str, ...] = ("remove",)
    ranking: str = ""
    confidence_of: str = ""
    examples: int = 0
    long: int = 40

    def request(self) -> dict[str, Any]:
        """Everything that determines the result."""
        left_out = ("name", "where") if self.confidence_of else ("name", "where", "confidence_of")
        return {key: value for key, value in dataclasses.asdict(self).items() if key not in left_out}


@dataclass(frozen=True)
class Resources:
    """What a task takes of a machine of a cluster."""

    cpus: float | None = option(None, "CPUs, also a fraction; by default as many as threads", most=1_000)
    gpus: float = option(0.0, "GPUs, also a fraction: 0.25 if four tasks share one", most=1_000)
    memory_gb: float | None = option(None, "memory in GB, for the choice of a machine; by default any", most=1_000_000)

    def __post_init__(self) -> None:
        check_positive(self, "cpus", "memory_gb")
        check_positive(self, "gpus", minimum=0)


LIST, OPTUNA = "list", "optuna"
SEARCH_ENGINES = (LIST, OPTUNA)
"""Who chooses the options of a trial: a list that is drawn in advance, or Optuna by the trials before."""


@dataclass(frozen=True)
class Search:
    """Options that are tried for every combination on the dev set, before any of its cells is trained.

    Options of the model and of the method are crossed. Every method gets the same number of trials. Of a list of trials
    the first has the first value of every option, the others are drawn from all combinations of values, without
    repetition. By Optuna see `vmask.grid.optuna_search`.

    Attributes:
        seed: seed of all trials, and of the draw.
        trials: number of trials of a combination.
        of_models: for each model that is searched, its options with the values to try.
        of_methods: the same for each method; methods that are not named are not searched, an empty mapping is all.
        datasets: datasets to search on, empty for all. On others the trial is used that is best over these.
        engine: one of `SEARCH_ENGINES`.
    """

    seed: int
    trials: int
    of_models: Mapping[str, Space]
    of_methods: Mapping[str, Space] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()
    engine: str = LIST

    def options_of(self, of: Combination) -> Space | None:
        """The options that are searched, with what is tried of each; None if the combination is not searched."""
        if of.model not in self.of_models or (self.of_methods and of.mask not in self.of_methods):
            return None
        return {**self.of_models[of.model], **self.of_methods.get(of.mask, {})}

    def space(self, of: Combination) -> list[dict[str, Any]]:
        """All combinations of listed values; empty if the combination is not searched."""
        values = self.options_of(of)
        if values is None:
            return []
        lists = (chosen for chosen in values.values() if not isinstance(chosen, Range))
        return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*lists)]

    def trials_of(self, of: Combination) -> list[dict[str, Any]]:
        """The options of every trial of a list; empty if the combination is not searched."""
        space = self.space(of)
        drawn = random.Random(self.seed).sample(range(1, len(space)), self.trials - 1) if space else []
        return [space[number] for number in (0, *drawn)] if space else []

    def samples(self, of: Combination) -> list[dict[str, Any]]:
        """The options of trials that have every value and both ends of every range between them.

        These are all trials of a list. Empty if the combination is not searched.
        """
        values = self.options_of(of)
        if values is None:
            return []
        return samples_of(values) if self.engine == OPTUNA else self.trials_of(of)


@dataclass(frozen=True)
class Experiment:
    """An experiment, as described by its file.

    Attributes:
        name: name of the experiment.
        title: description in one line.
        out: folder of the results, relative to the working directory.
        cells: all cells in the order in which they are run.
        stages: what is measured of the cells.
        search: the hyperparameter search, or None.
        track: names of trackers that trainings are written to, commas between; mostly empty.
        engine: where the tasks are done.
        resources: what each kind of task (`search`, `train` or the name of a stage) takes of a machine of a cluster.
        word_lists: digest of each file of words that options name -> its words, see `WordLists`.
    """

    name: str
    title: str
    out: str
    cells: tuple[Cell, ...]
    stages: tuple[Stage, ...]
    search: Search | None
    track: str = ""
    engine: ClusterConfig = field(default_factory=ClusterConfig)
    resources: Mapping[str, Resources] = field(default_factory=dict)
    word_lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def resources_of(self, kind: str) -> Resources:
        """What a kind of task takes of a machine of a cluster."""
        return self.resources.get(kind, Resources())

    def stages_of(self, cell: Cell) -> list[Stage]:
        """The stages of a cell: for each name the first that selects the cell."""
        stages: dict[str, Stage] = {}
        for stage in self.stages:
            if stage.where.fits(cell):
                stages.setdefault(stage.name, stage)
        return list(stages.values())

    def searches_for(self, of: Combination) -> list[Combination]:
        """The combinations whose searches choose the options of a combination: itself, or those that are searched."""
        if self.search is None or self.search.options_of(of) is None:
            return []
        if _among(of.dataset, self.search.datasets):
            return [of]
        alike = dict.fromkeys(cell.combination for cell in self.cells)
        return [
            other
            for other in alike
            if (other.model, other.mask, other.variant) == (of.model, of.mask, of.variant)
            and _among(other.dataset, self.search.datasets)
        ]

    def ranker_of(self, cell: Cell, stage: Stage) -> Cell | None:
        """The cell whose model ranks the words for a stage; None for the cell itself."""
        return self._with_mask(cell, stage, "ranking")

    def confident_of(self, cell: Cell, stage: Stage) -> Cell | None:
        """The cell whose model sets the mean confidence for a stage; None if none does."""
        return self._with_mask(cell, stage, "confidence_of")

    def _with_mask(self, cell: Cell, stage: Stage, field_name: str) -> Cell | None:
        """The cell of the same seed and the training method that a field of the stage names.

        Raises:
            ConfigError: if the experiment has no such cell.
        """
        mask = getattr(stage, field_name)
        if not mask:
            return None
        wanted = dataclasses.replace(cell.combination, mask=mask)
        for other in self.cells:
            if other.seed == cell.seed and other.combination.key == wanted.key:
                return other
        raise ConfigError(
            f"Stage {stage.name} of {cell.key} needs the model of {wanted.key}--s{cell.seed}, which the experiment "
            f"does not train. Add it to the grid, or leave `{field_name}` out."
        )


def _among(value: Any, values: Collection[Any]) -> bool:
    return not values or value in values or (isinstance(value, str) and short_name(value) in values)
