"""`/docs`: the documentation of the API, made from its OpenAPI document.

FastAPI's own page loads its scripts and styles from another server, which the content security policy forbids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="app.css">
<title>{title}</title>
</head>
<body class="docs">
<main>
<h1>{title}</h1>
<p class="lead">{description}</p>
<p><a href="./">The page</a> · <a href="openapi.json">OpenAPI document</a></p>
{sections}
</main>
</body>
</html>
"""


def docs_page(document: Mapping[str, Any], address: str) -> str:
    """Return the page as HTML.

    Args:
        document: an OpenAPI document.
        address: address of the server, for the examples.
    """
    paths = "\n".join(
        _operation(document, path, method, operation, address)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "\n".join(
        _schema(name, schema) for name, schema in document.get("components", {}).get("schemas", {}).items()
    )
    info = document["info"]
    return _PAGE.format(
        title=escape(f"{info['title']} {info['version']}"),
        description=escape(info.get("description", "")),
        sections=f"{paths}\n<h2>Schemas</h2>\n{schemas}",
    )


def _operation(document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any], address: str) -> str:
    parts = [
        f'<section class="card"><h2><code>{escape(method.upper())} {escape(path)}</code></h2>',
        f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>",
    ]
    if parameters := operation.get("parameters"):
        rows = [
            (parameter["name"], _type(schema), _default(schema), parameter.get("description", ""))
            for parameter in parameters
            for schema in [parameter.get("schema", {})]
        ]
        parts.append(_table(("parameter", "type", "default", "what"), rows))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Body: <code>{escape(kind)}</code>, {_linked(content.get('schema', {}))}</p>")
    answers = [
        f"<li><code>{escape(code)}</code> {escape(answer.get('description', ''))}{_answer(answer)}</li>"
        for code, answer in operation.get("responses", {}).items()
    ]
    parts.append(f"<ul>{''.join(answers)}</ul>")
    parts.append(f"<pre><code>{escape(_curl(document, path, method, operation, address))}</code></pre></section>")
    return "\n".join(parts)


def _answer(answer: Mapping[str, Any]) -> str:
    types = [_linked(content["schema"]) for content in answer.get("content", {}).values() if content.get("schema")]
    headers = answer.get("headers", {}).items()
    lines = [f"<br><code>{escape(name)}</code> {escape(header.get('description', ''))}" for name, header in headers]
    return (f": {', '.join(types)}" if types else "") + "".join(lines)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            name if name in required else f"{name} (optional)",
            _type(field),
            _default(field),
            field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]
    head = f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p>'
    return f'<section class="card">{head}{_table(("field", "type", "default", "what"), rows)}</section>'


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rest = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody></table>"


def _linked(schema: Mapping[str, Any]) -> str:
    """The type of something, a link where it has a section of its own."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return f'<a href="#{escape(name)}">{escape(name)}</a>' if name else escape(_type(schema))


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
