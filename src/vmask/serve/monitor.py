"""What an operator can know of a server: numbers for Prometheus, and a line for every request. Never a text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from vmask.serve.loaded_model import Served

METHODS = ("GET", "HEAD", "POST")
OTHER = "other"
"""What stands for a method or path that is none of ours: theirs could be anything, and any number of them."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper ends of the buckets of latencies, in seconds."""

log = logging.getLogger("vmask.access")


class Metrics:
    """Counts and times of a server.

    Args:
        models: what it serves.
    """

    def __init__(self, models: Sequence[Served]) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "vmask_requests", "Requests that were answered.", ["method", "path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "vmask_request_seconds", "From request to answer.", ["path"], registry=registry, buckets=BUCKETS
        )
        self.in_progress = Gauge("vmask_requests_in_progress", "Requests that are being answered.", registry=registry)
        self.faults = Counter("vmask_faults", "Requests that failed by a fault in vmask.", registry=registry)
        self._refused = Counter(
            "vmask_refused_connections", "Connections that were closed before a request.", ["why"], registry=registry
        )
        self._queue = Gauge("vmask_queue_length", "Requests that wait for a thread.", ["queue"], registry=registry)
        self._texts = Counter("vmask_texts", "Texts that a model answered.", ["model", "what"], registry=registry)
        self._model = Counter(
            "vmask_model_seconds", "Time that a model computed.", ["model", "what"], registry=registry
        )
        info = Gauge("vmask_model_info", "The models, 1 each.", ["model", "kind", "mask"], registry=registry)
        for served in models:
            info.labels(served.name, served.classifier.plan_.model, served.classifier.plan_.mask).set(1)

    def watch(self, queue: str, length: Callable[[], int]) -> None:
        """Tell how many wait in a queue."""
        self._queue.labels(queue).set_function(length)

    def computed(self, model: str, what: str, texts: int, seconds: float) -> None:
        """A model answered some texts."""
        self._texts.labels(model, what).inc(texts)
        self._model.labels(model, what).inc(seconds)

    def refused(self, why: str) -> None:
        """A connection was closed."""
        self._refused.labels(why).inc()

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def render(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return bytes(generate_latest(self._registry))


class Monitor:
    """Counts, times and logs every request; pure ASGI.

    Args:
        app: the app inside.
        metrics: where to count.
        paths: those that are told apart.
        write: whether to write a line for each.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], write: bool) -> None:
        self.app = app
        self._metrics, self._paths, self._write = metrics, paths, write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, sent = time.perf_counter(), 0, 0

        async def noted(message: Message) -> None:
            nonlocal status, sent
            status = message.get("status", status)
            sent += len(message.get("body", b""))
            await send(message)

        self._metrics.in_progress.inc()
        try:
            await self.app(scope, receive, noted)
        finally:
            self._metrics.in_progress.dec()
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in METHODS else OTHER
            path = scope["path"] if scope["path"] in self._paths else OTHER
            self._metrics.answered(method, path, status, seconds)
            if self._write:
                client = (scope.get("client") or ("-",))[0]
                when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                log.info("%s %s %s %s %d %d bytes %.1f ms", when, client, method, path, status, sent, 1000 * seconds)
