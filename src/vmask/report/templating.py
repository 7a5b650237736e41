"""Pages from templates: whatever a template does not mark as safe is escaped, and a name that it lacks is an error."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from vmask.report.formatting import FILTERS, TESTS, shades
from vmask.text.words import whole_characters


@cache
def environment() -> Environment:
    """The environment of all templates in `templates/`."""
    made = Environment(
        loader=PackageLoader("vmask.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.filters.update(FILTERS)
    made.tests.update(TESTS)
    made.globals.update(asset=asset, policy=policy, shades=shades)
    return made


def render(name: str, **context: Any) -> str:
    """A template with its variables filled in; the same bytes whenever the variables are the same.

    Args:
        name: file in `templates/`.
        context: the variables. Half characters (lone surrogates) in them become U+FFFD, so that the page can be
            written as UTF-8.
    """
    return whole_characters([environment().get_template(name).render(**context)])[0]


@cache
def asset(name: str) -> str:
    """A style sheet or a script of `static/`."""
    return files("vmask.report").joinpath(f"static/{name}").read_text(encoding="utf-8")


def image_data(path: Path) -> str:
    """A PNG as the address of an image that is inside of the page, so that the page needs nothing from outside."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def policy(script: str) -> str:
    """The content security policy of a page that loads nothing and runs this script alone; with "" it runs none."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
