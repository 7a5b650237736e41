"""The part `search` of the YAML file of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from vmask.config import scalar_type
from vmask.errors import ConfigError, UnknownName
from vmask.grid.cell import Combination
from vmask.grid.experiment import LIST, OPTUNA, SEARCH_ENGINES, Experiment, Search
from vmask.grid.search_space import Range, Space, Values, count_of
from vmask.grid.yaml_values import known, mapping, named, number
from vmask.masks import MASKS

if TYPE_CHECKING:
    from vmask.training.run_config import Plan

MOST_COMBINATIONS = 100_000
"""Largest number of combinations of values of a search, from which its trials are drawn."""


def read_search(loaded: Any, models: Collection[str]) -> Search:
    """The search of an experiment.

    Args:
        loaded: the part of the file.
        models: names of the models of the experiment.

    Raises:
        ConfigError, UnknownName: for a search that cannot be.
    """
    known(loaded, ("engine", "seed", "trials", "datasets", "space", "models", "masks"), "`search`")
    engine = loaded.get("engine", LIST)
    if engine not in SEARCH_ENGINES:
        raise UnknownName("engine of `search`", str(engine), SEARCH_ENGINES)
    of_models = _options_of_each(loaded, "models", engine)
    for model in of_models:
        if model not in models:
            raise UnknownName("model of `search`", model, models)
    if "space" in loaded:
        everywhere = _options(loaded["space"], "space", engine)
        of_models = {model: {**everywhere, **of_models.get(model, {})} for model in models}
    search = Search(
        seed=number(loaded.get("seed", 100), 0, "seed of `search`"),
        trials=number(loaded.get("trials", 8), 1, "trials of `search`"),
        of_models=of_models,
        of_methods=_options_of_each(loaded, "masks", engine),
        datasets=tuple(named(loaded, "datasets", "`search`", [])),
        engine=engine,
    )
    for mask in search.of_methods:
        MASKS.get(mask)
    for model, mask in product(search.of_models, search.of_methods or [""]):
        options = {**search.of_models[model], **search.of_methods.get(mask, {})}
        if engine == LIST and count_of(options) > MOST_COMBINATIONS:
            raise ConfigError(f"search has more than {MOST_COMBINATIONS:,} combinations of values. Take some out.")
    return search


def _options_of_each(loaded: Mapping[str, Any], part: str, engine: str) -> dict[str, Space]:
    """For each model or method, its options with what is tried of them."""
    options_of_each = mapping(loaded.get(part) or {}, f"{part} of `search`", dict)
    return {name: _options(options, name, engine) for name, options in options_of_each.items()}


def _options(options: Any, of: str, engine: str) -> dict[str, Values]:
    """Options with the values or the range that is tried of each."""
    if not isinstance(options, Mapping) or not all(
        values and isinstance(values, (list, Mapping)) for values in options.values()
    ):
        raise ConfigError(f"search has {of}: {options!r}. Write options with their values: {{beta: [1, 0.3]}}.")
    space: dict[str, Values] = {}
    for name, values in options.items():
        if isinstance(values, list):
            space[str(name)] = values
            if engine == OPTUNA and any(value in values[:place] for place, value in enumerate(values)):
                raise ConfigError(f"search has {name}: {values!r}, with a value twice. Take one of them out.")
        elif engine == LIST:
            raise ConfigError(f"search has a range for {name}. Set `engine: {OPTUNA}`, or write a list of values.")
        else:
            try:
                space[str(name)] = Range.read(values)
            except ConfigError as error:
                raise ConfigError(f"search has {name}: {dict(values)!r}: {error}") from None
    return space


def check_search(experiment: Experiment, search: Search) -> None:
    """Check that the search can be done, with as many trials for every method.

    Raises:
        ConfigError: if it cannot.
    """
    options: dict[str, Mapping[str, Any]] = {}
    for of in dict.fromkeys(cell.combination for cell in experiment.cells):
        space = search.options_of(of)
        if space is None:
            continue
        if options.setdefault(of.key, of.options) != of.options:
            raise ConfigError(
                f"{of.key} has other options for other seeds, so that one search cannot serve all. Name a variant each."
            )
        if (count := count_of(space)) < search.trials:
            raise ConfigError(
                f"search has {count:.0f} combinations of values for {of.model} with {of.mask} and makes "
                f"{search.trials} trials of every method. Add values, or make fewer trials."
            )
        searches = experiment.searches_for(of)
        if not searches:
            raise ConfigError(f"search is for other datasets, and none of them has {of.model} with {of.mask}. Add one.")
        if search.engine == OPTUNA and len(searches) > 1:
            raise ConfigError(
                f"{of.key} would take the trial that is best over several datasets, but Optuna makes other trials on "
                "each. Name one dataset under `datasets` of search, or none, to search on all."
            )


def check_ranges(search: Search, of: Combination, plan: Plan) -> None:
    """Check that the range of an option that may be any number is not one of whole numbers alone.

    Raises:
        ConfigError: for such a range.
    """
    for name, values in (search.options_of(of) or {}).items():
        found = plan.holder_of(name)
        if isinstance(values, Range) and values.whole and found is not None:
            holder, option = found
            if scalar_type(type(holder), option) is float:
                raise ConfigError(
                    f"search has whole numbers from {values.low} to {values.high} for {name}, which may be any number. "
                    f"Write low: {values.low:.1f}, or list values."
                )
