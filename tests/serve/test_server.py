"""The server as users start it: a port, a process, signals. Tests with a real socket are slow ones."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from serve.helpers import TEXT, WAIT
from vmask.errors import ConfigError
from vmask.serve.config import is_loopback
from vmask.serve.server import bind, exit_on_sigterm, local_address, network_address

pytestmark = pytest.mark.full


def test_a_port_that_is_taken_is_said_with_the_way_out():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Port {port} of 127.0.0.1 is taken. Choose another with --port"):
            bind("127.0.0.1", port)
    with bind("127.0.0.1", port) as again:  # a port that was just given up is free
        assert local_address(again) == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("host", "message"),
    [("203.0.113.7", "is no address of this machine"), ("no such host", "is no address"), ("a" * 300, "is no address")],
)
def test_an_address_that_is_none_is_said(host, message, monkeypatch):
    if " " in host:

        def unknown(*_args, **_named):
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigError, match=message):
        bind(host, 0)


def test_a_port_that_needs_rights_is_said(monkeypatch):
    def refuse(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ConfigError, match=r"needs more rights\. Choose one above 1023"):
        bind("127.0.0.1", 80)


def test_addresses_for_a_browser():
    with bind("0.0.0.0", 0) as everywhere:
        assert local_address(everywhere).startswith("http://127.0.0.1:")
    with contextlib.suppress(ConfigError), bind("::1", 0) as six:  # not every machine has it
        assert local_address(six).startswith("http://[::1]:")
    with bind("127.0.0.1", 0) as loopback:
        assert network_address(loopback, "127.0.0.1") is None
        assert network_address(loopback, "LOCALHOST") is None
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "LocalHost", "127.9.9.9")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.7", "example.org")] == [False] * 4


def test_the_address_for_other_machines_is_the_bound_name_or_that_of_this_machine(monkeypatch):
    with bind("127.0.0.1", 0) as listener:  # a name that leads to some address of this machine
        port = listener.getsockname()[1]
        assert network_address(listener, "box.example") == f"http://box.example:{port}"
    with bind("0.0.0.0", 0) as everywhere:
        port = everywhere.getsockname()[1]
        for address, expected in (("192.168.1.7", f"http://192.168.1.7:{port}"), (None, None)):
            monkeypatch.setattr("vmask.serve.server._own_address", lambda address=address: address)
            assert network_address(everywhere, "0.0.0.0") == expected


def test_without_a_network_this_machine_has_no_address_for_others(monkeypatch):
    def unreachable(self, address):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    with bind("0.0.0.0", 0) as everywhere:
        assert network_address(everywhere, "0.0.0.0") is None


class Running:
    """A server in a process of its own."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vmask", "serve", *map(str, words), "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.ready = json.loads(self.process.stdout.readline() or self.process.stderr.read())
        self.port = int(self.ready["address"].rpartition(":")[2])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)

    def ask(self, method, path, body=None):
        content = None if body is None else json.dumps(body)
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=WAIT)
        return self.process.returncode, out, err


@contextlib.contextmanager
def started(*words):
    one = Running(*words)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture(scope="module")
def running(model_folder):
    """A server that tests share; it takes little and lets nobody wait."""
    with started(model_folder, "--max-body-bytes", "100000", "--max-queue", "0") as one:
        yield one


LONG = {"texts": [" ".join([TEXT] * 30)] * 16, "explainer": "lime", "options": {"samples": 20_000}}


@pytest.mark.slow
def test_a_server_answers_and_ends_at_control_c_with_an_explanation_in_progress(model_folder):
    with started(model_folder, model_folder) as running:
        assert running.ready["models"] == ["cnn", "cnn-2"]
        assert running.ready["docs"] == f"{running.ready['address']}/docs"
        status, found = running.ask("POST", "/api/predict", {"texts": [TEXT]})
        assert (status, found["labels"]) == (200, ["neg", "pos"])
        answers = []

        def explain():
            try:
                answers.append(running.ask("POST", "/api/explain", LONG)[0])
            except (OSError, http.client.HTTPException):
                answers.append("hung up")

        waiting = threading.Thread(target=explain)
        waiting.start()
        with contextlib.closing(running.connect()) as idle:  # a browser keeps connections open
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            time.sleep(1)
            assert not answers
            code, _, err = running.end()  # the explanation would have taken longer than this waits
        waiting.join(WAIT)
        assert answers in ([410], ["hung up"])
        assert code == 0
        assert err.splitlines()[-1] == "stopped"
        assert "Traceback" not in err


@pytest.mark.slow
def test_an_idle_server_ends_cleanly_when_it_is_told_to(model_folder):
    with started(model_folder) as running:
        assert running.ask("GET", "/healthz")[0] == 200
        code, _, err = running.end(signal.SIGTERM)
        assert code == 0
        assert err.splitlines()[-1] == "stopped"
        with pytest.raises(ConnectionRefusedError):
            running.ask("GET", "/healthz")


@pytest.mark.slow
def test_a_client_that_hangs_up_frees_the_worker(running):
    gone = running.connect()
    gone.request("POST", "/api/explain", json.dumps(LONG), {"Content-Type": "application/json"})
    time.sleep(2)
    quick = {"texts": [TEXT], "explainer": "lime", "options": {"samples": 50}}
    assert running.ask("POST", "/api/explain", quick)[0] == 429
    assert running.ask("POST", "/api/predict", {"texts": [TEXT]})[0] == 200
    gone.close()
    for _ in range(10 * WAIT):
        if running.ask("POST", "/api/explain", quick)[0] == 200:
            return
        time.sleep(0.1)
    pytest.fail("the worker is still busy with an explanation that nobody wants")


@pytest.mark.slow
def test_an_endless_body_is_cut_off(running):
    sent = 0
    with socket.create_connection(("127.0.0.1", running.port), timeout=WAIT) as connection:
        connection.sendall(
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 28:
                connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                answer += part
    assert sent < 1 << 26  # what fits into the buffers between, not all that was to come
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert running.ask("GET", "/healthz")[0] == 200


@pytest.mark.slow
def test_a_body_that_is_announced_too_large_is_answered_before_it_comes(running):
    with socket.create_connection(("127.0.0.1", running.port), timeout=WAIT) as connection:
        connection.sendall(
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the limit of 100,000 bytes" in answer
    assert b"content-security-policy" in answer.lower()


@pytest.mark.slow
def test_no_other_file_is_served_over_a_socket(running):
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2f..%2fconfig.py", "//etc/passwd", "/main.js/../app.py"):
        with socket.create_connection(("127.0.0.1", running.port), timeout=WAIT) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 404"), path


@pytest.mark.slow
def test_a_process_that_cannot_end_ends_all_the_same(model_folder):
    """A loop of events that never comes back is left to itself after some seconds."""
    program = (
        "import signal, socket, sys, threading, time\n"
        "from vmask.serve import server\n"
        "from vmask.serve.app import create_app\n"
        "from vmask.serve.config import ServeConfig\n"
        "app = create_app([sys.argv[1]], settings=ServeConfig(examples=0), device='cpu')\n"
        "server.EXIT_SECONDS = 0.5\n"
        "def ready():\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    print('told', flush=True)\n"
        "    time.sleep(10_000)\n"
        "server.run_app(app, server.bind('127.0.0.1', 0), ready)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(model_folder)], capture_output=True, timeout=WAIT)
    assert (done.returncode, done.stdout) == (0, b"told\n"), done.stderr


@pytest.mark.slow
def test_a_table_in_progress_does_not_keep_the_server(model_folder):
    with started(model_folder, "--body-seconds", "600", "--header-seconds", "600") as running:
        table = b"text\n" + b"a lovely film about a small town\n" * 9999
        head = f"POST /api/table HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(table)}\r\n\r\n".encode()
        with contextlib.ExitStack() as opened:
            for content in (head + table, head + table[:100], b"GET / HT"):
                connection = opened.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=WAIT))
                connection.sendall(content)
            time.sleep(0.5)
            code, _, err = running.end(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_token_of_the_environment_is_asked_for(model_folder, monkeypatch):
    monkeypatch.setenv("VMASK_TOKEN", "of-this-test")
    with started(model_folder, "--access-log", "--quiet") as running:
        assert running.ask("GET", "/healthz")[0] == 200
        assert running.ask("GET", "/api/options")[0] == 401
        _, _, err = running.end(signal.SIGTERM)
    assert [line.split()[2:5] for line in err.splitlines()] == [
        ["GET", "/healthz", "200"],
        ["GET", "/api/options", "401"],
    ]
    assert "of-this-test" not in err


def test_sigterm_while_models_are_loaded_ends_with_code_0():
    previous = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as left:
        terminated_while_loading()
    assert left.value.code == 0
    assert signal.getsignal(signal.SIGTERM) == previous


def terminated_while_loading():
    with exit_on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)  # the handler runs before this is over
