"""What the page needs to know of explainers and ways of hiding, read from where they are declared."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from vmask.config import HIDES, choices_of, scalar_type
from vmask.errors import ConfigError, MissingExtra
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer
from vmask.report.capable import SCORES, applies

HIDE_DESCRIPTIONS = {
    "remove": "the word is taken out and the gap closed",
    "zero": "a vector of zeros takes its place",
    "unk": "the token for unknown words takes its place",
    "mask": "the mask token takes its place",
}
LONGEST_TITLE = 30
LARGEST = 2**31 - 1
"""Of whole numbers in requests."""
YARDSTICK = "random"
"""An explainer that means nothing stands behind all others."""

log = logging.getLogger(__name__)


def explainer_kinds() -> dict[str, type[Explainer]]:
    """The explainers that can run here, by name: those whose libraries are installed."""
    found = {}
    for name in EXPLAINERS.names():
        try:
            kind = EXPLAINERS.get(name)
            kind()
        except MissingExtra:
            continue
        except Exception as error:  # another package's explainer is no reason not to serve
            log.warning("The explanation method '%s' cannot be used: %s", name, error)
            continue
        found[name] = kind
    return found


def is_instant(kind: type[Explainer]) -> bool:
    """Whether an explanation costs no more than a few predictions, so that it needs no queue."""
    return kind.needs == SCORES and not kind.hides


def is_by_class(name: str, kind: type[Explainer]) -> bool:
    """Whether scores depend on the class: not those of the model's own mask, nor those that mean nothing."""
    return kind.needs != SCORES and name != YARDSTICK


def hides_of(predictor: Any) -> list[str]:
    """The ways of hiding a word that a model has."""
    found = []
    for hide in HIDES:
        try:
            predictor.predict_kept([], [], hide)
        except ConfigError:
            continue
        found.append(hide)
    return found


def explainers_of(predictor: Any, kinds: Mapping[str, type[Explainer]]) -> list[str]:
    """The explainers among `kinds` that apply to a model, the default first."""
    names = [name for name, kind in kinds.items() if applies(kind, predictor)]
    default = "mask" if "mask" in names else "lime"
    return sorted(names, key=lambda name: (name != default, name == YARDSTICK, name))


def describe_explainer(name: str, kind: type[Explainer], max_times_default: int) -> dict[str, Any]:
    """An explainer and its options, as the page shows them."""
    description = EXPLAINERS.describe(name)
    return {
        "name": name,
        "title": title_of(name, description),
        "description": description,
        "signed": kind.signed,
        "hides": kind.hides,
        "draws": kind.draws,
        "by_class": is_by_class(name, kind),
        "instant": is_instant(kind),
        "options": [describe_option(kind.Options, f, max_times_default) for f in dataclasses.fields(kind.Options)],
    }


def title_of(name: str, description: str) -> str:
    """What stands before the colon of a description where that is short, else the name.

    >>> title_of("lime", "LIME: a linear model of how …")
    'LIME'
    >>> title_of("leave_one_out", "How much the probability falls.")
    'Leave one out'
    """
    before, colon, _ = description.partition(":")
    return before if colon and len(before) <= LONGEST_TITLE else name.replace("_", " ").capitalize()


def describe_option(options: type, field: dataclasses.Field[Any], max_times_default: int) -> dict[str, Any]:
    """An option of an explainer, as the page shows it."""
    kind, choices = scalar_type(options, field.name), choices_of(options, field.name)
    default = None if field.default is dataclasses.MISSING else field.default
    if kind is tuple:
        default = ",".join(map(str, default or ()))
    named = {int: "int", float: "float", bool: "bool"}.get(kind, "text")
    return {
        "name": field.name,
        "kind": "choice" if choices else named,
        "default": default,
        "choices": list(choices) or None,
        "most": most_of(options, field, max_times_default),
        "help": str(field.metadata.get("help", "")),
    }


def most_of(options: type, field: dataclasses.Field[Any], max_times_default: int) -> int | None:
    """The largest value that is taken of a whole number; None of other options.

    What an explainer makes of such a number may grow with its square, before it can be stopped.
    """
    if scalar_type(options, field.name) is not int or not isinstance(field.default, int):
        return None
    return max(field.default, 1) * max_times_default


def check_options(options: type, given: dict[str, Any], max_times_default: int) -> dict[str, Any]:
    """The options that a request gives, ready for `vmask.config.make`, which checks the rest.

    Raises:
        ConfigError: for a number beyond the limit.
    """
    checked = dict(given)
    for field in dataclasses.fields(options):
        value = given.get(field.name)
        most = most_of(options, field, max_times_default)
        if isinstance(value, int) and (value > (most or LARGEST) or value < -LARGEST):
            raise ConfigError(f"{field.name} is beyond the limit of this server, {most or LARGEST:,}.")
        if scalar_type(options, field.name) is tuple and isinstance(value, str):
            checked[field.name] = [_number(part) for part in value.split(",") if part.strip()]
    return checked


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text.strip()


def describe_hides() -> list[dict[str, str]]:
    """All ways of hiding a word."""
    return [{"name": hide, "description": HIDE_DESCRIPTIONS.get(hide, hide)} for hide in HIDES]
