"""The templates of the paper's page, and those of the package that it is made of."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from vmask.report import templating


@cache
def environment() -> Environment:
    """The templates in `reproduction/templates`, then those of `vmask.report`."""
    package = templating.environment()
    assert package.loader is not None
    own = FileSystemLoader(Path(__file__).parent / "templates")
    return package.overlay(loader=ChoiceLoader([own, package.loader]))
