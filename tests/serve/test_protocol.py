"""Connections that are too many, too slow or no HTTP, over a socket of the file system to a server in this process."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

import pytest
import uvicorn

from serve.helpers import SLOW, WAIT, Gate
from vmask.serve.app import build_app
from vmask.serve.config import ServeConfig
from vmask.serve.protocol import limited_protocol

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LIMITS = {"header_seconds": 0.3, "body_seconds": 0.5, "max_client_connections": 5}


class Server:
    """A server in a thread."""

    def __init__(self, models, folder, **limits):
        settings = ServeConfig(examples=0, **limits)
        self.app = build_app(models, settings)
        self.protocol = limited_protocol(settings, self.app.state.metrics.record_refused_connection)
        self._path = str(folder / "socket")
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(self._path)
        self._listening.listen()
        config = uvicorn.Config(self.app, http=self.protocol, log_level="error", ws="none", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))
        self._thread.start()
        until(lambda: self._server.started)

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(WAIT)
        connection.connect(self._path)
        return connection

    def send(self, content):
        with self.connect() as connection:
            with contextlib.suppress(ConnectionError):  # it may have hung up already
                connection.sendall(content)
            return rest(connection)

    def stop(self):
        self._server.should_exit = True
        self._thread.join()


def until(true):
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def rest(connection):
    """What comes until the other side hangs up."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            found += part
    return found


@pytest.fixture(scope="module")
def server(models, tmp_path_factory):
    made = Server(models[:1], tmp_path_factory.mktemp("s"), **LIMITS)
    yield made
    made.stop()


def test_an_unfinished_header_is_given_up(server):
    assert server.send(HEAD).startswith(b"HTTP/1.1 408 ")
    assert server.send(b"") == b""  # nothing was asked, nothing is said
    until(lambda: not server.protocol.clients)


def test_a_header_that_comes_letter_by_letter_is_given_up(server):
    with server.connect() as connection, contextlib.suppress(ConnectionError):
        for letter in HEAD * 100:
            connection.sendall(bytes([letter]))
            time.sleep(0.02)
        pytest.fail("it was read to the end")


def test_a_second_request_has_the_time_of_the_first(server):
    with server.connect() as connection:
        connection.sendall(HEAD + b"\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(HEAD)
        assert b"HTTP/1.1 408 " in rest(connection)


@pytest.mark.full
def test_an_unfinished_body_is_given_up(server):
    for head in (b"Content-Length: 100\r\n\r\nx", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
        assert server.send(HEAD.replace(b"GET", b"POST") + head).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("slow", [HEAD, HEAD.replace(b"GET", b"POST") + b"Content-Length: 9\r\n\r\nx"])
def test_connections_that_ask_nothing_make_room_for_those_that_do(models, tmp_path, slow):
    server = Server(models[:1], tmp_path, header_seconds=WAIT, body_seconds=WAIT, max_client_connections=5)
    with contextlib.ExitStack() as opened:
        opened.callback(server.stop)
        connections = [opened.enter_context(server.connect()) for _ in range(5)]
        for connection in connections:
            connection.sendall(slow)
            time.sleep(0.05)
        for _ in range(3):
            assert server.send(HEAD + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        refused = rest(connections[0])
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"5 connections from your address, the limit" in refused
        assert b"content-security-policy" in refused.lower()


def test_an_address_has_so_many_requests_and_no_more(models, tmp_path):
    server = Server(models[:1], tmp_path, max_client_connections=2)
    served = server.app.state.api.models[0]
    served.predictor = gate = Gate(served.predictor)
    body = json.dumps(SLOW).encode()
    head = HEAD.replace(b"GET /healthz", b"POST /api/explain") + b"Content-Type: application/json\r\n"
    try:
        with contextlib.ExitStack() as opened:
            for _ in range(2):
                connection = opened.enter_context(server.connect())
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert gate.entered.wait(WAIT)
            until(lambda: len(server.app.state.api._jobs) == 1)
            assert server.send(HEAD + b"\r\n").startswith(b"HTTP/1.1 429 ")
            gate.open.set()
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    finally:
        gate.open.set()
        served.predictor = gate._predictor
        server.stop()


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000,
        HEAD.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    ],
)
def test_what_is_no_http_is_told_so(server, content, caplog):
    answer = server.send(content)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


def test_an_answer_that_nobody_takes_is_given_up(server):
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.sendall(b"GET /main.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200)
        until(lambda: server.protocol.clients[""] == 1)
        until(lambda: not server.protocol.clients)


def test_refusals_are_counted(server):
    server.send(b"nonsense\r\n\r\n")
    answer = server.send(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").decode()
    assert 'vmask_refused_connections_total{why="malformed"}' in answer


@pytest.mark.full
def test_a_server_that_ends_waits_for_no_client_that_does_not_read(models, tmp_path, caplog):
    server = Server(models[:1], tmp_path, body_seconds=WAIT)
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.settimeout(0.5)
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /main.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 5000)
        server.stop()
    assert not caplog.records


def test_a_server_that_ends_waits_for_no_slow_client(models, tmp_path, caplog):
    server = Server(models[:1], tmp_path, header_seconds=WAIT, body_seconds=WAIT)
    with server.connect() as header, server.connect() as body:
        header.sendall(HEAD)
        body.sendall(HEAD.replace(b"GET", b"POST") + b"Content-Length: 100\r\n\r\nx")
        until(lambda: server.protocol.clients[""] == 2)
        time.sleep(0.2)
        server.stop()
        assert (rest(header), rest(body)) == (b"", b"")
    assert not caplog.records
