"""What tests of the server share: a model that they can hold up, and a client that can go away."""

from __future__ import annotations

import asyncio
import json
import threading

BASE_URL = "http://127.0.0.1"
TEXT = "a lovely film about a small town"
SLOW = {"texts": [TEXT], "explainer": "lime", "options": {"samples": 50}}
"""A request that waits at a gate."""
WAIT = 120
"""Seconds after which a test that waits for another thread gives up; none of them waits so long when all is well."""


class Gate:
    """A model that stops before it computes perturbations, until the test lets it go on."""

    def __init__(self, predictor):
        self._predictor = predictor
        self.entered, self.open = threading.Event(), threading.Event()
        self.calls = 0

    def __getattr__(self, name):
        return getattr(self._predictor, name)

    def predict_kept(self, docs, keep, hide="remove"):
        if docs:
            self.calls += 1
            self.entered.set()
            assert self.open.wait(WAIT)
        return self._predictor.predict_kept(docs, keep, hide)


class Call:
    """A request that is given to the app as a server would, piece by piece.

    Args:
        path: where to.
        body: what is sent: JSON, or pieces of bytes, each of them asked for.
        method: of the request.
        headers: besides Host.
    """

    def __init__(self, path, body=b"", method="POST", headers=(), host="127.0.0.1"):
        self._pieces = (
            body if isinstance(body, list) else [body if isinstance(body, bytes) else json.dumps(body).encode()]
        )
        self.taken = 0
        self.gone = asyncio.Event()
        self.messages = []
        given = [("host", host), ("content-type", "application/json"), *headers]
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in given],
            "client": ("127.0.0.1", 1234),
            "server": ("127.0.0.1", 80),
        }

    async def receive(self):
        if self.taken == len(self._pieces):
            await self.gone.wait()
            return {"type": "http.disconnect"}
        self.taken += 1
        more = self.taken < len(self._pieces)
        return {"type": "http.request", "body": self._pieces[self.taken - 1], "more_body": more}

    async def send(self, message):
        self.messages.append(message)

    async def made(self, app):
        await app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self):
        return self.messages[0]["status"]

    @property
    def headers(self):
        return {name.decode().lower(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def json(self):
        return json.loads(b"".join(message.get("body", b"") for message in self.messages[1:]))
