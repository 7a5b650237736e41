"""A connection of uvicorn with limits: how many there are, and how long one may keep the server waiting.

uvicorn has no such limits. Its `limit_concurrency` answers 503 to everybody as soon as there are too many connections,
so that one client that opens idle ones locks all others out, and there is no timeout for a request that never ends
(`timeout_keep_alive` is for connections between two requests). Here, if there are too many connections, one without a
complete request is closed to make room.
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

CONNECTIONS_PER_REQUEST = 4
"""Maximum number of connections, as a multiple of `max_connections`: most connections wait for their next request."""
GRACE_SECONDS = 0.6
"""How long a client has to read its answer when the server shuts down; less than uvicorn waits before it cancels it."""
CHECKS_PER_TIMEOUT = 8
"""How often a connection is checked within the shorter of its timeouts."""


class LimitedProtocol(H11Protocol):
    """Closes connections that are too many or too slow. `limited_protocol` makes the class for a server.

    uvicorn makes an instance for each connection and passes no arguments, so the settings are attributes of the class.

    Attributes:
        settings: the limits.
        clients: number of connections by client address.
        report: called with the reason when a connection is closed.
    """

    settings: ClassVar[ServeConfig]
    clients: ClassVar[Counter[str]]
    report: ClassVar[staticmethod[[str], None]]

    _timer: asyncio.TimerHandle | None = None
    _header_awaited_since: float | None = None
    """When the wait for the header of a request began; None while a request is in progress."""
    _header_started = False
    _unsent_bytes, _last_read = 0, 0.0
    """Bytes of an answer that the client has not read, and when it last read some."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection. If there are too many, close one that has no complete request."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self.clients[self._address] += 1
        self._opened = self._header_awaited_since = self.loop.time()
        self._check_timeouts()
        connections = [other for other in self.connections if isinstance(other, LimitedProtocol)]
        limit = self.settings.max_client_connections
        if self.clients[self._address] > limit:
            same_client = [other for other in connections if other._address == self._address]
            message = f"There are {limit} connections from your address, the limit. Close some."
            self._close_one(same_client, "client", message)
        elif len(connections) > CONNECTIONS_PER_REQUEST * self.settings.max_connections:
            self._close_one(connections, "server", "There are too many connections. Try again soon.")

    def _close_one(self, connections: list[LimitedProtocol], reason: str, detail: str) -> None:
        """Close the oldest connection without a complete request, or this one if all others have one."""
        waiting = [
            other for other in connections if other is not self and other._waits and not other.transport.is_closing()
        ]
        oldest = min(waiting, key=lambda other: other._opened, default=self)
        if oldest._in_progress:
            oldest._drop_request()
        oldest._send_error(429, reason, detail)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a connection from the counts."""
        self.clients[self._address] -= 1
        if not self.clients[self._address]:
            del self.clients[self._address]
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Record whether a request has started, and whether its header is complete."""
        super().data_received(data)
        if self._in_progress:
            self._header_awaited_since, self._header_started = None, False
        else:
            self._header_awaited_since, self._header_started = self._header_awaited_since or self.loop.time(), True

    @property
    def _in_progress(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _waits(self) -> bool:
        """Whether the server waits for the client: there is no request, or its body is not complete."""
        return not self._in_progress or (self.cycle.more_body and not self.cycle.response_started)

    def _drop_request(self) -> None:
        """Discard what the app may still answer."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def _check_timeouts(self) -> None:
        """Close the connection if the client keeps the server waiting for too long."""
        header, body, now = self.settings.header_seconds, self.settings.body_seconds, self.loop.time()
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes != self._unsent_bytes:
            self._unsent_bytes, self._last_read = unsent_bytes, now
        elif unsent_bytes and now - self._last_read > body:
            self.report("answer not taken")
            self.transport.abort()
        elif self._header_awaited_since is not None and now - self._header_awaited_since > header:
            if self._header_started:
                self._send_error(408, "slow header", f"The header did not come within {header:g} seconds.")
            else:
                self.transport.close()
            self._header_awaited_since = None
        self._timer = self.loop.call_later(min(header, body, 8.0) / CHECKS_PER_TIMEOUT, self._check_timeouts)

    def _send_error(self, status: int, reason: str, detail: str) -> None:
        """Answer without the app, and close the connection."""
        self.report(reason)
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
        """Answer a malformed request. If the answer to a request before it has started, there can be no other."""
        if self.cycle is not None:
            started = self.cycle.response_started and not self.cycle.response_complete
            self._drop_request()
            if started:
                self.report("malformed")
                self.transport.close()
                return
        self._send_error(400, "malformed", "This is no HTTP request that can be read.")

    def shutdown(self) -> None:
        """Close the connection when the server shuts down. A request that is complete gets its answer first."""
        self.loop.call_later(GRACE_SECONDS, self.transport.abort)
        if self._in_progress and not self.cycle.more_body:
            self.cycle.keep_alive = False
        else:
            self.transport.close()


def limited_protocol(settings: ServeConfig, report: Callable[[str], None]) -> type[LimitedProtocol]:
    """Return the protocol class for a server; its arguments are attributes of the class."""
    attributes = {"settings": settings, "clients": Counter(), "report": staticmethod(report)}
    return type("Protocol", (LimitedProtocol,), attributes)
