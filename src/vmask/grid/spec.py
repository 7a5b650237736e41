"""The file of an experiment: which cells there are, how hyperparameters are searched for, what is measured of each."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from vmask._core.parsing import read_yaml
from vmask.config import HIDES, LARGEST_SEED, make, option
from vmask.errors import ConfigError, DataError, FileMissing, UnknownName, VmaskError, did_you_mean, short
from vmask.evaluation.resolve import plugins
from vmask.explain import EXPLAINERS
from vmask.grid.cell import Cell, Combination, short_name
from vmask.grid.store import SEARCH, TRAIN
from vmask.masks import MASKS
from vmask.metrics import METRICS

ALL = "all"
MOST_SEEDS = 1_000
MOST_CELLS = 100_000
MOST_NUMBER = 10**9
"""Largest number of texts, of words or for a seed that the file may ask for."""


@dataclass(frozen=True)
class Where:
    """Which cells something is for; an empty tuple is all."""

    datasets: tuple[str, ...] = option((), "datasets")
    models: tuple[str, ...] = option((), "models")
    masks: tuple[str, ...] = option((), "training methods")
    seeds: tuple[int, ...] = option((), "seeds", most=LARGEST_SEED)

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
        datasets: those that are searched on, empty for all; on others the first trial is taken.
    """

    seed: int
    shared: Mapping[str, Sequence[Mapping[str, Any]]]
    of_methods: Mapping[str, Sequence[Mapping[str, Any]]]
    datasets: tuple[str, ...] = ()

    def trials(self, of: Combination) -> list[dict[str, Any]]:
        """The options of every trial of a combination; one trial where there is nothing to search."""
        number = None if _among(of.dataset, self.datasets) else 1
        shared = [dict(one) for one in self.shared.get(of.model, ())][:number]
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
    try:
        loaded = read_yaml(path)
    except FileMissing:
        raise FileMissing(f"There is no file {path}. Give the YAML file of an experiment.") from None
    except DataError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} holds no experiment. It needs `models` and `grid`, see docs/experiments.md.")
    try:
        experiment = _experiment(loaded, path)
        _check(experiment)
    except VmaskError as error:
        raise ConfigError(f"{path}: {error}") from None
    return experiment


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
    parts = [str(part).strip() for part in (value if isinstance(value, list) else str(value).split(","))]
    found = [re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part) for part in parts]
    ranges = [range(int(one[1]), int(one[2] or one[1]) + 1) if one else range(0) for one in found]
    if not ranges or not all(ranges):
        raise ConfigError(f"seeds is {short(value)}. Write them as 0-4 or 0,2,5.")
    if (count := sum(map(len, ranges))) > MOST_SEEDS:
        raise ConfigError(f"seeds is {short(value)}: {count:,} seeds, of which at most {MOST_SEEDS:,} are taken.")
    return [seed for one in ranges for seed in one]


def check_where(where: Where, cells: Collection[Cell], of: str) -> None:
    """See that some cell has every name of a filter: a misspelt one would leave out what is wanted and say nothing.

    Raises:
        ConfigError: for one that no cell has, with the nearest one.
    """
    for f in dataclasses.fields(Where):
        for value in getattr(where, f.name):
            if not any(Where(**{f.name: (value,)}).fits(cell) for cell in cells):
                kind = f.name[:-1]
                there = list(dict.fromkeys(str(cell.to_dict()[kind]) for cell in cells))
                raise ConfigError(
                    f"{of} asks for {kind} {value!r}, which no cell has.{did_you_mean(str(value), there)} "
                    f"Available: {', '.join(there)}."
                )


_TOP = ("name", "title", "out", "models", "grid", "stages", "search")
_BLOCK = ("datasets", "models", "masks", "seeds", "options", "variants")
_NAME = re.compile(r"\w[\w.+-]*")
"""What names of files are made of."""


def _experiment(loaded: Mapping[str, Any], path: Path) -> Experiment:
    _known(loaded, _TOP, "the file")
    models = _mapping(loaded.get("models"), "models", dict)
    blocks = _listed(loaded, "grid", "the file")
    each = (cell for block in blocks for cell in _cells(block, models, path.parent))
    cells = dict.fromkeys(islice(each, MOST_CELLS + 1))
    if len(cells) > MOST_CELLS:
        raise ConfigError(f"the grid has more than {MOST_CELLS:,} cells. Make it smaller, or several of it.")
    keys = Counter(cell.key for cell in cells)
    if twice := next((key for key, count in keys.items() if count > 1), None):
        raise ConfigError(
            f"there are two cells {twice}, of different options or of two datasets with one name. Give one of them a "
            "variant, or rename a dataset."
        )
    search = loaded.get("search")
    return Experiment(
        name=str(loaded.get("name", path.stem)),
        title=str(loaded.get("title", "")),
        out=str(loaded.get("out", "results")),
        cells=tuple(cells),
        stages=tuple(_stage(stage) for stage in _listed(loaded, "stages", "the file", [])),
        search=None if search is None else _search(search, models),
    )


def _cells(block: Any, models: Mapping[str, Any], folder: Path) -> Iterator[Cell]:
    _known(block, _BLOCK, "a block of `grid`")
    masks = MASKS.working() if block.get("masks", ALL) == ALL else _named(block, "masks", "a block of `grid`")
    for mask in masks:
        MASKS.get(mask)
    for model in _named(block, "models", "a block of `grid`"):
        if model not in models:
            raise ConfigError(f"the grid has model {model!r}, which `models` does not list. Add it there.")
    shared = block.get("options") or {}
    if not isinstance(shared, dict):
        raise ConfigError(f"a block of `grid` has options: {shared!r}. Write names with values, such as {{epochs: 6}}.")
    variants = _mapping(block.get("variants") or {"": {}}, "variants", dict)
    for variant in variants:
        if variant and not _NAME.fullmatch(variant):
            raise ConfigError(f"variant {variant!r} cannot be part of a file's name. Use letters and digits.")
    for dataset in _named(block, "datasets", "a block of `grid`"):
        found = str(folder / dataset) if (folder / dataset).exists() else dataset  # a file beside the experiment's
        for model in block["models"]:
            for mask in masks:
                for variant, options in variants.items():
                    of = Combination(found, model, mask, variant, {**models[model], **shared, **options})
                    for seed in parse_seeds(block.get("seeds", 0)):
                        yield Cell(of, seed)


def _stage(loaded: Any) -> Stage:
    _known(loaded, [f.name for f in dataclasses.fields(Stage)], "a stage")
    values = {"name": "", **loaded}
    where = dict(_known(values.get("where") or {}, [f.name for f in dataclasses.fields(Where)], "where"))
    if "seeds" in where:
        where["seeds"] = parse_seeds(where["seeds"])
    values["where"] = make(Where, where, "where.")
    for name, registry in (("metrics", METRICS), ("explainers", EXPLAINERS)):
        asked = values.get(name) or ()
        of_each = list(asked.values()) if isinstance(asked, Mapping) else []
        known = isinstance(asked, (str, list, tuple, Mapping)) and all(isinstance(one, str) for one in asked)
        if not known or not all(one is None or isinstance(one, Mapping) for one in of_each):
            raise ConfigError(f"a stage has {name}: {short(asked)}. Write names, or names with their options.")
        chosen = plugins(registry, asked)
        for one, options in chosen.items():
            make(registry.get(one).Options, options or {}, f"{one}.")
        values[name] = {one: dict(options or {}) for one, options in chosen.items()}
    if not values["metrics"]:
        raise ConfigError(f"stage {values['name']!r} has no metrics. Name some, see `vmask ls metrics`.")
    values["hide"] = tuple(_named(values, "hide", "a stage", list(Stage.hide)))
    for way in values["hide"]:
        if way not in HIDES:
            raise UnknownName("way of hiding", way, HIDES)
    for name, least in (("n", 1), ("examples", 0), ("long", 1)):
        _number(values.get(name, least), least, f"{name} of a stage")
    stage = Stage(**values)
    if not isinstance(stage.name, str) or not _NAME.fullmatch(stage.name) or stage.name in (TRAIN, SEARCH):
        raise ConfigError(
            f"the name of a stage is {stage.name!r}. It becomes part of a file's name: use letters and digits, and "
            f"neither {TRAIN} nor {SEARCH}, which are names already."
        )
    return stage


def _search(loaded: Any, models: Collection[str]) -> Search:
    _known(loaded, ("seed", "models", "masks", "datasets"), "`search`")
    lists = {part: _mapping(loaded.get(part) or {}, f"{part} of `search`", list) for part in ("models", "masks")}
    datasets = tuple(_named(loaded, "datasets", "`search`", []))
    search = Search(_number(loaded.get("seed", 100), 0, "seed of `search`"), lists["models"], lists["masks"], datasets)
    for model in search.shared:
        if model not in models:
            raise UnknownName("model of `search`", model, models)
    for name, trials in (*search.shared.items(), *search.of_methods.items()):
        if not all(isinstance(one, dict) for one in trials):
            raise ConfigError(f"search has {name}: {trials!r}. Every trial must be options, such as {{beta: 0.3}}.")
    for mask, trials in search.of_methods.items():
        MASKS.get(mask)
        for model, shared in search.shared.items():
            if len(trials) > len(shared):
                raise ConfigError(
                    f"search lists {len(trials)} trials of {mask} and {len(shared)} of {model}. Every method gets as "
                    "many trials as the model: shorten or lengthen one list."
                )
    return search


def _check(experiment: Experiment) -> None:
    """See that the work can be begun: options that exist, filters that fit some cell, rankings that are trained."""
    if experiment.search is not None:
        check_where(Where(datasets=experiment.search.datasets), experiment.cells, "`search`")
    for stage in experiment.stages:
        check_where(stage.where, experiment.cells, f"`where` of stage {stage.name}")
    for cell in experiment.cells:
        for stage in experiment.stages_of(cell):
            experiment.ranker_of(cell, stage)
    search = experiment.search
    plans: dict[str, tuple[Combination, dict[str, Any]]] = {}
    for of in dict.fromkeys(cell.combination for cell in experiment.cells):
        trials: list[dict[str, Any]] = [{}] if search is None else search.trials(of)
        for options in ({**of.options, **trial} for trial in trials):
            plans[repr((of.model, of.mask, options))] = (of, options)  # whatever the dataset
    for of, options in plans.values():
        _check_options(of, options)


def _check_options(of: Combination, options: Mapping[str, Any]) -> None:
    from vmask.classifier import TextClassifier

    try:
        TextClassifier(of.model, of.mask, seed=0, device="cpu", **options).plan()
    except (TypeError, VmaskError) as error:
        raise ConfigError(f"the options of {of.key} cannot be used: {error}") from None


def _known(values: Any, names: Collection[str], of: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{of} is {values!r}; it must have keys of these: {', '.join(names)}.")
    for key in values:
        if key not in names:
            near = did_you_mean(str(key), names)
            raise ConfigError(f"{of} has no key {key!r}.{near} Available: {', '.join(names)}.")
    return values


def _listed(values: Mapping[str, Any], key: str, of: str, default: list[Any] | None = None) -> list[Any]:
    """A list, and not one name, whose letters would be taken for names; an empty one only where that is the default."""
    found = values.get(key, default)
    if not isinstance(found, list) or (not found and found != default):
        raise ConfigError(f"{of} has {key}: {found!r}. It must be a list, in [brackets].")
    return found


def _named(values: Mapping[str, Any], key: str, of: str, default: list[Any] | None = None) -> list[str]:
    """A list of names."""
    found = _listed(values, key, of, default)
    for one in found:
        if not isinstance(one, str) or "\0" in one:
            raise ConfigError(
                f"{of} has {short(one)} in {key}, which is no name. Put quotes around it, or take it out."
            )
    return found


def _mapping(values: Any, of: str, kind: type) -> dict[str, Any]:
    """Names with their options, or with lists of options; a name alone has none."""
    if not isinstance(values, Mapping) or not all(one is None or isinstance(one, kind) for one in values.values()):
        what = "options" if kind is dict else "a list of options"
        raise ConfigError(f"{of} is {values!r}. It must have names with {what} each.")
    return {str(name): kind() if one is None else one for name, one in values.items()}


def _number(value: Any, least: int, of: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_NUMBER:
        raise ConfigError(f"{of} is {short(value)}; it must be a whole number from {least} to {MOST_NUMBER:,}.")
    return value


def _among(value: Any, values: Collection[Any]) -> bool:
    return not values or value in values or (isinstance(value, str) and short_name(value) in values)
