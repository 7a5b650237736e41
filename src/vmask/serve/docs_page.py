"""`/docs`: the documentation of the API, made from its OpenAPI document.

FastAPI's own page loads its scripts and styles from another server, which the content security policy forbids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vmask.report.templating import render


def docs_page(document: Mapping[str, Any], address: str) -> str:
    """Return the page as HTML.

    Args:
        document: an OpenAPI document.
        address: address of the server, for the examples.
    """
    return render("api_docs.html", document=document, address=address, type_of=_type, default_of=_default, curl=_curl)


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
