"""What the page is made from: its files, `/docs`, and descriptions of explainers, options and ways of hiding words."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from starlette.responses import Response

from vmask.config import HIDES, choices_of, scalar_type
from vmask.errors import ConfigError, MissingExtra
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer
from vmask.report.templating import render

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
"""By extension. The table of the operating system may differ, and browsers run no module of another content type."""
REVALIDATE = {"Cache-Control": "no-cache"}
"""Browsers may store the page, but ask for it anew: the server may have been updated."""
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


def load_static_files() -> dict[str, Response]:
    """Return the files of the page by their paths on the server; `index.html` is `/`.

    Starlette's `StaticFiles` would look for each requested path on disk. Here a request chooses among routes that are
    known when the server starts, so there is no path that could lead out of the folder.
    """
    static_files = {}
    for entry in files("vmask.serve").joinpath("static").iterdir():
        content_type = CONTENT_TYPES.get(PurePath(entry.name).suffix)
        if content_type is not None and entry.is_file():
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            static_files[path] = Response(entry.read_bytes(), media_type=content_type, headers=REVALIDATE)
    return static_files


def docs_page(document: Mapping[str, Any], address: str) -> Response:
    """Return `/docs`, the documentation of the API.

    FastAPI's own page loads its scripts and styles from another server, which the content security policy forbids.

    Args:
        document: an OpenAPI document.
        address: address of the server, for the examples.
    """
    page = render("api_docs.html", document=document, address=address, type_of=_type, default_of=_default, curl=_curl)
    return Response(page, media_type=CONTENT_TYPES[".html"], headers=REVALIDATE)


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(_type(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _default(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema["default"]) if schema.get("default") is not None else ""


def _curl(document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any], address: str) -> str:
    """Return a call of curl that works as it stands."""
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return f"curl {address}{path}"
    if "application/json" not in content:
        kind = next(iter(content))
        return (
            f"curl -X POST -H 'Content-Type: {kind}' --data-binary @reviews.csv '{address}{path}?filename=reviews.csv'"
        )
    name = content["application/json"]["schema"].get("$ref", "").rpartition("/")[2]
    schema = document["components"]["schemas"].get(name, {})
    body = json.dumps(dict(_example_fields(schema)))
    return f"curl -X POST -H 'Content-Type: application/json' -d '{body}' {address}{path}"


def _example_fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and an example of every required field."""
    for field in schema.get("required", []):
        examples = schema["properties"][field].get("examples") or [""]
        yield field, examples[0]


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
        "by_class": explainer.needs != "mask_scores" and name != BASELINE,
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
    """Return the options of a request as `vmask.config.make` takes them; a number above its limit is a ConfigError."""
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
