"""What a request can be refused for, and every JSON answer: one that can always be written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from vmask.errors import VmaskError

LONGEST_DETAIL = 2000
"""Characters of what is said to be wrong with a request."""


class Refusal(VmaskError):
    """A request that is not answered as it was asked.

    Args:
        message: what is wrong and how to put it right.
        headers: of the answer.
        status: of the answer; by default that of the class.
    """

    status = 422

    def __init__(self, message: str, headers: Mapping[str, str] | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status or self.status
        self.headers = dict(headers or {})


class NotHere(Refusal):
    """Something that was named does not exist."""

    status = 404


class TooLarge(Refusal):
    """More than the server takes."""

    status = 413


class TooBusy(Refusal):
    """The server has enough to do for now."""

    status = 429

    def __init__(self, message: str, retry_seconds: int = 2) -> None:
        super().__init__(message, {"Retry-After": str(retry_seconds)})


class TimeUp(Refusal):
    """It took too long."""

    status = 408


class ClientGone(Refusal):
    """Nobody waits for the answer any more; this one is never read."""

    status = 499


class ShuttingDown(Refusal):
    """The server ends."""

    status = 410


class Json(JSONResponse):
    """An answer in JSON. NaN and infinity become null, half a character its escape, so that any client can read it."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (ValueError, TypeError):
            text = json.dumps(_plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")  # a lone surrogate as \udXXX, which is JSON's own escape


def _plain(value: Any) -> Any:
    """The same of JSON's kinds alone."""
    if hasattr(value, "tolist"):  # a number or an array of numpy's
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def refused(error: VmaskError) -> Json:
    """The answer to a request that is refused."""
    status, headers = (error.status, error.headers) if isinstance(error, Refusal) else (Refusal.status, {})
    return problem(str(error), status, headers)


def problem(detail: str, status: int, headers: Mapping[str, str] | None = None) -> Json:
    """An answer that says what is wrong, at no greater length than anybody reads: names in it are the client's."""
    detail = detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]} …"
    return Json({"detail": detail}, status, dict(headers or {}))
