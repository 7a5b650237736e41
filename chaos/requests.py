"""Hostile requests against a server: what is no HTTP, what is slow, what lies, what is huge, what has no token.

No answer may be a fault (5xx), nothing may hang, the server says no traceback, answers as before afterwards, keeps its
memory, and ends within five seconds of being told to, whatever it is at.
"""

from __future__ import annotations

import dataclasses
import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from chaos.harness import Case
from chaos.hostile import (
    BODIES,
    BODY,
    FIELD_LINES,
    FIELDS,
    FRAMES,
    HEALTH,
    HOSTS,
    LONG,
    METHODS,
    ORIGINS,
    ROUTES,
    STARTS,
    TARGETS,
    TEXT,
    VALUES,
    tables,
)
from chaos.served import HOST, Server, end, fork, start, wrong

TOKEN = "chaos-has-a-token"
JSON = "Content-Type: application/json"


@contextmanager
def suite(work: Path, seed: int) -> Iterator[list[Case]]:
    """The cases, and two servers for them: one that answers all, one that asks for a token."""
    model, draw = _model(work, seed), random.Random(seed)
    (work / "open").mkdir()
    (work / "locked").mkdir()
    one = start(model, work / "open", "--access-log")
    locked = start(model, work / "locked", token=TOKEN)
    try:
        yield [
            *_http(one, draw),
            *_lengths(one),
            *_slow(one),
            *_paths(one),
            *_hosts(one),
            *_fields(one),
            *_options(one),
            *_queries(one),
            *_tables(one, draw),
            *_crowds(one, draw),
            *_tokens(locked),
            *_ends(model),
        ]
    finally:
        for server in (one, locked):
            server.process.terminate()
            server.process.wait(10)


def _model(work: Path, seed: int) -> Path:
    from vmask import TextClassifier

    good, bad = ("lovely", "superb", "charming"), ("awful", "dreadful", "dull")
    texts = [f"a {word} room with a view of {i}" for i in range(20) for word in (*good, *bad)]
    labels = [label for _ in range(20) for label in ["pos"] * 3 + ["neg"] * 3]
    made = TextClassifier(embeddings="random", epochs=2, model__filters=8, seed=seed).fit(texts, labels)
    return made.save(work / "model")


def _case(server: Server, name: str, attack: Callable[[], str | None], seconds: float = 40.0) -> Case:
    """An attack, after which the server must be as before."""
    return Case(name, lambda folder: attack() or server.wrong(), seconds)


def _raw(server: Server, name: str, content: bytes, allowed: tuple[int, ...] = (), close: bool = True) -> Case:
    return _case(server, name, lambda: wrong(server.send(content, close=close), allowed))


def _ask(
    server: Server, name: str, path: str, body: bytes | None = None, *headers: str, allowed: tuple[int, ...] = ()
) -> Case:
    method = "GET" if body is None else "POST"
    return _case(server, name, lambda: wrong([server.ask(method, path, body, *headers)], allowed))


# HTTP itself --------------------------------------------------------------------------------------------


def _http(server: Server, draw: random.Random) -> Iterator[Case]:
    for name, content in STARTS.items():
        yield _raw(server, f"start:{name}", content, close=False)
    for name, line in FIELD_LINES.items():
        body = b'{"texts": ["a film"]}'
        head = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + line
        yield _raw(server, f"header:{name}", head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    for method in METHODS:
        for route in ROUTES:
            line = f"{method} {route} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
            yield _raw(server, f"method:{method[:9]} {route}", line.encode(), close=False)
    for number in range(40):
        yield _raw(server, f"noise:{number}", draw.randbytes(draw.choice((10, 1000, 100_000))))
        broken = bytearray(
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 20\r\n\r\n" + b'{"texts": ["a film"]}'
        )
        for _ in range(draw.randint(1, 6)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        yield _raw(server, f"flipped:{number}", bytes(broken))


def _lengths(server: Server) -> Iterator[Case]:
    for name, (line, body) in FRAMES.items():
        for path in ("/api/predict", "/api/table"):
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n".encode()
            yield _raw(server, f"length:{name} {path}", head + line + b"\r\n\r\n" + body)

    def pipelined() -> str | None:
        found = server.send(*[HEALTH.replace(b"close", b"keep-alive")] * 50, HEALTH, close=False)
        return wrong(found, (200,)) or (None if len(found) == 51 else f"{len(found)} of 51 answers")

    yield _case(server, "length:pipelined", pipelined)


def _slow(server: Server) -> Iterator[Case]:
    head = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    unfinished = {
        "nothing": b"",
        "half a line": b"GET /heal",
        "half a header": head,
        "after an answer": HEALTH.replace(b"close", b"keep-alive") + b"GET /",
        "no body": head + b"Content-Length: 100\r\n\r\n",
        "half a body": head + b"Content-Length: 100\r\n\r\n" + BODY,
        "half a chunk": head + b"Transfer-Encoding: chunked\r\n\r\n20\r\nabc",
        "continued": head + b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
    }
    for name, content in unfinished.items():
        yield _raw(server, f"slow:{name}", content, (100, 200, 408), close=False)
    for name, content in {"header": head + b"X: y\r\n" * 500, "body": unfinished["no body"] + b" " * 90}.items():

        def drip(content: bytes = content) -> str | None:
            began = time.monotonic()
            found = server.send(*(bytes([letter]) for letter in content), pause=0.05, close=False)
            late = time.monotonic() - began > 15
            return "it waited for all of it" if late else wrong(found, (408,))

        yield _case(server, f"slow:{name} letter by letter", drip)

    def unread() -> str | None:
        with server.connect() as connection:
            connection.settimeout(0.2)
            with suppress(OSError):
                for _ in range(20_000):
                    connection.sendall(b"GET /main.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            time.sleep(3)
        return None

    yield _case(server, "slow:answers that nobody reads", unread)


# Who asks for what --------------------------------------------------------------------------------------


def _paths(server: Server) -> Iterator[Case]:
    for number, target in enumerate(TARGETS):
        line = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        yield _raw(server, f"path:{number} {target[:40]}", line, (400, 404, 405), close=False)


def _hosts(server: Server) -> Iterator[Case]:
    for number, host in enumerate(HOSTS):
        line = f"GET /api/options HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        yield _raw(server, f"host:{number} {host[:40]}", line, (400, 403), close=False)
    for name, hosts in {"none": b"", "two": b"Host: 127.0.0.1\r\nHost: evil.example\r\n"}.items():
        content = b"GET /api/options HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n"
        yield _raw(server, f"host:{name}", content, (400, 403), close=False)
    for number, origin in enumerate(ORIGINS):
        name = f"origin:{number} {origin[:40]}"
        yield _ask(server, name, "/api/predict", BODY, f"Origin: {origin}", allowed=(403,))


def _tokens(server: Server) -> Iterator[Case]:
    shown = {
        "none": (),
        "empty": ("Authorization:",),
        "bearer": ("Authorization: Bearer",),
        "wrong": ("Authorization: Bearer x",),
        "basic": (f"Authorization: Basic {TOKEN}",),
        "plain": (f"Authorization: {TOKEN}",),
        "cookie": (f"Cookie: token={TOKEN}",),
        "shorter": (f"Authorization: Bearer {TOKEN[:-1]}",),
        "longer": (f"Authorization: Bearer {TOKEN}x",),
        "twice": (f"Authorization: Bearer {TOKEN}",) * 2,
        "first wrong": ("Authorization: Bearer x", f"Authorization: Bearer {TOKEN}"),
        "case": (f"Authorization: Bearer {TOKEN.upper()}",),
        "long": ("Authorization: Bearer " + "x" * 9000,),
        "unicode": ("Authorization: Bearer é\ud800",),
        "other header": (f"X-Authorization: Bearer {TOKEN}",),
    }
    paths = ("/api/options", "/metrics", f"/api/words?token={TOKEN}", "/none")
    for name, headers in shown.items():
        for path in paths:
            yield _ask(server, f"token:{name} {path[:12]}", path, None, *headers, allowed=(400, 401))
    right = f"Authorization: Bearer {TOKEN}"
    yield _ask(server, "token:right", "/api/options", None, right, allowed=(200,))

    def told() -> str | None:
        return "the token is in the log" if TOKEN in server.log.read_text(encoding="utf-8") else None

    yield _case(server, "token:in no log", told)


# What is asked ------------------------------------------------------------------------------------------


def _fields(server: Server) -> Iterator[Case]:
    for route, fields in FIELDS.items():
        for name, body in BODIES.items():
            yield _ask(server, f"body:{route} {name}", f"/api/{route}", body, JSON)
        required, filler = ("edit", "{}") if route == "edit" else ("texts", f"[{json.dumps(TEXT)}]")
        first = f'"{required}": {filler}, '
        for name, value in VALUES.items():
            for field in fields:
                body = f'{{{"" if field == required else first}"{field}": {value}}}'.encode()
                yield _ask(server, f"{route}:{field} {name}", f"/api/{route}", body, JSON)
            body = f'{{{"" if route == "edit" else first}"edit": {{"hide": {value}, "show": {value}}}}}'.encode()
            yield _ask(server, f"{route}:edit of {name}", f"/api/{route}", body, JSON)


def _options(server: Server) -> Iterator[Case]:
    from vmask.serve.page import available_explainers

    values = ("null", "true", "-1", "0", "1", "2147483648", "1e999", "NaN", '"x"', "[]", '"1,2,3"', "9" * 5000)
    for explainer, kind in available_explainers().items():
        for field in (*(f.name for f in dataclasses.fields(kind.Options)), "none"):
            for value in values:
                asked = f'{{"texts": ["{TEXT}"], "explainer": "{explainer}", "options": {{"{field}": {value}}}}}'
                yield _ask(server, f"option:{explainer} {field} {value[:12]}", "/api/explain", asked.encode(), JSON)


def _queries(server: Server) -> Iterator[Case]:
    values = (
        "",
        "-1",
        "0",
        "1.5",
        "999999999999",
        "9" * 5000,
        "NaN",
        "none",
        "\0",
        "\n",
        "é🎬",
        "a" * 9000,
        "[]",
        "../..",
        "%",
    )
    names = {
        "words": ("model", "query", "min_count", "sort", "limit", "offset"),
        "examples": ("model", "show", "label", "predicted", "query", "limit", "offset"),
        "table": ("model", "column", "filename", "format"),
    }
    for route, parameters in names.items():
        for parameter in parameters:
            for number, value in enumerate(values):
                path = f"/api/{route}?{parameter}={quote(value)}"
                body = b"text\na film\n" if route == "table" else None
                yield _ask(server, f"query:{route} {parameter} {number}", path, body)
    for number, query in enumerate(
        (b"\xff=\xfe", b"top=3", b"a" * 60_000, b"&" * 60_000, b"limit=1&limit=2", b"=", b"%zz=%", b"#a")
    ):
        line = b"GET /api/words?" + query + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        yield _raw(server, f"query:raw {number}", line, close=False)


def _tables(server: Server, draw: random.Random) -> Iterator[Case]:
    for name, content in tables(draw).items():
        for kind in ("csv", "tsv", "jsonl"):
            yield _ask(server, f"table:{kind} {name}", f"/api/table?filename=a.{kind}", content)
    for number, filename in enumerate(
        ("a.xlsx", "a.csv.gz", "a.parquet", "a.json", "../../a.csv", "\0.csv", "." * 5000, "a.csv\r\nX: y", "")
    ):
        yield _ask(server, f"filename:{number}", f"/api/table?filename={quote(filename)}", b"text\na\n")


# Many at once, and the end ------------------------------------------------------------------------------


def _crowds(server: Server, draw: random.Random) -> Iterator[Case]:
    head = b"POST /api/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    explain = head + b"Content-Length: %d\r\n\r\n" % len(LONG) + LONG
    table = b"text\n" + b"a lovely room\n" * 9999
    score = b"POST /api/table HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(table) + table
    crowds = {
        "idle": b"",
        "unfinished headers": head,
        "unfinished bodies": head + b"Content-Length: 4000000\r\n\r\n" + b" " * 100_000,
        "explanations": explain,
        "tables": score,
        "health": HEALTH,
    }
    for name, content in crowds.items():

        def crowd(content: bytes = content) -> str | None:
            with ExitStack() as opened:
                for _ in range(100):
                    connection = opened.enter_context(server.connect())
                    connection.settimeout(0.5)
                    with suppress(OSError):
                        connection.sendall(content)
            return _calm(server)

        yield _case(server, f"crowd:{name}", crowd, 60)
    for name, content in {"explain": explain, "table": score}.items():
        for number in range(6):
            part = content[: draw.randrange(1, len(content))] if number else content

            def leave(part: bytes = part) -> str | None:
                for _ in range(10):
                    with server.connect() as connection, suppress(OSError):
                        connection.sendall(part)
                return _calm(server)

            yield _case(server, f"hang up:{name} {number}", leave, 60)


def _calm(server: Server) -> str | None:
    """Wait until the server answers others again, which it must."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        with suppress(OSError):
            found = server.send(HEALTH, close=False)
            if found and found[0].status == 200:
                return wrong([server.post("/api/predict", BODY)], (200,))
        time.sleep(0.1)
    return "nobody is answered any more"


def _ends(model: Path) -> Iterator[Case]:
    table = b"text\n" + b"a lovely room\n" * 9999
    post = b"POST /api/%s HTTP/1.1\r\nHost: " + HOST + b"\r\nContent-Length: %d\r\n\r\n"
    requests = {
        "idle": b"",
        "health": HEALTH,
        "half a header": b"GET / HT",
        "half a body": post % (b"predict", 1000) + b"{",
        "explanation": (post % (b"explain", len(LONG))).replace(
            b"\r\n\r\n", b"\r\nContent-Type: application/json\r\n\r\n"
        )
        + LONG,
        "table": post % (b"table", len(table)) + table,
        "stray quotes": post % (b"table", 3_000_006) + b'text\n"' + b"a\n" * 1_500_000,
        "unread": b"GET /main.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 3000,
    }
    for name, content in requests.items():
        for number in (signal.SIGTERM, signal.SIGINT):

            def run(folder: Path, content: bytes = content, number: int = number) -> str | None:
                server = fork(
                    model, folder, "--explain-seconds", "60", "--body-seconds", "60", "--header-seconds", "60"
                )
                with ExitStack() as opened:
                    for _ in range(5):
                        connection = opened.enter_context(server.connect())
                        connection.settimeout(0.5)
                        with suppress(OSError):
                            connection.sendall(content)
                    time.sleep(0.3)
                    return end(server, number)

            yield Case(f"end:{name} {signal.Signals(number).name}", run)
