"""Descriptions of explainers, their options and the ways of hiding words, from which the page draws its controls."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from vmask.config import HIDES, choices_of, scalar_type
from vmask.errors import ConfigError, MissingExtra
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer

HIDE_DESCRIPTIONS = {
    "remove": "the word is taken out and the gap closed",
    "zero": "a vector of zeros takes its place",
    "unk": "the token for unknown words takes its place",
    "mask": "the mask token takes its place",
}
MAX_TITLE = 30
"""Characters of a title, at most."""
MAX_INTEGER = 2**31 - 1
"""Largest integer that a request may contain."""
BASELINE = "random"
"""Name of the explainer whose scores are random. It is listed last."""

log = logging.getLogger(__name__)


def available_explainers() -> dict[str, type[Explainer]]:
    """Return the explainers whose libraries are installed, by name."""
    explainers = {}
    for name in EXPLAINERS.names():
        try:
            explainer = EXPLAINERS.get(name)
            explainer()
        except MissingExtra:
            continue
        except Exception as error:  # a broken plug-in of another package must not stop the server
            log.warning("The explanation method '%s' cannot be used: %s", name, error)
            continue
        explainers[name] = explainer
    return explainers


def is_instant(explainer: type[Explainer]) -> bool:
    """Whether an explanation costs no more than a few predictions, so that it needs no queue."""
    return explainer.needs == "mask_scores" and not explainer.hides


def depends_on_class(name: str, explainer: type[Explainer]) -> bool:
    """Whether scores depend on the class: those of the mask and random ones do not."""
    return explainer.needs != "mask_scores" and name != BASELINE


def applicable_explainers(predictor: Any, explainers: Mapping[str, type[Explainer]]) -> list[str]:
    """Return the names of the explainers that apply to a model, the default first."""
    names = [name for name, explainer in explainers.items() if explainer.applies_to(predictor)]
    default = "mask" if "mask" in names else "lime"
    return sorted(names, key=lambda name: (name != default, name == BASELINE, name))


def describe_explainer(name: str, explainer: type[Explainer], max_times_default: int) -> dict[str, Any]:
    """Return the description of an explainer and its options."""
    description = EXPLAINERS.describe(name)
    return {
        "name": name,
        "title": title_of(name, description),
        "description": description,
        "signed": explainer.signed,
        "hides": explainer.hides,
        "draws": explainer.draws,
        "by_class": depends_on_class(name, explainer),
        "instant": is_instant(explainer),
        "options": [
            describe_option(explainer.Options, field, max_times_default)
            for field in dataclasses.fields(explainer.Options)
        ],
    }


def title_of(name: str, description: str) -> str:
    """Return the part before the colon of a description if it is short, else the name.

    >>> title_of("lime", "LIME: a linear model of how …")
    'LIME'
    >>> title_of("leave_one_out", "How much the probability falls.")
    'Leave one out'
    """
    before, colon, _ = description.partition(":")
    return before if colon and len(before) <= MAX_TITLE else name.replace("_", " ").capitalize()


def describe_option(options: type, field: dataclasses.Field[Any], max_times_default: int) -> dict[str, Any]:
    """Return the description of an option of an explainer."""
    option_type, choices = scalar_type(options, field.name), choices_of(options, field.name)
    default = None if field.default is dataclasses.MISSING else field.default
    if option_type is tuple:
        default = ",".join(map(str, default or ()))
    kind = {int: "int", float: "float", bool: "bool"}.get(option_type, "text")
    return {
        "name": field.name,
        "kind": "choice" if choices else kind,
        "default": default,
        "choices": list(choices) or None,
        "most": option_maximum(options, field, max_times_default),
        "help": str(field.metadata.get("help", "")),
    }


def option_maximum(options: type, field: dataclasses.Field[Any], max_times_default: int) -> int | None:
    """Return the largest value that an integer option may have; None for other options.

    The work of an explainer may grow with the square of such a number, before it can be cancelled.
    """
    if scalar_type(options, field.name) is not int or not isinstance(field.default, int):
        return None
    return max(field.default, 1) * max_times_default


def check_options(options: type, given: dict[str, Any], max_times_default: int) -> dict[str, Any]:
    """Check the numbers among the options of a request, and prepare all options for `vmask.config.make`.

    Raises:
        ConfigError: if a number is above its limit.
    """
    checked = dict(given)
    for field in dataclasses.fields(options):
        value = given.get(field.name)
        maximum = option_maximum(options, field, max_times_default) or MAX_INTEGER
        if isinstance(value, int) and not -MAX_INTEGER <= value <= maximum:
            raise ConfigError(f"{field.name} is beyond the limit of this server, {maximum:,}.")
        if scalar_type(options, field.name) is tuple and isinstance(value, str):
            checked[field.name] = [_integer_or_text(part) for part in value.split(",") if part.strip()]
    return checked


def _integer_or_text(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text.strip()


def describe_hides() -> list[dict[str, str]]:
    """Return the descriptions of all ways of hiding a word."""
    return [{"name": hide, "description": HIDE_DESCRIPTIONS.get(hide, hide)} for hide in HIDES]
