"""Wait for a result, but no longer than the client does."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, TypeVar

from starlette.requests import Request

from vmask.serve.http_errors import ClientDisconnected, RequestTimeout

T = TypeVar("T")


async def await_result(
    request: Request,
    future: Future[T],
    timeout: float | None = None,
    timeout_message: str = "",
    *,
    cancel: bool = True,
) -> T:
    """Wait for the result of a future that another thread sets.

    Args:
        request: the request that waits; its body must have been read.
        future: the result.
        timeout: seconds to wait at most.
        timeout_message: message of the error after that time.
        cancel: cancel the future when this request stops waiting. Choose False if other requests wait for it too.

    Raises:
        ClientDisconnected: as soon as the client closes the connection.
        RequestTimeout: after `timeout` seconds.
    """
    result: asyncio.Future[T] = asyncio.wrap_future(future)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
    either: set[asyncio.Future[Any]] = {result, disconnect}
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if result.done():
            return result.result()
        disconnected = disconnect.done()
    finally:
        disconnect.cancel()
        if cancel and not result.done():
            result.cancel()  # and `future` with it
    if disconnected:
        raise ClientDisconnected("The client has closed the connection.")
    raise RequestTimeout(timeout_message)


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has closed the connection. `Request.is_disconnected` only polls."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
