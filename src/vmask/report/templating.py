"""Pages from templates (jinja2): values are escaped, and a name that a template does not know is an error."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def environment() -> Environment:
    """The templates in `vmask/report/templates`."""
    return Environment(
        loader=PackageLoader("vmask.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, **context: Any) -> str:
    """A template, such as `grid.html`, filled with values."""
    return environment().get_template(name).render(**context)
