"""Access control and limits of requests, and the security headers of every answer.

The middleware is written as plain ASGI and by hand, for what Starlette and FastAPI do not offer:

- With Starlette's `BaseHTTPMiddleware`, a request would not notice that its client has disconnected.
- Starlette's `TrustedHostMiddleware` has no rule for "any IP address", which a server on 0.0.0.0 needs, and accepts a
  request with two Host headers.
- FastAPI's `HTTPBearer` guards routes. Here unknown paths answer 401 too, and a body without the token is not read.
- Neither limits the size of a body or the time in which it must arrive.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
from collections.abc import Callable, Collection, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vmask.serve.config import TOKEN_VARIABLE, ServeConfig
from vmask.serve.http_errors import (
    ClientDisconnected,
    HttpError,
    PayloadTooLarge,
    RequestTimeout,
    TooManyRequests,
    detail_response,
    error_response,
)

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
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

log = logging.getLogger(__name__)


class SecurityMiddleware:
    """ASGI middleware that checks a request before the app gets it, and adds the security headers to the answer.

    Args:
        app: the wrapped app.
        settings: access control and limits.
        public: paths that are answered without a token. Their answers are the same for every server of a version,
            except that `/healthz` has the number of models.
        on_fault: called when a request fails because of a bug in vmask.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServeConfig,
        public: Collection[str] = (),
        on_fault: Callable[[], None] = lambda: None,
    ) -> None:
        self.app = app
        self._host, self._allowed = settings.host.lower(), settings.allowed_hosts()
        self._token = None if settings.token is None else settings.token.encode()
        self._settings, self._public, self._on_fault = settings, public, on_fault
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sender = _HeaderSender(send)
        try:
            self._check(scope)
            body = await self._body_in_time(scope, receive)
            await self._answer(scope, _replay_body(body, receive), sender)
        except HttpError as error:
            error.headers["Connection"] = "close"  # the rest of the body is not read
            await error_response(error)(scope, receive, sender)
        except Exception:
            log.exception("A request could not be answered.")
            self._on_fault()
            if sender.started:
                raise
            fault = detail_response("This is a fault in vmask; the server's output has the traceback.", 500)
            await fault(scope, receive, sender)

    async def _answer(self, scope: Scope, receive: Receive, sender: _HeaderSender) -> None:
        """Let the app answer, unless too many requests are in progress. A request counts once its body is complete."""
        limit = self._settings.max_connections
        if self._in_progress >= limit:
            raise TooManyRequests(f"{limit} requests are being answered already, the limit. Try again soon.")
        self._in_progress += 1
        try:
            await self.app(scope, receive, sender)
        finally:
            self._in_progress -= 1

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_known_host(hosts[0]):
            raise HttpError(
                f"This server is not known as {', '.join(hosts) or 'nothing'!r}. Call it by its address, or start it "
                "with --allow-host NAME.",
                403,
            )
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may read the one and this server the other, and see different requests (request smuggling).
            raise HttpError("A request has a Content-Length or a Transfer-Encoding, not both.", 400)
        has_data = scope["method"] not in SAFE_METHODS or scope["path"] not in self._public
        if has_data and self._from_other_site(headers, hosts[0]):
            raise HttpError("Pages of other addresses may not ask this server. Open the server's own page.", 403)
        if self._token is not None and scope["path"] not in self._public:
            self._check_token(headers.getlist("authorization"), self._token)

    def _check_token(self, authorization: list[str], token: bytes) -> None:
        scheme, _, given = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        # A comparison in constant time does not tell how many of the first characters are right.
        equal = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token)
        if scheme.lower() != "bearer" or not equal:
            mismatch = " and yours is another" if authorization else ""
            raise HttpError(
                f"This server asks for a token{mismatch}. Send the header "
                f"'Authorization: Bearer TOKEN' with the token that it was started with ({TOKEN_VARIABLE}).",
                401,
                {"WWW-Authenticate": 'Bearer realm="vmask"'},
            )

    def _is_known_host(self, host: str) -> bool:
        """Whether a Host header names this server.

        Other names are refused: the owner of a name could point it here and let a page of theirs read the answers
        (DNS rebinding).
        """
        name = _host_name(host)
        if name is None:
            return False
        if name in (self._host, "localhost", *self._allowed):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._host in ("0.0.0.0", "::", "")

    def _from_other_site(self, headers: Headers, host: str) -> bool:
        """Whether a page of another site asks, as browsers say it."""
        origin = headers.get("origin")
        if origin is not None:
            return not self._same_origin(origin, host)
        return headers.get("sec-fetch-site") == "cross-site"

    def _same_origin(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return False
        default = {"http": ":80", "https": ":443"}[parts.scheme]
        same = parts.netloc.lower().removesuffix(default) == host.lower().removesuffix(default)
        return same or _host_name(parts.netloc) in self._allowed

    async def _body_in_time(self, scope: Scope, receive: Receive) -> bytes:
        seconds = self._settings.body_seconds
        try:
            return await asyncio.wait_for(self._body(scope, receive), seconds)
        except asyncio.TimeoutError:
            raise RequestTimeout(f"The request did not come within {seconds:g} seconds.") from None
        except ClientDisconnect:
            raise ClientDisconnected from None

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request, unless it is larger than the limit."""
        limit = self._settings.max_body_bytes
        too_large = PayloadTooLarge(f"The request is larger than the limit of {limit:,} bytes. Send less at a time.")
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise too_large
        body = bytearray()
        async for part in Request(scope, receive).stream():
            body += part
            if len(body) > limit:
                raise too_large
        return bytes(body)


class _HeaderSender:
    """Sends messages with the security headers, and records whether an answer has started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": with_headers(message.get("headers", ()))}
        await self._send(message)


def with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer, with the security headers that it does not set itself."""
    answer = MutableHeaders(raw=list(headers))
    for name, value in HEADERS.items():
        answer.setdefault(name, value)
    return answer.raw


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body in one piece, and then the messages that follow, such as a disconnect."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _host_name(host: str) -> str | None:
    """Return the name in a Host header without its port; None if the header is malformed."""
    if not host.isprintable() or " " in host:  # `urlsplit` removes tabs
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - it raises where the port is no number
        return parts.hostname if parts.hostname and parts.username is None and not parts.path else None
    except ValueError:
        return None
