"""A connection as uvicorn serves it, with limits: how many there are, and how long one may keep the server waiting.

Where there are too many, those that have not sent a whole request make room, so that nobody can lock others out by
opening connections that ask nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from vmask.serve.config import ServeConfig
from vmask.serve.security import HEADERS

SPARE = 4
"""Connections, in times of the requests that are answered at a time: most only wait for the next one."""
GRACE_SECONDS = 0.6
"""How long a client has to take its answer when the server ends; less than uvicorn waits before it cancels requests."""
LOOKS = 8
"""How often a connection is looked at within the shorter of its time limits."""


class LimitedProtocol(H11Protocol):
    """Closes connections that are too many or too slow. `protocol_for` makes the class of a server."""

    settings: ClassVar[ServeConfig]
    clients: ClassVar[Counter[str]]
    tell: ClassVar[list[Callable[[str], None]]]

    _timer: asyncio.TimerHandle | None = None
    _waits_since: float | None = None
    """Since when the header of a request is awaited; None while there is a request, or none is begun."""
    _begun = False
    _unsent, _moved = 0, 0.0
    """Bytes of an answer that the client has not taken, and when it last took some."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection. Where there are too many, the one that has kept us waiting longest makes room."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self.clients[self._address] += 1
        self._opened = self._waits_since = self.loop.time()
        self._look()
        others: list[LimitedProtocol] = [one for one in self.connections if isinstance(one, LimitedProtocol)]
        if self.clients[self._address] > (most := self.settings.max_client_connections):
            mine = [one for one in others if one._address == self._address]
            self._make_room(mine, "client", f"There are {most} connections from your address, the limit. Close some.")
        elif len(others) > SPARE * self.settings.max_connections:
            self._make_room(others, "server", "There are too many connections. Try again soon.")

    def _make_room(self, others: list[LimitedProtocol], why: str, detail: str) -> None:
        """Hang up on the oldest connection without a whole request, or on this one where all others have one."""
        waiting = [one for one in others if one is not self and one._waits and not one.transport.is_closing()]
        chosen = min(waiting, key=lambda one: one._opened, default=self)
        if chosen._in_progress:
            chosen._forget_request()
        chosen._refuse(429, why, detail)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self.clients[self._address] -= 1
        if not self.clients[self._address]:
            del self.clients[self._address]
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note whether a request has begun, and whether its header is there."""
        super().data_received(data)
        if self._in_progress:
            self._waits_since, self._begun = None, False
        else:
            self._waits_since, self._begun = self._waits_since or self.loop.time(), True

    @property
    def _in_progress(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _waits(self) -> bool:
        """Whether we wait for the client: there is no request, or not all of it."""
        return not self._in_progress or (self.cycle.more_body and not self.cycle.response_started)

    def _forget_request(self) -> None:
        """What the app may still say is said to nobody."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def _look(self) -> None:
        """See whether the client keeps us waiting for too long."""
        header, body, now = self.settings.header_seconds, self.settings.body_seconds, self.loop.time()
        unsent = self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent, self._moved = unsent, now
        elif unsent and now - self._moved > body:
            self._tell("answer not taken")
            self.transport.abort()
        elif self._waits_since is not None and now - self._waits_since > header:
            if self._begun:
                self._refuse(408, "slow header", f"The header did not come within {header:g} seconds.")
            else:
                self.transport.close()
            self._waits_since = None
        self._timer = self.loop.call_later(min(header, body, 8.0) / LOOKS, self._look)

    def _tell(self, why: str) -> None:
        for tell in self.tell:
            tell(why)

    def _refuse(self, status: int, why: str, detail: str) -> None:
        """Answer without the app, and hang up."""
        self._tell(why)
        body = json.dumps({"detail": detail}).encode()
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in HEADERS.items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP. Where the answer to a request has begun there can be no other."""
        if self.cycle is not None:
            begun = self.cycle.response_started and not self.cycle.response_complete
            self._forget_request()
            if begun:
                self._tell("malformed")
                self.transport.close()
                return
        self._refuse(400, "malformed", "This is no HTTP request that can be read.")

    def shutdown(self) -> None:
        """Hang up when the server ends, but for requests that are here in full: they are told so, if they listen."""
        self.loop.call_later(GRACE_SECONDS, self.transport.abort)
        if self._in_progress and not self.cycle.more_body:
            self.cycle.keep_alive = False
        else:
            self.transport.close()


def protocol_for(settings: ServeConfig, *tell: Callable[[str], None]) -> type[LimitedProtocol]:
    """The protocol of a server.

    Args:
        settings: its limits.
        tell: called with the reason where a connection is closed.
    """
    own = {"settings": settings, "clients": Counter(), "tell": list(tell)}
    return type("Protocol", (LimitedProtocol,), own)
