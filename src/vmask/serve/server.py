"""Run the app: bind the port before any work is done, serve until a signal, then stop at once."""

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
from vmask.serve.config import is_loopback
from vmask.serve.protocol import limited_protocol

BACKLOG = 128
THREAD_SECONDS = 0.5
"""How long each thread has to end before the process exits."""
EXIT_SECONDS = 4.0
"""How long the process has to shut down after a signal before it exits anyway."""
SWITCH_SECONDS = 0.0005
"""Switch interval of Python's threads: predictions often wait for the interpreter while an explanation runs."""
DOCUMENTATION_ADDRESS = ("192.0.2.1", 9)
"""An address that no machine has (RFC 5737)."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        ConfigError: if that is not possible, with the fix.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"host is {host!r}, which is no address. Use --host 127.0.0.1.") from None
    family, kind, _, _, address = addresses[0]
    listener = socket.socket(family, kind)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just released is free
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(_bind_error(host, port, error)) from None
    return listener


def _bind_error(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken. Choose another with --port, or --port 0 for one that is free."
    if error.errno == errno.EACCES:
        return f"Port {port} of {host} needs more rights. Choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Use --host 127.0.0.1."
    return f"The server cannot listen at {host}, port {port}: {error.strerror or error}. Choose another with --port."


def local_address(listener: socket.socket) -> str:
    """Return the address of the server for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    return _url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)


def network_address(listener: socket.socket, host: str) -> str | None:
    """Return the address of the server for other machines.

    Args:
        listener: the socket.
        host: the name or address that it was bound to.

    Returns:
        The name as it was bound: requests by other names are refused. For a server that listens at every address, the
        one of this machine in its network. None if no other machine can reach the server, or none is known.
    """
    if is_loopback(host):
        return None
    bound, port = listener.getsockname()[:2]
    if bound not in ("0.0.0.0", "::"):
        return _url(host, port)
    address = _own_address()
    return None if address is None else _url(address, port)


def _own_address() -> str | None:
    """Return the address of this machine in its network; None without a network."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(DOCUMENTATION_ADDRESS)  # UDP: it chooses a route, and sends nothing
        address = str(probe.getsockname()[0])
        return None if is_loopback(address) else address
    return None


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Cancels all work before it shuts down; uvicorn would wait for explanations in progress.

    Args:
        config: configuration of uvicorn.
        cancel_work: called when the server shuts down.
        on_ready: called when the server accepts requests.
    """

    def __init__(self, config: uvicorn.Config, cancel_work: Callable[[], object], on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._cancel_work, self._on_ready = cancel_work, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._cancel_work()
        await super().shutdown(sockets)

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        """As in uvicorn, but a signal is not raised again afterwards: it is the normal way to stop the server."""
        return _handle_signals(self._handle_signal, signal.SIGINT, signal.SIGTERM)

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
        else:
            watchdog = threading.Timer(EXIT_SECONDS, _exit_now)
            watchdog.daemon = True
            watchdog.start()
            atexit.register(_exit_now)  # the interpreter's own exit takes seconds on a busy machine
        self.should_exit = True


def _exit_now() -> None:
    """End the process without waiting for threads, whose calls of a model cannot be interrupted. Nothing is lost."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


@contextlib.contextmanager
def _shared_cores() -> Iterator[None]:
    """Let predictions and explanations run side by side: each gets half of the cores, and threads switch often."""
    interval, cores = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(SWITCH_SECONDS)
    torch.set_num_threads(max(cores // 2, 1))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        torch.set_num_threads(cores)


@contextlib.contextmanager
def _handle_signals(handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> Iterator[None]:
    """Handle signals, and restore the handlers afterwards. In other threads than the main one, Python forbids it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)


def exit_on_sigterm() -> contextlib.AbstractContextManager[None]:
    """Let SIGTERM end the process with exit code 0 while models are loaded, as it does once the server runs."""
    return _handle_signals(lambda number, frame: sys.exit(0), signal.SIGTERM)


def run_app(app: FastAPI, listener: socket.socket, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        app: the app, made by `create_app`.
        listener: the socket, made by `bind`.
        on_ready: called when the server accepts requests.
    """
    config = uvicorn.Config(
        app,
        http=limited_protocol(app.state.api.settings, app.state.metrics.record_refused_connection),
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with _shared_cores():
        _Server(config, app.state.api.close, on_ready).run(sockets=[listener])
    if not app.state.api.close(THREAD_SECONDS):
        _exit_now()
