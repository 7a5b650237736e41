"""The arguments of `TextClassifier` and their description, made from the dataclasses that declare them."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Iterator

from vmask.config import DataConfig, EstimatorConfig, TrainConfig, help_of
from vmask.inference.probability_config import ProbabilityConfig

OPTIONS = (DataConfig, TrainConfig, ProbabilityConfig, EstimatorConfig)
"""The dataclasses whose fields are the arguments of `TextClassifier`."""


def parameters() -> Iterator[inspect.Parameter]:
    """The arguments of `TextClassifier`: each option of the dataclasses, None for the default of the method."""
    for name, default in (("model", "cnn"), ("mask", "vmask")):
        yield inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation="str")
    for config in OPTIONS:
        for field in dataclasses.fields(config):
            own = config is EstimatorConfig
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default if own else None,
                annotation=field.type if own or "None" in str(field.type) else f"{field.type} | None",
            )


def describe() -> str:
    """The options as the docstring lists them, with their defaults."""
    fields = (field for config in OPTIONS for field in dataclasses.fields(config))
    indent = " " * 8
    lines = (textwrap.fill(f"{field.name}: {help_of(field)}.", 112, subsequent_indent="    ") for field in fields)
    return textwrap.indent("\n".join(lines), indent).lstrip()


def signature() -> inspect.Signature:
    """The signature of the constructor."""
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    nested = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    return inspect.Signature([first, *parameters(), nested])


DEFAULTS = {parameter.name: parameter.default for parameter in parameters()}
"""Arguments of `TextClassifier` that are not nested, with their defaults."""
