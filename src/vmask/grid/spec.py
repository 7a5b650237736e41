"""The YAML file of an experiment: its cells, the hyperparameter search, what is measured of each cell."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask._core.parsing import read_yaml
from vmask.config import HIDES, ClusterConfig, make
from vmask.errors import ConfigError, DataError, FileMissing, UnknownName, VmaskError, did_you_mean, short
from vmask.evaluation.resolve import plugins
from vmask.explain import EXPLAINERS
from vmask.grid.cell import Cell, Combination, short_name
from vmask.grid.experiment import Experiment, Resources, Stage, Where
from vmask.grid.search_spec import check_ranges, check_search, read_search
from vmask.grid.store import SEARCH, TRAIN
from vmask.grid.word_lists import WordLists, spelled_out
from vmask.grid.yaml_values import known, listed, mapping, named, number
from vmask.masks import MASKS
from vmask.metrics import METRICS

if TYPE_CHECKING:
    from vmask.training.run_config import Plan

ALL = "all"
MOST_SEEDS = 1_000
MOST_CELLS = 100_000


def read_experiment(path: str | Path) -> Experiment:
    """Read the file of an experiment, strictly.

    Raises:
        FileMissing: if there is no such file.
        ConfigError: for an unknown key or name, with the nearest known one.
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
    """`dataset=trec,model=cnn` as a filter; a name may be repeated.

    Raises:
        ConfigError: for anything but `name=value`.
    """
    selected: dict[str, list[Any]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        field_name = f"{name.strip()}s"
        if not equals or not value or field_name not in {f.name for f in dataclasses.fields(Where)}:
            raise ConfigError(
                f"'{part}' selects no cells. Write name=value with commas between, such as dataset=trec,model=cnn; "
                "names are dataset, model, mask and seed."
            )
        values = parse_seeds(value) if field_name == "seeds" else [value.strip()]
        selected.setdefault(field_name, []).extend(values)
    return make(Where, selected)


def parse_seeds(value: Any) -> list[int]:
    """`0-4`, `0,2`, a number or a list of numbers, as a list.

    Raises:
        ConfigError: for anything else.
    """
    parts = [str(part).strip() for part in (value if isinstance(value, list) else str(value).split(","))]
    matches = [re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part) for part in parts]
    ranges = [range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0) for match in matches]
    if not ranges or not all(ranges):
        raise ConfigError(f"seeds is {short(value)}. Write them as 0-4 or 0,2,5.")
    if (count := sum(map(len, ranges))) > MOST_SEEDS:
        raise ConfigError(f"seeds is {short(value)}: {count:,} seeds, more than the maximum of {MOST_SEEDS:,}.")
    return [seed for seeds in ranges for seed in seeds]


def check_where(where: Where, cells: Collection[Cell], of: str) -> None:
    """Check that every name of a filter occurs in a cell: a misspelt one would silently select nothing.

    Raises:
        ConfigError: for a name that no cell has, with the nearest one.
    """
    for f in dataclasses.fields(Where):
        for value in getattr(where, f.name):
            if not any(Where(**{f.name: (value,)}).fits(cell) for cell in cells):
                kind = f.name[:-1]
                available = list(dict.fromkeys(str(cell.to_dict()[kind]) for cell in cells))
                raise ConfigError(
                    f"{of} asks for {kind} {value!r}, which no cell has.{did_you_mean(str(value), available)} "
                    f"Available: {', '.join(available)}."
                )


_TOP = ("name", "title", "out", "models", "grid", "stages", "search", "track", "engine", "lists_made_by")
_BLOCK = ("datasets", "models", "masks", "seeds", "options", "variants")
_NAME = re.compile(r"\w[\w.+-]*")
"""Names that can be part of a file's name."""


def _experiment(loaded: Mapping[str, Any], path: Path) -> Experiment:
    known(loaded, _TOP, "the file")
    models = mapping(loaded.get("models"), "models", dict)
    blocks = listed(loaded, "grid", "the file")
    lists = WordLists(path.parent, str(loaded.get("lists_made_by", "")))
    all_cells = (cell for block in blocks for cell in _cells(block, models, path.parent, lists))
    cells = dict.fromkeys(islice(all_cells, MOST_CELLS + 1))
    if len(cells) > MOST_CELLS:
        raise ConfigError(f"the grid has more than {MOST_CELLS:,} cells. Make it smaller, or split it.")
    keys = Counter(cell.key for cell in cells)
    if twice := next((key for key, count in keys.items() if count > 1), None):
        raise ConfigError(
            f"there are two cells {twice}, with different options or of two datasets with the same name. Give one of "
            "them a variant, or rename a dataset."
        )
    search = loaded.get("search")
    stages = tuple(_stage(stage) for stage in listed(loaded, "stages", "the file", []))
    engine, resources = _engine(loaded.get("engine") or {}, {SEARCH, TRAIN, *(stage.name for stage in stages)})
    return Experiment(
        name=_name(str(loaded.get("name", path.stem))),
        title=str(loaded.get("title", "")),
        out=str(loaded.get("out", "results")),
        cells=tuple(cells),
        stages=stages,
        search=None if search is None else read_search(search, models),
        track=str(loaded.get("track") or ""),
        engine=engine,
        resources=resources,
        word_lists=lists.words,
    )


def _cells(block: Any, models: Mapping[str, Any], folder: Path, lists: WordLists) -> Iterator[Cell]:
    known(block, _BLOCK, "a block of `grid`")
    masks = MASKS.working() if block.get("masks", ALL) == ALL else named(block, "masks", "a block of `grid`")
    for mask in masks:
        MASKS.get(mask)
    for model in named(block, "models", "a block of `grid`"):
        if model not in models:
            raise ConfigError(f"the grid has model {model!r}, which `models` does not list. Add it there.")
    shared = block.get("options") or {}
    if not isinstance(shared, dict):
        raise ConfigError(f"a block of `grid` has options: {shared!r}. Write names with values, such as {{epochs: 6}}.")
    variants = mapping(block.get("variants") or {"": {}}, "variants", dict)
    for variant in variants:
        if variant and not _NAME.fullmatch(variant):
            raise ConfigError(f"variant {variant!r} cannot be part of a file's name. Use letters and digits.")
    for dataset in named(block, "datasets", "a block of `grid`"):
        located = str(folder / dataset) if (folder / dataset).exists() else dataset  # relative to the experiment's file
        for model in block["models"]:
            for mask in masks:
                for variant, options in variants.items():
                    given = {**models[model], **shared, **options}
                    names = {"dataset": short_name(located), "model": short_name(model)}
                    for seed in parse_seeds(block.get("seeds", 0)):
                        of = Combination(located, model, mask, variant, lists.named(given, **names, seed=seed))
                        yield Cell(of, seed)


def _stage(loaded: Any) -> Stage:
    known(loaded, [f.name for f in dataclasses.fields(Stage)], "a stage")
    values = {"name": "", **loaded}
    where = dict(known(values.get("where") or {}, [f.name for f in dataclasses.fields(Where)], "where"))
    if "seeds" in where:
        where["seeds"] = parse_seeds(where["seeds"])
    values["where"] = make(Where, where, "where.")
    for name, registry in (("metrics", METRICS), ("explainers", EXPLAINERS)):
        selection = values.get(name) or ()
        options_of_each = list(selection.values()) if isinstance(selection, Mapping) else []
        are_names = isinstance(selection, (str, list, tuple, Mapping)) and all(
            isinstance(key, str) for key in selection
        )
        if not are_names or not all(options is None or isinstance(options, Mapping) for options in options_of_each):
            raise ConfigError(f"a stage has {name}: {short(selection)}. Write names, or names with their options.")
        chosen = {plugin: dict(options or {}) for plugin, options in plugins(registry, selection).items()}
        for plugin, options in chosen.items():
            make(registry.get(plugin).Options, options, f"{plugin}.")
        values[name] = chosen
    if not values["metrics"]:
        raise ConfigError(f"stage {values['name']!r} has no metrics. Name some, see `vmask ls metrics`.")
    values["hide"] = tuple(named(values, "hide", "a stage", list(Stage.hide)))
    for way in values["hide"]:
        if way not in HIDES:
            raise UnknownName("way of hiding", way, HIDES)
    _check_methods(values)
    for name, least in (("n", 1), ("examples", 0), ("long", 1)):
        number(values.get(name, least), least, f"{name} of a stage")
    stage = Stage(**values)
    if not isinstance(stage.name, str) or not _NAME.fullmatch(stage.name) or stage.name in (TRAIN, SEARCH):
        raise ConfigError(
            f"the name of a stage is {stage.name!r}. It becomes part of a file's name: use letters and digits, and "
            f"neither {TRAIN} nor {SEARCH}, which are names already."
        )
    return stage


def _check_methods(stage: Mapping[str, Any]) -> None:
    """Check the training methods that a stage takes models of."""
    for name in ("ranking", "confidence_of"):
        if stage.get(name):
            MASKS.get(stage[name])
    if stage.get("confidence_of") and "aopc" not in stage["metrics"]:
        raise ConfigError(f"stage {stage['name']!r} has confidence_of, which is for aopc. Add that metric.")


def _name(name: str) -> str:
    """The name of an experiment, which becomes part of paths."""
    if not name.strip() or name.startswith(".") or "/" in name or "\\" in name:
        raise ConfigError(
            f"the name of the experiment is {short(name)}. It becomes part of paths: use letters and digits."
        )
    return name


def _engine(loaded: Any, kinds: Collection[str]) -> tuple[ClusterConfig, dict[str, Resources]]:
    """Where the tasks are done, and what each kind takes of a machine of a cluster."""
    known(loaded, ("name", "address", "tasks"), "`engine`")
    config = make(
        ClusterConfig, {"engine": loaded.get("name", ClusterConfig.engine), "address": loaded.get("address")}, "engine."
    )
    resources = {}
    for kind, taken in mapping(loaded.get("tasks") or {}, "tasks of `engine`", dict).items():
        if kind not in kinds:
            raise UnknownName("kind of task of `engine`", kind, sorted(kinds))
        resources[kind] = make(Resources, taken, f"engine.tasks.{kind}.")
    return config, resources


def _check(experiment: Experiment) -> None:
    """Check that the experiment can be run: options exist, filters select a cell, rankers are trained."""
    if experiment.search is not None:
        check_where(Where(datasets=experiment.search.datasets), experiment.cells, "`search`")
        check_search(experiment, experiment.search)
    for stage in experiment.stages:
        check_where(stage.where, experiment.cells, f"`where` of stage {stage.name}")
    for cell in experiment.cells:
        for stage in experiment.stages_of(cell):
            experiment.ranker_of(cell, stage)
            experiment.confident_of(cell, stage)
    search = experiment.search
    plans: dict[str, tuple[Combination, dict[str, Any]]] = {}
    for of in dict.fromkeys(cell.combination for cell in experiment.cells):
        trials: list[dict[str, Any]] = [] if search is None else search.samples(of)
        for options in ({**of.options, **trial} for trial in trials or [{}]):
            plans[repr((of.model, of.mask, options))] = (of, options)  # the same for every dataset
    for of, options in plans.values():
        plan = _plan(of, spelled_out(options, experiment.word_lists))
        if search is not None:
            check_ranges(search, of, plan)


def _plan(of: Combination, options: Mapping[str, Any]) -> Plan:
    """The plan of a combination.

    Raises:
        ConfigError: for options that cannot be used.
    """
    from vmask.classifier import TextClassifier

    try:
        return TextClassifier(of.model, of.mask, seed=0, device="cpu", **options).plan()
    except (TypeError, VmaskError) as error:
        raise ConfigError(f"the options of {of.key} cannot be used: {error}") from None
