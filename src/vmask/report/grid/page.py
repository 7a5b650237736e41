"""The page of a grid: its style, and its pictures inside of it, so that it needs nothing from outside."""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from vmask.report.templating import environment


def render_page(name: str, environment: Callable[[], Environment] = environment, **context: Any) -> str:
    """A template that extends `grid_base.html`, with the style of all pages.

    Args:
        name: of the template.
        environment: where templates are looked for.
        context: what the template shows: `title`, `lead`, and its own.
    """
    style = files("vmask.report").joinpath("page.css").read_text(encoding="utf-8")
    return environment().get_template(name).render(page_css=Markup(style), **context)


def picture_data(path: Path) -> str:
    """A PNG as the address of an image that is inside of the page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
