"""Numbers for Prometheus and the access log: both without a text."""

from __future__ import annotations

import logging
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serve.helpers import SLOW, TEXT, WAIT

SECRET = "zyzzyva"


def numbers(client):
    """Every number by its name and labels."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert SECRET not in answer.text
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(answer.text)
        for one in family.samples
    }


def test_requests_are_counted_and_timed(client):
    client.post("/api/predict", json={"texts": [TEXT, SECRET]})
    client.post("/api/predict", json={"texts": 3})
    client.get(f"/{SECRET}?query={SECRET}")
    client.request(SECRET.upper(), "/healthz")
    found = numbers(client)
    assert found["vmask_requests_total", "POST", "/api/predict", "200"] == 1
    assert found["vmask_requests_total", "POST", "/api/predict", "422"] == 1
    assert found["vmask_requests_total", "GET", "other", "404"] == 1
    assert found["vmask_requests_total", "other", "/healthz", "405"] == 1
    assert found["vmask_request_seconds_count", "/api/predict"] == 2
    assert 0 < found["vmask_request_seconds_sum", "/api/predict"] < WAIT
    assert found["vmask_requests_in_progress",] == 1  # this one
    assert found["vmask_faults_total",] == 0


def test_models_and_what_they_did(client, models):
    before = numbers(client)
    client.post("/api/predict", json={"texts": [TEXT] * 3})
    client.post("/api/explain", json=SLOW)
    client.post("/api/table", content=b"text\na\nb\n")
    found = numbers(client)
    name = models[0].name
    assert found["vmask_texts_total", name, "predict"] - before.get(("vmask_texts_total", name, "predict"), 0) == 5
    assert found["vmask_texts_total", name, "explain"] == 1
    assert found["vmask_model_seconds_total", name, "explain"] > 0
    assert {key[3] for key in found if key[0] == "vmask_model_info"} == {one.name for one in models}
    assert {key[1] for key in found if key[0] == "vmask_queue_length"} == {"predict", "explain", "table", "edit"}


def test_the_queue_is_seen(gated, pool):
    client, gate = gated()
    waiting = [pool.submit(client.post, "/api/explain", json=SLOW) for _ in range(3)]
    assert gate.entered.wait(WAIT)
    while numbers(client)["vmask_queue_length", "explain"] < 2:
        pass
    gate.open.set()
    assert [one.result(WAIT).status_code for one in waiting] == [200] * 3
    assert numbers(client)["vmask_queue_length", "explain"] == 0


@pytest.fixture
def pool():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as made:
        yield made


def test_a_fault_is_counted(client, monkeypatch, caplog):
    monkeypatch.setattr(client.app.state.api, "options", lambda: 1 / 0)
    assert client.get("/api/options").status_code == 500
    assert numbers(client)["vmask_faults_total",] == 1
    caplog.clear()


def test_the_log_has_a_line_a_request_and_no_text(make_client, caplog):
    caplog.set_level(logging.INFO, "vmask.access")
    client = make_client(access_log=True, token=SECRET)
    client.headers["authorization"] = f"Bearer {SECRET}"
    client.post("/api/predict", json={"texts": [SECRET]})
    client.get("/api/words", params={"query": SECRET, "token": SECRET})
    client.get(f"/{SECRET}%0a2026 forged")
    lines = [record.getMessage() for record in caplog.records if record.name == "vmask.access"]
    shape = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ testclient (\w+) (\S+) (\d+) \d+ bytes [\d.]+ ms"
    assert [re.fullmatch(shape, line).groups() for line in lines] == [
        ("POST", "/api/predict", "200"),
        ("GET", "/api/words", "422"),  # there is no parameter of that name
        ("GET", "other", "404"),
    ]


def test_there_is_no_log_unless_it_is_asked_for(client, caplog):
    caplog.set_level(logging.INFO, "vmask.access")
    client.get("/healthz")
    assert not [record for record in caplog.records if record.name == "vmask.access"]
