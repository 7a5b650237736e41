"""Around every request: who may ask, how much, and the headers of every answer.

It is pure ASGI: with Starlette's base class for such layers, a request would not notice that its client goes away.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vmask.serve.config import TOKEN_VARIABLE, ServeConfig
from vmask.serve.http_errors import ClientGone, Json, Refusal, TimeUp, TooBusy, TooLarge, refused

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), usb=()"
    ),
    "Cache-Control": "no-store",
}
PUBLIC = ("/", "/app.js", "/app.css", "/docs", "/openapi.json", "/healthz")
"""What is answered without a token: the same for every server of a version, but for how many models it has."""
SAFE = ("GET", "HEAD", "OPTIONS")

log = logging.getLogger(__name__)


class Forbidden(Refusal):
    """Asked under a name that is not ours, or by a page of another."""

    status = 403


class Unknown(Refusal):
    """Asked without the token."""

    status = 401

    def __init__(self, message: str) -> None:
        super().__init__(message, {"WWW-Authenticate": 'Bearer realm="vmask"'})


class Guard:
    """Checks a request before the app sees it, and puts the headers on what goes out.

    Args:
        app: the app inside.
        settings: whom to answer, and limits.
        failed: called for a request that cannot be answered by a fault of ours.
    """

    def __init__(self, app: ASGIApp, settings: ServeConfig, failed: Callable[[], None] = lambda: None) -> None:
        self.app = app
        self._host, self._allowed = settings.host.lower(), settings.allowed_hosts()
        self._token = None if settings.token is None else settings.token.encode()
        self._settings, self._failed = settings, failed
        self._answering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        outgoing = _Outgoing(send)
        try:
            self._check(scope)
            body = await self._body_in_time(scope, receive)
            await self._answer(scope, _replaying(body, receive), outgoing)
        except Refusal as refusal:
            await self._refuse(refusal, scope, receive, outgoing)
        except Exception:
            log.exception("A request could not be answered.")
            self._failed()
            if outgoing.started:
                raise
            fault = Json({"detail": "This is a fault in vmask; the server's output has the traceback."}, 500)
            await fault(scope, receive, outgoing)

    async def _answer(self, scope: Scope, receive: Receive, outgoing: _Outgoing) -> None:
        """Let the app answer, unless it has enough to do. A request counts once it is here in full."""
        most = self._settings.max_connections
        if self._answering >= most:
            raise TooBusy(f"{most} requests are being answered already, the limit. Try again soon.")
        self._answering += 1
        try:
            await self.app(scope, receive, outgoing)
        finally:
            self._answering -= 1

    async def _refuse(self, refusal: Refusal, scope: Scope, receive: Receive, outgoing: _Outgoing) -> None:
        """Say no, and hang up: there may be more to come that nobody will read."""
        refusal.headers["Connection"] = "close"
        await refused(refusal)(scope, receive, outgoing)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise Forbidden(
                f"This server is not known as {', '.join(hosts) or 'nothing'!r}. Call it by its address, or start it "
                "with --allow-host NAME."
            )
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in SAFE and not self._same_origin(origin, hosts[0]):
            raise Forbidden("Pages of other addresses may not ask this server. Open the server's own page.")
        if self._token is not None and scope["path"] not in PUBLIC:
            self._check_token(headers.getlist("authorization"), self._token)

    def _check_token(self, given: list[str], token: bytes) -> None:
        kind, _, shown = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        # Compared in a time that does not tell how much of it is right.
        right = hmac.compare_digest(shown.strip().encode("latin-1", "replace"), token)
        if kind.lower() != "bearer" or not right:
            raise Unknown(
                f"This server asks for a token{' and yours is another' if given else ''}. Send the header "
                f"'Authorization: Bearer TOKEN' with the token that it was started with ({TOKEN_VARIABLE})."
            )

    def _is_ours(self, host: str) -> bool:
        """Whether the server may be called so: names of others, which a page of theirs could point here, are not."""
        name = _name(host)
        if name is None:
            return False
        if name in (self._host, "localhost", *self._allowed):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._host in ("0.0.0.0", "::", "")

    def _same_origin(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return False
        default = {"http": ":80", "https": ":443"}[parts.scheme]
        same = parts.netloc.lower().removesuffix(default) == host.lower().removesuffix(default)
        return same or _name(parts.netloc) in self._allowed

    async def _body_in_time(self, scope: Scope, receive: Receive) -> bytes:
        seconds = self._settings.body_seconds
        try:
            return await asyncio.wait_for(self._body(scope, receive), seconds)
        except asyncio.TimeoutError:
            raise TimeUp(f"The request did not come within {seconds:g} seconds.") from None

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The body of a request, no larger than the limit."""
        limit = self._settings.max_body_bytes
        too_large = TooLarge(f"The request is larger than the limit of {limit:,} bytes. Send less at a time.")
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise too_large
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone("The client went away.")
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise too_large
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)


class _Outgoing:
    """Sends messages on, with our headers; remembers whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": with_headers(message.get("headers", ()))}
        await self._send(message)


def with_headers(given: Any, ours: Mapping[str, str] = HEADERS) -> list[tuple[bytes, bytes]]:
    """The headers of an answer and ours that it does not set itself."""
    there = {name.lower() for name, _ in given}
    added = [(name.encode(), value.encode()) for name, value in ours.items() if name.lower().encode() not in there]
    return [*given, *added]


def _replaying(body: bytes, receive: Receive) -> Receive:
    """First the body, in one piece, then what comes of itself: that the client goes away."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _name(host: str) -> str | None:
    """The name in a Host header, without its port; None where it is none."""
    if not host.isprintable() or " " in host:  # `urlsplit` leaves out tabs
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - it raises where the port is no number
        return parts.hostname if parts.hostname and parts.username is None and not parts.path else None
    except ValueError:
        return None
