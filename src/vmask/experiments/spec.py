"""The file of an experiment: which cells there are, how hyperparameters are searched for, what is measured of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from vmask.config import make, option
from vmask.errors import ConfigError, FileMissing
from vmask.evaluation.chosen import plugins
from vmask.experiments.cell import Cell, Combination, short_name
from vmask.explain import EXPLAINERS
from vmask.masks import MASKS
from vmask.metrics import METRICS

ALL = "all"


@dataclass(frozen=True)
class Where:
    """Which cells something is for; an empty tuple is all."""

    datasets: tuple[str, ...] = option((), "datasets")
    models: tuple[str, ...] = option((), "models")
    masks: tuple[str, ...] = option((), "training methods")
    seeds: tuple[int, ...] = option((), "seeds")

    def fits(self, cell: Cell) -> bool:
        """Whether a cell is one of them."""
        of = cell.combination
        return (
            _among(of.dataset, self.datasets)
            and _among(of.model, self.models)
            and _among(of.mask, self.masks)
            and _among(cell.seed, self.seeds)
        )


@dataclass(frozen=True)
class Stage:
    """What is measured of a trained cell, into a file of its own.

    Attributes:
        name: part of the file's name; several of one name have different `where`, and the first that fits counts.
        where: the cells that it is for.
        metrics: as `evaluate` takes them.
        explainers: likewise.
        n: texts that are explained, at most.
        hide: ways of hiding words.
        ranking: the training method whose model, of the same seed, ranks the words; empty for the model itself.
        examples: texts whose explanations are kept in the file, at most.
        long: longest text, in words, that is kept as an example.
    """

    name: str
    where: Where = field(default_factory=Where)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    explainers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    n: int = 1000
    hide: tuple[str, ...] = ("remove",)
    ranking: str = ""
    examples: int = 0
    long: int = 40

    def asked(self) -> dict[str, Any]:
        """All that decides its result."""
        return {key: value for key, value in dataclasses.asdict(self).items() if key not in ("name", "where")}


@dataclass(frozen=True)
class Search:
    """Options that are tried for every combination on the dev set, before any of its cells.

    Attributes:
        seed: the one that all trials are trained with.
        shared: for each model the options of every trial, the same for all methods.
        of_methods: for each method what its trials have beside these, trial by trial.
    """

    seed: int
    shared: Mapping[str, Sequence[Mapping[str, Any]]]
    of_methods: Mapping[str, Sequence[Mapping[str, Any]]]

    def trials(self, of: Combination) -> list[dict[str, Any]]:
        """The options of every trial of a combination; one trial without options where there is nothing to search."""
        shared = [dict(one) for one in self.shared.get(of.model, ())]
        own = self.of_methods.get(of.mask, ())
        return [{**one, **(own[number] if number < len(own) else {})} for number, one in enumerate(shared)] or [{}]


@dataclass(frozen=True)
class Experiment:
    """An experiment, as its file describes it.

    Attributes:
        name: what it is called.
        title: one line about it.
        out: folder of its results, from where the command is run.
        cells: all of them, in the order in which they are run.
        stages: what is measured of them.
        search: the search for hyperparameters, if there is one.
    """

    name: str
    title: str
    out: str
    cells: tuple[Cell, ...]
    stages: tuple[Stage, ...]
    search: Search | None

    def stages_of(self, cell: Cell) -> list[Stage]:
        """What is measured of a cell: of each name the first that is for it."""
        found: dict[str, Stage] = {}
        for stage in self.stages:
            if stage.where.fits(cell):
                found.setdefault(stage.name, stage)
        return list(found.values())

    def ranker_of(self, cell: Cell, stage: Stage) -> Cell | None:
        """The cell whose model ranks the words for a stage.

        Raises:
            ConfigError: where the experiment has no such cell.
        """
        if not stage.ranking:
            return None
        wanted = dataclasses.replace(cell.combination, mask=stage.ranking)
        for other in self.cells:
            if other.seed == cell.seed and other.combination.key == wanted.key:
                return other
        raise ConfigError(
            f"Stage {stage.name} of {cell.key} needs the model of {wanted.key}--s{cell.seed}, which the experiment "
            "does not train. Add it to the grid, or leave `ranking` out."
        )


def read_experiment(path: str | Path) -> Experiment:
    """Read the file of an experiment, strictly.

    Raises:
        FileMissing: where there is none.
        ConfigError: for a key or a name that is not known, with the nearest one.
    """
    path = Path(path)
    if not path.is_file():
        raise FileMissing(f"There is no file {path}. Give the YAML file of an experiment.")
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no YAML: {error}. Correct the file.") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} holds no experiment. It needs `models` and `grid`, see docs/experiments.md.")
    try:
        return _experiment(loaded, path)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def parse_where(text: str) -> Where:
    """`dataset=trec,model=cnn` as a filter; one name may stand several times.

    Raises:
        ConfigError: for what is no `name=value`.
    """
    found: dict[str, list[Any]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        field_name = f"{name.strip()}s"
        if not equals or not value or field_name not in {f.name for f in dataclasses.fields(Where)}:
            raise ConfigError(
                f"'{part}' selects no cells. Write name=value with commas between, such as dataset=trec,model=cnn; "
                "names are dataset, model, mask and seed."
            )
        values = parse_seeds(value) if field_name == "seeds" else [value.strip()]
        found.setdefault(field_name, []).extend(values)
    return make(Where, found)


def parse_seeds(value: Any) -> list[int]:
    """`0-4`, `0,2`, a number or a list of numbers, as a list.

    Raises:
        ConfigError: for anything else.
    """
    parts = value if isinstance(value, list) else str(value).split(",")
    seeds: list[int] = []
    for part in parts:
        first, _, last = str(part).strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise ConfigError(f"seeds is {value!r}. Write them as 0-4 or 0,2,5.")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


_TOP = ("name", "title", "out", "models", "grid", "stages", "search")
_BLOCK = ("datasets", "models", "masks", "seeds", "variants")


def _experiment(loaded: Mapping[str, Any], path: Path) -> Experiment:
    _known(loaded, _TOP, "the file")
    models = loaded.get("models") or {}
    if not isinstance(models, Mapping) or not loaded.get("grid"):
        raise ConfigError("an experiment needs `models` (a name and its options each) and `grid` (a list of blocks).")
    cells = dict.fromkeys(cell for block in loaded["grid"] for cell in _cells(block, models, path.parent))
    keys = [cell.key for cell in cells]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise ConfigError(f"there are two cells {twice} with different options. Give one of them a variant.")
    search = loaded.get("search")
    return Experiment(
        name=str(loaded.get("name", path.stem)),
        title=str(loaded.get("title", "")),
        out=str(loaded.get("out", "results")),
        cells=tuple(cells),
        stages=tuple(_stage(stage) for stage in loaded.get("stages") or ()),
        search=None if search is None else _search(search),
    )


def _cells(block: Mapping[str, Any], models: Mapping[str, Any], folder: Path) -> Iterator[Cell]:
    _known(block, _BLOCK, "a block of `grid`")
    masks = MASKS.names() if block.get("masks", ALL) == ALL else list(block["masks"])
    for mask in masks:
        MASKS.get(mask)
    for model in block["models"]:
        if model not in models:
            raise ConfigError(f"the grid has model {model!r}, which `models` does not list. Add it there.")
    variants: Mapping[str, Any] = block.get("variants") or {"": {}}
    for dataset in block["datasets"]:
        found = str(folder / dataset) if (folder / dataset).exists() else dataset  # a file beside the experiment's
        for model in block["models"]:
            for mask in masks:
                for variant, options in variants.items():
                    of = Combination(found, model, mask, variant, {**(models[model] or {}), **options})
                    for seed in parse_seeds(block.get("seeds", 0)):
                        yield Cell(of, seed)


def _stage(loaded: Mapping[str, Any]) -> Stage:
    values = dict(loaded)
    where = {**values.pop("where", {})}
    if "seeds" in where:
        where["seeds"] = parse_seeds(where["seeds"])
    values["where"] = make(Where, where, "where.")
    for name, registry in (("metrics", METRICS), ("explainers", EXPLAINERS)):
        chosen = plugins(registry, values.get(name, ()))
        for one, options in chosen.items():
            make(registry.get(one).Options, options, f"{one}.")
        values[name] = {one: dict(options) for one, options in chosen.items()}
    values["hide"] = tuple(values.get("hide", Stage.hide))
    _known(values, [f.name for f in dataclasses.fields(Stage)], "a stage")
    return Stage(**values)


def _search(loaded: Mapping[str, Any]) -> Search:
    _known(loaded, ("seed", "models", "masks"), "`search`")
    search = Search(int(loaded.get("seed", 100)), loaded.get("models") or {}, loaded.get("masks") or {})
    for mask, trials in search.of_methods.items():
        MASKS.get(mask)
        for model, shared in search.shared.items():
            if len(trials) > len(shared):
                raise ConfigError(
                    f"search lists {len(trials)} trials of {mask} and {len(shared)} of {model}. Every method gets as "
                    "many trials as the model: shorten or lengthen one list."
                )
    return search


def _known(values: Mapping[str, Any], names: Collection[str], of: str) -> None:
    for key in values:
        if key not in names:
            raise ConfigError(f"{of} has no key {key!r}. Available: {', '.join(names)}.")


def _among(value: Any, values: Collection[Any]) -> bool:
    return not values or value in values or (isinstance(value, str) and short_name(value) in values)
