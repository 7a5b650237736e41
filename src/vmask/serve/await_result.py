"""Wait for an answer for as long as the client does."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, TypeVar

from starlette.requests import Request

from vmask.serve.http_errors import ClientGone, TimeUp

T = TypeVar("T")


async def answer_to(
    request: Request, future: Future[T], seconds: float | None = None, late: str = "", keep: bool = False
) -> T:
    """The result of a future.

    Args:
        request: who waits.
        future: for what.
        seconds: how long at most.
        late: what to say where that was not enough.
        keep: do not cancel the future when nobody waits any more: others will.

    Raises:
        ClientGone: as soon as the client has gone.
        TimeUp: when the time is up.
    """
    wanted: asyncio.Future[T] = asyncio.wrap_future(future)
    gone = asyncio.ensure_future(_gone(request))
    either: set[asyncio.Future[Any]] = {wanted, gone}
    try:
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if wanted.done():
            return wanted.result()
        left = gone.done()
    finally:
        gone.cancel()
        if not keep and not wanted.done():
            wanted.cancel()  # and the future with it
    if left:
        raise ClientGone("The client went away.")
    raise TimeUp(late)


async def _gone(request: Request) -> None:
    """Ends when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
