"""Resolve what to measure: metrics and explanation methods by name, and ways of hiding words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmask.config import HIDES
from vmask.errors import ConfigError, UnknownName
from vmask.metrics.contract import FAMILIES, Facts, Metric, Subject
from vmask.registry import Registry

ALL = "all"
Named = str | Sequence[str] | Mapping[str, Mapping[str, Any]]
"""Names of plug-ins: separated by commas, as a list, or as a mapping to their options."""


def names(named: Named) -> list[str]:
    """The names without options."""
    if isinstance(named, str):
        named = [name.strip() for name in named.split(",") if name.strip()]
    return list(named)


def plugins(registry: Registry[Any], named: Named) -> dict[str, Mapping[str, Any]]:
    """Names with their options; `all` stands for all plug-ins, `-name` excludes one."""
    options = named if isinstance(named, Mapping) else {}
    chosen: dict[str, Mapping[str, Any]] = {}
    excluded = [name[1:] for name in names(named) if name.startswith("-")]
    for name in names(named):
        if name == ALL:
            chosen |= {every: options.get(every, {}) for every in registry.working() if every not in chosen}
        elif not name.startswith("-"):
            chosen[name] = options.get(name, {})
    for name in (*chosen, *excluded):
        registry.get(name)  # raises UnknownName
    return {name: given for name, given in chosen.items() if name not in excluded}


def with_options(registry: Registry[Any], named: str, nested: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Names with their options from the command line, which have the form `NAME__OPTION`.

    Raises:
        ConfigError: for an option of a plug-in that is not among them.
    """
    chosen: dict[str, dict[str, Any]] = {name: {} for name in names(named)}
    for key, value in nested.items():
        name, _, option = key.partition("__")
        if name not in registry.names():
            continue
        if name not in plugins(registry, named):
            raise ConfigError(f"There is an option of {name}, which is not asked for. Add {name}, or leave it out.")
        chosen.setdefault(name, {})[option] = value
    return chosen


def ways_of_hiding(predictor: Any, hide: str | Sequence[str] | None) -> tuple[str, ...]:
    """The requested ways of hiding words; by default two, one of which closes the gap.

    Raises:
        ConfigError: for a way that the model does not have.
    """
    if hide is None:
        ways = ["remove", next(way for way in ("mask", "zero", "unk") if way in predictor.hides)]
    else:
        ways = names(hide)
    if not ways:
        raise ConfigError("There is no way of hiding words to measure by. Name some, or leave hide out.")
    for way in ways:
        if way not in HIDES:
            raise UnknownName("way of hiding", way, HIDES)
        predictor.predict_kept([], [], way)  # raises ConfigError if the model cannot hide words in this way
    return tuple(dict.fromkeys(ways))


def fitting(
    metrics: Mapping[str, Metric], subjects: Sequence[Subject], everything: bool
) -> tuple[dict[str, Metric], list[str]]:
    """The metrics that can be measured for every model, in the order of families, and notes about the others.

    Raises:
        ConfigError: for a metric that was requested by name and cannot be measured.
    """
    fit, notes = {}, []
    for name in sorted(metrics, key=lambda name: FAMILIES.index(Facts.read(name).family)):
        metric = metrics[name]
        reason = next(filter(None, (metric.unfit(subject) for subject in subjects)), "")
        if not reason:
            fit[name] = metric
        elif everything:
            notes.append(f"{name} is left out, because {reason}.")
        else:
            raise ConfigError(f"{name} cannot be measured here, because {reason}. Leave it out of the metrics.")
    return fit, notes
