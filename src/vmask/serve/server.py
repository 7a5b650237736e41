"""Run the app: take the port before any work is done, serve until told to stop, then stop at once."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import torch
import uvicorn
from fastapi import FastAPI

from vmask.errors import ConfigError
from vmask.serve.protocol import protocol_for

BACKLOG = 128
LAST_SECONDS = 0.5
"""How long each thread has to end before the process does."""
END_SECONDS = 4.0
"""How long the process has to end once it is told to, whatever it is at."""
SWITCH_SECONDS = 0.0005
"""How long a thread may compute in Python while another waits: a prediction waits often while an explanation runs."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        ConfigError: where that cannot be, with the fix.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"host is {host!r}, which is no address. Use --host 127.0.0.1.") from None
    family, kind, _, _, address = found[0]
    listening = socket.socket(family, kind)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just given up is free
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(_why_not(host, port, error)) from None
    return listening


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken. Choose another with --port, or --port 0 for one that is free."
    if error.errno == errno.EACCES:
        return f"Port {port} of {host} needs more rights. Choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Use --host 127.0.0.1."
    return f"The server cannot listen at {host}, port {port}: {error.strerror or error}. Choose another with --port."


def address_of(listening: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Ends all work as soon as it is told to stop, so that nobody waits for an explanation in progress."""

    def __init__(self, config: uvicorn.Config, stop_work: Callable[[], object], ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop_work, self._ready = stop_work, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stop_work()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in uvicorn, but a signal is the ordinary end: it is not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
        else:
            watchdog = threading.Timer(END_SECONDS, _leave)
            watchdog.daemon = True
            watchdog.start()
            atexit.register(_leave)  # taking all modules apart would take seconds on a busy machine
        self.should_exit = True


def _leave() -> None:
    """End the process. A thread may compute something that cannot be interrupted; it holds nothing to be saved."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


@contextlib.contextmanager
def _sharing() -> Iterator[None]:
    """Let predictions and explanations compute side by side: half of the cores each, and turns in Python are short."""
    interval, cores = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(SWITCH_SECONDS)
    torch.set_num_threads(max(cores // 2, 1))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        torch.set_num_threads(cores)


def run_app(app: FastAPI, listening: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        app: what `create_app` made.
        listening: what `bind` gave.
        ready: called when requests are answered.
    """
    config = uvicorn.Config(
        app,
        http=protocol_for(app.state.api.settings, app.state.metrics.refused),
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with _sharing():
        _Server(config, app.state.api.close, ready).run(sockets=[listening])
    if not app.state.api.close(LAST_SECONDS):
        _leave()
