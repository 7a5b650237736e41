"""Data and scripts inside of a page: nothing of a text gets out of its place, and nothing but our script runs."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def embedded_json(value: Any) -> str:
    r"""JSON that can stand inside of a script element, whatever its strings say.

    >>> embedded_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char, escaped in _UNSAFE.items():
        text = text.replace(char, escaped)
    return text


def policy(script: str) -> str:
    """The content security policy of a page that runs this script and loads nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
