"""Who may ask, how much, and the headers of every answer."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

import vmask.serve
from serve.helpers import TEXT, Call
from vmask.serve.config import ServeConfig
from vmask.serve.page import load_static_files
from vmask.serve.security import HEADERS, SecurityMiddleware, with_headers

STATIC = Path(vmask.serve.__file__).parent / "static"
FILES = {"/" if path.name == "index.html" else f"/{path.name}": path for path in STATIC.iterdir()}
PUBLIC = [*FILES, "/docs", "/openapi.json", "/healthz"]

ANSWERS = [
    ("HEAD", "/", 200),
    *(("GET", path, 200) for path in FILES),
    ("GET", "/docs", 200),
    ("GET", "/openapi.json", 200),
    ("GET", "/healthz", 200),
    ("GET", "/metrics", 200),
    ("GET", "/api/options", 200),
    ("GET", "/api/words", 200),
    ("GET", "/api/examples", 200),
    ("GET", "/api/words?limit=x", 422),
    ("POST", "/api/predict", 422),
    ("POST", "/api/table", 422),
    ("GET", "/none", 404),
    ("GET", "/api/words?model=none", 404),
    ("DELETE", "/api/predict", 405),
    ("OPTIONS", "/api/predict", 405),
    ("PATCH", "/", 405),
]


@pytest.mark.parametrize(("method", "path", "status"), ANSWERS)
def test_every_answer_has_the_headers(client, method, path, status):
    answer = client.request(method, path)
    assert answer.status_code == status, answer.text
    check_headers(answer.headers, page=path.partition("?")[0] in (*FILES, "/docs") and status == 200)


def check_headers(headers, page=False):
    for name, value in HEADERS.items():
        assert headers[name.lower()] == ("no-cache" if page and name == "Cache-Control" else value)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_refusals_of_the_guard_have_them_too(make_client):
    client = make_client(max_body_bytes=100)
    for answer, status in (
        (client.post("/api/predict", content=b"x" * 101), 413),
        (client.get("/healthz", headers={"host": "evil.example"}), 403),
        (client.post("/api/predict", headers={"origin": "http://evil.example"}), 403),
    ):
        assert answer.status_code == status
        assert answer.headers["connection"] == "close"
        assert answer.headers["content-type"] == "application/json"
        check_headers(answer.headers)


def test_headers_that_an_answer_sets_itself_stay():
    found = dict(with_headers([(b"cache-control", b"no-cache")]))
    assert found[b"cache-control"] == b"no-cache"
    assert b"Cache-Control" not in found
    assert len(found) == len(HEADERS)


OURS = ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:1", "127.8.9.1", "[::1]", "[::1]:8000"]
OTHERS = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:8000",
    "192.168.1.7",
    "8.8.8.8",
    "[2001:db8::1]",
    "",
    "user@127.0.0.1",
    "127.0.0.1/x",
    "127.0.0.1:x",
    "[::1",
    "0.0.0.0",
    "lo\tcalhost",
    "127.0.0.1 evil.example",
]


@pytest.mark.parametrize("host", OURS)
def test_names_of_this_machine_are_answered(client, host):
    assert client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", OTHERS)
def test_other_names_are_not(client, host):
    answer = client.get("/healthz", headers={"host": host})
    assert answer.status_code == 403
    assert "--allow-host NAME" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("bound", "allowed", "host", "status"),
    [
        ("192.168.1.7", None, "192.168.1.7:8000", 200),
        ("192.168.1.7", None, "192.168.1.8", 403),
        ("box.local", None, "box.local", 200),
        ("0.0.0.0", None, "192.168.1.7:8000", 200),  # an address, which no page of another can take over
        ("::", None, "[2001:db8::1]", 200),
        ("0.0.0.0", None, "evil.example", 403),
        ("0.0.0.0", "demo.example, other.example", "DEMO.example:80", 200),
        ("127.0.0.1", "demo.example", "other.example", 403),
    ],
)
def test_the_bound_address_and_allowed_names_are_answered(make_client, bound, allowed, host, status):
    client = make_client(host=bound, allow_host=allowed, insecure=True)
    assert client.get("/healthz", headers={"host": host}).status_code == status


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1", "evil.example"], ["evil.example", "127.0.0.1"]])
def test_none_or_two_names_are_refused(client, hosts):
    call = Call("/healthz", method="GET")
    call.scope["headers"] = [(b"host", host.encode()) for host in hosts]
    asyncio.run(call.made(client.app))
    assert call.status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://127.0.0.1:8000", 200),
        ("https://127.0.0.1:8000", 200),  # a proxy that speaks TLS
        ("http://127.0.0.1", 403),
        ("http://127.0.0.1:3000", 403),
        ("http://localhost:8000", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
        ("http://[", 403),
    ],
)
def test_pages_of_others_may_not_post(client, origin, status):
    headers = {"host": "127.0.0.1:8000"} | ({} if origin is None else {"origin": origin})
    assert client.post("/api/predict", json={"texts": [TEXT]}, headers=headers).status_code == status
    assert client.get("/healthz", headers=headers).status_code == 200  # the browser keeps the answer from them


def test_pages_of_others_may_not_read_data(client):
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert client.get("/api/words", headers=headers).status_code == 403
        assert client.get("/", headers=headers).status_code == 200  # a link to the page
    assert client.get("/api/words", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_a_request_of_two_lengths_is_refused(client):
    call = Call("/api/predict", b"{}", headers=[("content-length", "2"), ("transfer-encoding", "chunked")])
    asyncio.run(call.made(client.app))
    assert call.status == 400
    assert call.headers["connection"] == "close"


def test_the_default_port_may_be_left_out(client):
    asked = {"json": {"texts": [TEXT]}}
    assert client.post("/api/predict", **asked, headers={"origin": "http://127.0.0.1:80"}).status_code == 200


def test_pages_of_allowed_names_may(make_client):
    client = make_client(allow_host="demo.example")
    headers = {"host": "127.0.0.1", "origin": "https://demo.example"}
    assert client.post("/api/predict", json={"texts": [TEXT]}, headers=headers).status_code == 200


def test_a_body_above_the_limit_is_refused_by_its_length_alone(make_client):
    client = make_client(max_body_bytes=1000)
    call = Call("/api/predict", [b"x" * 500] * 10, headers=[("content-length", "5000")])
    asyncio.run(call.made(client.app))
    assert (call.status, call.taken) == (413, 0)
    assert "the limit of 1,000 bytes" in call.json["detail"]
    check_headers(call.headers)


@pytest.mark.parametrize("length", [None, "500", "-1", "x", "9" * 5000])
def test_a_body_that_goes_on_beyond_the_limit_is_read_no_further(make_client, length):
    client = make_client(max_body_bytes=1000)
    call = Call("/api/predict", [b"x" * 500] * 10, headers=[("content-length", length)] if length else [])
    asyncio.run(call.made(client.app))
    assert call.status == 413
    assert call.taken == (0 if length == "9" * 5000 else 3)


def test_a_body_of_just_the_limit_is_read(make_client):
    body = b'{"texts": ["a"]}'
    client = make_client(max_body_bytes=len(body))
    asyncio.run((call := Call("/api/predict", [body[:5], body[5:]])).made(client.app))
    assert call.status == 200
    asyncio.run((call := Call("/api/predict", [body, b" "])).made(client.app))
    assert call.status == 413


def test_a_body_that_never_comes_is_given_up(make_client):
    client = make_client(body_seconds=0.01)
    call = Call("/api/predict", [])
    asyncio.run(call.made(client.app))
    assert call.status == 408


def test_a_client_that_goes_away_while_it_sends_is_no_error(client, caplog):
    call = Call("/api/predict", [])
    call.gone.set()
    asyncio.run(call.made(client.app))
    assert call.status == 499
    assert not caplog.records


def test_web_sockets_are_refused():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(SecurityMiddleware(None, ServeConfig())({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


TRAVERSALS = [
    "/static/index.html",
    "/static/main.js",
    "/index.html",
    "/app.js",
    "/../app.py",
    "/..%2fapp.py",
    "/%2e%2e/%2e%2e/pyproject.toml",
    "/..\\app.py",
    "/main.js/../app.py",
    "/main.js%00.html",
    "/main.js/",
    "//app.py",
    "/app.py",
    "/.git/config",
    "/etc/passwd",
    "//etc/passwd",
    "/file:///etc/passwd",
    "/%2fetc%2fpasswd",
    "/serve/static/main.js",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_other_file_is_served(client, path):
    for raw in {path, path.replace("%2e", ".").replace("%2f", "/")}:
        call = Call(raw, method="GET")
        asyncio.run(call.made(client.app))
        assert call.status == 404, raw


def test_there_are_no_other_routes(client):
    api = client.get("/openapi.json").json()["paths"]
    assert {route.path for route in client.app.routes} == {*FILES, *api, "/docs", "/openapi.json"}


@pytest.mark.parametrize("path", FILES)
def test_every_file_of_the_page_is_served_as_it_is(client, path):
    answer = client.get(path)
    assert answer.content == FILES[path].read_bytes()
    content_type = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}[FILES[path].suffix]
    assert answer.headers["content-type"] == f"{content_type}; charset=utf-8"
    assert client.head(path).content == b""


def test_files_of_the_page_are_read_once(client, monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    assert client.get("/main.js").status_code == 200


def test_other_files_in_the_folder_are_not_served(tmp_path, monkeypatch):
    static = tmp_path / "static"
    (static / "folder.js").mkdir(parents=True)
    for name in ("index.html", "page.js", "page.js.orig", ".hidden", "notes.txt", "module.py"):
        (static / name).write_bytes(b"content")
    monkeypatch.setattr("vmask.serve.page.files", lambda package: tmp_path)
    assert {*load_static_files()} == {"/", "/page.js"}


WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.copyfile")
written: list[str] = []
watching = False


def watch(event, arguments):
    """An audit hook; it cannot be taken off again, so it listens when it is told to."""
    if watching and ((event == "open" and (arguments[2] or 0) & WRITES) or event in CHANGES):
        written.append(f"{event} {arguments[0]}")


def test_nothing_is_written_to_disk(client, tmp_path):
    global watching
    sys.addaudithook(watch)
    watching = True
    try:
        (tmp_path / "it-works").touch()
        assert len(written) == 1
        written.clear()
        for method, path, _ in ANSWERS:
            client.request(method, path)
        client.post("/api/predict", json={"texts": [TEXT] * 20})
        for name in ("mask", "lime", "saliency"):
            assert client.post("/api/explain", json={"texts": [TEXT], "explainer": name}).status_code == 200
        assert client.post("/api/table", content=b"text\n" + b"a film\n" * 5000).status_code == 200
    finally:
        watching = False
    here = [line for line in written if not line.endswith((".pyc", os.devnull)) and "__pycache__" not in line]
    assert here == []
    assert Path.cwd().exists()


TOKEN = "a-secret-of-some-length"
GUARDED = ["/api/options", "/api/words", "/api/examples", "/metrics", "/none", "/api/", "/healthz/", "/HEALTHZ"]


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "shown",
    [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer é"],
)
def test_without_the_token_there_is_nothing(shared_client, path, shown):
    headers = {} if shown is None else {"authorization": shown.encode("latin-1")}
    answer = shared_client(token=TOKEN).get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "Authorization: Bearer TOKEN" in answer.json()["detail"]
    assert TOKEN not in answer.text
    check_headers(answer.headers)


def test_with_the_token_there_is_everything(make_client):
    client = make_client(token=TOKEN, headers={"authorization": f"bearer {TOKEN}"})
    assert client.get("/api/options").status_code == 200
    assert TOKEN not in client.get("/api/options").text
    assert client.post("/api/predict", json={"texts": [TEXT]}).status_code == 200
    assert client.post("/api/table", content=b"text\na film\n").status_code == 200
    assert client.get("/none").status_code == 404


def test_a_token_that_is_shown_twice_is_none(make_client):
    call = Call("/api/options", method="GET", headers=[("authorization", f"Bearer {TOKEN}")] * 2)
    asyncio.run(call.made(make_client(token=TOKEN).app))
    assert call.status == 401


def test_a_body_without_the_token_is_not_read(make_client):
    call = Call("/api/predict", [b"x"] * 10)
    asyncio.run(call.made(make_client(token=TOKEN).app))
    assert (call.status, call.taken) == (401, 0)


def test_the_page_and_the_health_are_public_and_say_nothing_of_the_models(make_client, models):
    client = make_client(token=TOKEN)
    for path in PUBLIC:
        answer = client.get(path)
        assert answer.status_code == 200
        for served in models:
            assert served.title not in answer.text
        assert TOKEN not in answer.text


def test_the_comparison_of_tokens_takes_the_same_time(make_client, monkeypatch):
    compared = []
    monkeypatch.setattr("hmac.compare_digest", lambda a, b: compared.append((a, b)) or False)
    assert make_client(token=TOKEN).get("/metrics", headers={"authorization": "Bearer x"}).status_code == 401
    assert compared == [(b"x", TOKEN.encode())]


def test_unfinished_bodies_keep_nobody_out(make_client):
    client = make_client(max_connections=2)

    async def attacked():
        slow = [Call("/api/predict", []) for _ in range(5)]
        tasks = [asyncio.ensure_future(one.made(client.app)) for one in slow]
        await asyncio.sleep(0.05)
        honest = await Call("/api/predict", {"texts": [TEXT]}).made(client.app)
        for one in slow:
            one.gone.set()
        await asyncio.gather(*tasks)
        return honest

    assert asyncio.run(attacked()).status == 200
