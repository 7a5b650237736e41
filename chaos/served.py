"""A server in a process of its own, a client that sends it any bytes, and what must be true of it after each attack."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20.0
"""How long an answer may take; the server's own limits are shorter."""
END_SECONDS = 5.0
"""How long a server may take to end."""
GROWTH_MB = 600
"""How much memory a server may have beyond what it began with."""
HOST = b"127.0.0.1"
LIMITS = ("--header-seconds", "1", "--body-seconds", "1.5", "--explain-seconds", "4", "--examples", "0")
"""Short ones, so that slow clients are given up soon."""


@dataclass(frozen=True)
class Answer:
    """An answer: its status, headers by lower-case name, and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Server:
    """A server that was started.

    Attributes:
        pid: of its process.
        port: where it listens.
        log: file with what it says.
        memory: what it had at the beginning, in MB.
    """

    def __init__(self, pid: int, port: int, log: Path) -> None:
        self.pid, self.port, self.log = pid, port, log
        self.memory = self.megabytes()

    def megabytes(self) -> float:
        """The memory that it has now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def connect(self) -> socket.socket:
        """A connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def send(self, *parts: bytes, pause: float = 0.0, close: bool = True) -> list[Answer]:
        """What the server answers to some bytes, until it hangs up or there is nothing more to come."""
        with self.connect() as connection:
            with suppress(OSError):  # it may hang up at once
                for part in parts:
                    connection.sendall(part)
                    time.sleep(pause)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            return answers(read_all(connection))

    def ask(self, method: str, path: str, body: bytes | None = None, *headers: str) -> Answer:
        """One proper request."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        (answer,) = self.send(
            "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass") + (body or b""), close=False
        )
        return answer

    def post(self, path: str, body: bytes) -> Answer:
        """One proper request with JSON."""
        return self.ask("POST", path, body, "Content-Type: application/json")

    def wrong(self) -> str | None:
        """What is wrong with the server after an attack; None if nothing."""
        health = self.ask("GET", "/healthz")
        if health.status != 200:
            return f"/healthz answers {health.status}"
        if "Traceback" in (said := self.log.read_text(encoding="utf-8", errors="replace")):
            return f"traceback: {said[-1500:]}"
        if (grown := self.megabytes() - self.memory) > GROWTH_MB:
            return f"memory grew by {grown:.0f} MB"
        return None


def read_all(connection: socket.socket) -> bytes:
    """All that comes. A connection that is neither answered nor closed in time hangs, which is an error."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


def answers(content: bytes) -> list[Answer]:
    """The answers in what a server sent, one after the other."""
    found = []
    while content:
        head, end, rest = content.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.[01] (\d{3})(?: .*)?", first)
        if not match or not end:
            raise ValueError(f"no answer of HTTP: {content[:200]!r}")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0 if match[1] == "100" else len(rest)))
        found.append(Answer(int(match[1]), headers, rest[:length]))
        content = rest[length:]
    return found


def wrong(found: list[Answer], allowed: tuple[int, ...] = ()) -> str | None:
    """What is wrong with some answers: a fault, no JSON, no headers, a status that is not allowed; None if nothing."""
    for one in found:
        if one.status == 100:
            continue
        if one.status >= 500:
            return f"answered {one.status}: {one.body[:300]!r}"
        if allowed and one.status not in allowed:
            return f"answered {one.status}, not {allowed}: {one.body[:300]!r}"
        if "content-security-policy" not in one.headers:
            return f"answered {one.status} without the headers"
        if one.status >= 400 and one.body:
            detail = json.loads(one.body)["detail"]
            if len(detail) > 3000:
                return f"{len(detail)} characters of detail"
    return None


def start(model: Path, folder: Path, *words: str, token: str = "") -> Server:
    """A server as users start it, in a new process."""
    log = folder / "server.log"
    command = [sys.executable, "-m", "vmask", "serve", str(model), "--port", "0", "--json", *LIMITS, *words]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stream, env={**os.environ, "VMASK_TOKEN": token}
        )
    ready = process.stdout.readline()
    if not ready:
        raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8')}")
    server = Server(process.pid, json.loads(ready)["address"].rpartition(":")[2], log)
    server.process = process
    return server


def fork(model: Path, folder: Path, *words: str) -> Server:
    """The same in a fork of this process, which has imported everything already."""
    log, (reader, writer) = folder / "server.log", os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.dup2(writer, 1)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
            os.environ.pop("VMASK_TOKEN", None)
            from vmask.cli import main

            code = main(["serve", str(model), "--port", "0", "--json", *LIMITS, *words])
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as stream:
        ready = stream.readline()
    return Server(pid, json.loads(ready)["address"].rpartition(":")[2], log)


def end(server: Server, number: int = signal.SIGTERM) -> str | None:
    """Tell a forked server to stop. What is wrong with how it does; None if nothing."""
    os.kill(server.pid, number)
    began = time.monotonic()
    while time.monotonic() - began < END_SECONDS:
        ended, status = os.waitpid(server.pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            said = server.log.read_text(encoding="utf-8", errors="replace")
            if code != 0 or "Traceback" in said:
                return f"ended with {code}: {said[-1500:]}"
            return None
        time.sleep(0.02)
    return f"still there {END_SECONDS:g} s after signal {number}"
