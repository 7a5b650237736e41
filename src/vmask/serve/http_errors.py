"""Errors that become HTTP answers, and JSON answers that can always be written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from vmask.errors import VmaskError

MAX_DETAIL = 2000
"""Characters of an error message, at most. Names in it come from the client."""


class HttpError(VmaskError):
    """A request that is answered with an error.

    Unlike Starlette's `HTTPException` it is a `VmaskError`, so it can be raised by code that knows nothing of routes,
    and by the middleware, which runs outside of Starlette's exception handlers. Errors that are caught, or raised in
    several rooms of the server, have a class of their own.

    Args:
        message: what is wrong and how to put it right.
        status: HTTP status of the answer; by default that of the class.
        headers: added to the answer.
    """

    status = 500

    def __init__(self, message: str, status: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status or self.status
        self.headers = dict(headers or {})


class NotFound(HttpError):
    """The request names something that does not exist."""

    status = 404


class RequestTimeout(HttpError):
    """The request took longer than the limit."""

    status = 408


class ShuttingDown(HttpError):
    """The server is shutting down."""

    status = 410

    def __init__(self) -> None:
        super().__init__("The server is shutting down.")


class PayloadTooLarge(HttpError):
    """The request or its answer is larger than the limit."""

    status = 413


class InvalidRequest(HttpError):
    """The request is well-formed HTTP, but cannot be answered."""

    status = 422


class TooManyRequests(HttpError):
    """The server is busy; the client should try again after `retry_seconds`."""

    status = 429

    def __init__(self, message: str, retry_seconds: int = 2) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_seconds)})


class ClientDisconnected(HttpError):
    """The client has closed the connection, so nobody reads this answer."""

    status = 499

    def __init__(self) -> None:
        super().__init__("The client has closed the connection.")


class SafeJsonResponse(JSONResponse):
    """A JSON answer that any client can read.

    Starlette's raises an error for NaN, infinity and lone surrogates. Here NaN and infinity become null, and a lone
    surrogate becomes its JSON escape.
    """

    def render(self, content: Any) -> bytes:
        """Encode the content as JSON."""
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (ValueError, TypeError):
            text = json.dumps(_to_json_types(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")  # a lone surrogate as \udXXX, which is JSON's own escape


def _to_json_types(value: Any) -> Any:
    """Convert a value to the types of JSON, recursively."""
    if hasattr(value, "tolist"):  # a NumPy number or array
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_to_json_types(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def error_response(error: VmaskError) -> SafeJsonResponse:
    """Return the answer for an error: its own status, or 422 for errors of the rest of vmask."""
    if isinstance(error, HttpError):
        return detail_response(str(error), error.status, error.headers)
    return detail_response(str(error), InvalidRequest.status)


def detail_response(detail: str, status: int, headers: Mapping[str, str] | None = None) -> SafeJsonResponse:
    """Return an answer with an error message, cut to `MAX_DETAIL` characters."""
    if len(detail) > MAX_DETAIL:
        detail = f"{detail[:MAX_DETAIL]} …"
    return SafeJsonResponse({"detail": detail}, status, dict(headers or {}))
