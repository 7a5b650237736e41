"""Monitoring: metrics for Prometheus, and an access log. Neither contains texts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from vmask.serve.loaded_model import LoadedModel

METHODS = ("GET", "HEAD", "POST")
OTHER = "other"
"""Label of unknown methods and paths. Clients choose them, so there could be any number of them."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds of the buckets of latencies, in seconds."""

log = logging.getLogger("vmask.access")


class Metrics:
    """The metrics of a server, of the models that it serves."""

    def __init__(self, models: Sequence[LoadedModel]) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "vmask_requests", "Requests that were answered.", ["method", "path", "status"], registry=registry
        )
        self._latency = Histogram(
            "vmask_request_seconds", "From request to answer.", ["path"], registry=registry, buckets=BUCKETS
        )
        self.in_progress = Gauge("vmask_requests_in_progress", "Requests that are being answered.", registry=registry)
        self.faults = Counter("vmask_faults", "Requests that failed by a fault in vmask.", registry=registry)
        self._refused = Counter(
            "vmask_refused_connections", "Connections that were closed before a request.", ["why"], registry=registry
        )
        self._queue = Gauge("vmask_queue_length", "Requests that wait for a thread.", ["queue"], registry=registry)
        self._texts = Counter("vmask_texts", "Texts that a model answered.", ["model", "what"], registry=registry)
        self._model_seconds = Counter(
            "vmask_model_seconds", "Time that a model computed.", ["model", "what"], registry=registry
        )
        info = Gauge("vmask_model_info", "The models, 1 each.", ["model", "kind", "mask"], registry=registry)
        for model in models:
            info.labels(model.name, model.classifier.plan_.model, model.classifier.plan_.mask).set(1)

    def track_queue(self, name: str, length: Callable[[], int]) -> None:
        """Export the length of a queue."""
        self._queue.labels(name).set_function(length)

    def record_model_call(self, model: str, operation: str, texts: int, seconds: float) -> None:
        """Count a call of a model, its texts and its time."""
        self._texts.labels(model, operation).inc(texts)
        self._model_seconds.labels(model, operation).inc(seconds)

    def record_refused_connection(self, reason: str) -> None:
        """Count a connection that was closed."""
        self._refused.labels(reason).inc()

    def record_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request and its latency."""
        self._requests.labels(method, path, str(status)).inc()
        self._latency.labels(path).observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return bytes(generate_latest(self._registry))


class MetricsMiddleware:
    """ASGI middleware that counts and times every request, and logs it if `access_log`.

    Prometheus's client counts no requests, and uvicorn's log has the query, and with it texts that a client chose.
    Only `paths` get labels of their own.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], access_log: bool) -> None:
        self.app = app
        self._metrics, self._paths, self._access_log = metrics, paths, access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, sent_bytes = time.perf_counter(), 0, 0

        async def counting_send(message: Message) -> None:
            nonlocal status, sent_bytes
            status = message.get("status", status)
            sent_bytes += len(message.get("body", b""))
            await send(message)

        self._metrics.in_progress.inc()
        try:
            await self.app(scope, receive, counting_send)
        finally:
            self._metrics.in_progress.dec()
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in METHODS else OTHER
            path = scope["path"] if scope["path"] in self._paths else OTHER
            self._metrics.record_request(method, path, status, seconds)
            if self._access_log:
                client = (scope.get("client") or ("-",))[0]
                now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                log.info(
                    "%s %s %s %s %d %d bytes %.1f ms", now, client, method, path, status, sent_bytes, 1000 * seconds
                )
