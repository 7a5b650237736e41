"""A queue of long work, with a limit and a way to stop; a server at work: time limits, clients that go away."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from serve.helpers import SLOW, TEXT, WAIT, Call
from vmask.serve.http_errors import RequestTimeout, ShuttingDown, TooManyRequests
from vmask.serve.jobs import JobCancelled, JobQueue, await_result


class Work:
    """Work that begins, and goes on until the test lets it end or it is stopped."""

    def __init__(self):
        self.begun, self.end, self.stopped = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, check):
        self.begun.set()
        try:
            while not self.end.wait(0.001):
                check()
        except JobCancelled:
            self.stopped.set()
            raise
        return "done"


@pytest.fixture
def jobs():
    made = JobQueue(2)
    yield made
    assert made.close(WAIT)


def test_jobs_are_done_one_after_the_other(jobs):
    works = [Work() for _ in range(3)]
    made = [jobs.submit(works[0])]
    assert works[0].begun.wait(WAIT)
    made += [jobs.submit(work) for work in works[1:]]
    assert not made[1].started.done()
    assert not works[1].begun.is_set()
    for work, job in zip(works, made, strict=True):
        work.end.set()
        assert job.result.result(WAIT) == "done"
        assert job.started.done()


def test_a_full_queue_refuses_and_takes_again_when_there_is_room(jobs):
    works = [Work() for _ in range(3)]
    made = [jobs.submit(works[0])]
    assert works[0].begun.wait(WAIT)
    made += [jobs.submit(work) for work in works[1:]]
    with pytest.raises(TooManyRequests, match="2 explanations are waiting already, the limit") as refused:
        jobs.submit(Work())
    assert refused.value.headers["Retry-After"] == "2"
    jobs.cancel(made[2])  # one that waits gives its place up at once
    jobs.submit(works[2])
    for work in works:
        work.end.set()


def test_a_queue_of_none_still_does_one_job():
    jobs, work = JobQueue(0), Work()
    job = jobs.submit(work)
    assert work.begun.wait(WAIT)
    with pytest.raises(TooManyRequests):
        jobs.submit(Work())
    work.end.set()
    assert job.result.result(WAIT) == "done"
    assert jobs.close(WAIT)


def test_a_job_that_is_stopped_ends_and_the_next_begins(jobs):
    first, second = Work(), Work()
    job = jobs.submit(first)
    assert first.begun.wait(WAIT)
    after = jobs.submit(second)
    jobs.cancel(job, RequestTimeout("too long"))
    with pytest.raises(RequestTimeout, match="too long"):
        job.result.result(0)  # whoever waits knows at once
    assert first.stopped.wait(WAIT)
    assert second.begun.wait(WAIT)
    second.end.set()
    assert after.result.result(WAIT) == "done"


def test_a_job_that_is_stopped_while_it_waits_is_never_begun(jobs):
    first, second, third = Work(), Work(), Work()
    jobs.submit(first)
    assert first.begun.wait(WAIT)
    job, last = jobs.submit(second), jobs.submit(third)
    jobs.cancel(job)
    assert job.started.done()  # who waits for its turn waits no longer
    with pytest.raises(JobCancelled):
        job.result.result(0)
    first.end.set()
    third.end.set()
    assert last.result.result(WAIT) == "done"
    assert not second.begun.is_set()


def test_an_error_is_handed_on_and_the_thread_goes_on(jobs):
    def broken(check):
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError, match="oops"):
        jobs.submit(broken).result.result(WAIT)
    assert jobs.submit(lambda check: 7).result.result(WAIT) == 7


def test_when_it_closes_all_work_ends():
    jobs, first, second = JobQueue(5), Work(), Work()
    running = jobs.submit(first)
    assert first.begun.wait(WAIT)
    waiting = jobs.submit(second)
    assert jobs.close(WAIT)
    assert first.stopped.is_set()
    for job in (running, waiting):
        with pytest.raises(ShuttingDown):
            job.result.result(0)
    with pytest.raises(ShuttingDown):
        jobs.submit(Work())


def until(condition):
    """Wait for something that another thread does."""
    for _ in range(WAIT * 1000):
        if condition():
            return
        time.sleep(0.001)
    pytest.fail("it never happened")


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as made:
        yield made


def test_an_explanation_in_progress_does_not_keep_predictions_waiting(gated, pool):
    client, gate = gated()
    explaining = pool.submit(client.post, "/api/explain", json=SLOW)
    assert gate.entered.wait(WAIT)
    assert client.post("/api/predict", json={"texts": [TEXT]}).status_code == 200
    assert client.post("/api/explain", json={"texts": [TEXT]}).status_code == 200  # the mask is as quick
    assert client.get("/healthz").status_code == 200
    assert client.get("/api/words").status_code == 200
    assert not explaining.done()
    gate.open.set()
    assert explaining.result(WAIT).status_code == 200


def test_a_full_queue_is_429_and_says_when_to_ask_again(gated, pool):
    client, gate = gated(max_queue=1)
    running = pool.submit(client.post, "/api/explain", json=SLOW)
    assert gate.entered.wait(WAIT)
    waiting = pool.submit(client.post, "/api/explain", json=SLOW)
    until(lambda: len(client.app.state.api._jobs._waiting) == 1)
    refused = client.post("/api/explain", json=SLOW)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "2"
    assert "1 explanations are waiting already, the limit" in refused.json()["detail"]
    assert client.post("/api/explain", json={"texts": [TEXT]}).status_code == 200  # the mask needs no queue
    gate.open.set()
    assert [one.result(WAIT).status_code for one in (running, waiting)] == [200, 200]
    assert client.post("/api/explain", json=SLOW).status_code == 200


def test_time_up_is_408_and_the_worker_is_free_again(gated, pool):
    client, gate = gated(explain_seconds=0.5)
    # Two blocks of perturbations: the second must never be asked for.
    late = client.post("/api/explain", json={**SLOW, "options": {"samples": 2000}})
    assert late.status_code == 408
    assert "longer than the limit of 0.5 seconds" in late.json()["detail"]
    gate.open.set()
    until(lambda: client.app.state.api._jobs._running is None)
    assert gate.calls <= 1  # none at all where the machine was too busy to begin in time
    client.app.state.api.settings = replace(client.app.state.api.settings, explain_seconds=WAIT)
    assert client.post("/api/explain", json=SLOW).status_code == 200


def test_the_time_in_the_queue_does_not_count(gated, pool, monkeypatch):
    client, gate = gated(explain_seconds=WAIT)
    waits = []

    def noted(request, future, seconds=None, *rest, **named):
        waits.append((future, seconds))
        return await_result(request, future, seconds, *rest, **named)

    monkeypatch.setattr("vmask.serve.jobs.await_result", noted)
    running = pool.submit(client.post, "/api/explain", json=SLOW)
    assert gate.entered.wait(WAIT)
    until(lambda: len(waits) == 2)
    jobs = client.app.state.api._jobs
    first = jobs._running
    waiting = pool.submit(client.post, "/api/explain", json=SLOW)
    until(lambda: len(waits) == 3)
    second = jobs._waiting[0]
    # The first is at work, with a limit; the second waits for its turn, without one.
    assert waits == [(first.started, None), (first.result, WAIT), (second.started, None)]
    gate.open.set()
    assert [one.result(WAIT).status_code for one in (running, waiting)] == [200, 200]
    assert waits[3:] == [(second.result, WAIT)]


def test_a_quick_explanation_has_the_same_limit(make_client, models):
    client = make_client([models[0]], explain_seconds=0.01)
    client.get("/api/examples")
    hold = threading.Event()

    class Held:
        def __getattr__(self, name):
            return getattr(models[0].predictor, name)

        def mask_scores(self, docs):
            assert hold.wait(WAIT)
            return models[0].predictor.mask_scores(docs)

    client.app.state.api.models[0].predictor = Held()
    late = client.post("/api/explain", json={"texts": [TEXT]})
    hold.set()
    assert late.status_code == 408
    assert "longer than the limit of 0.01 seconds" in late.json()["detail"]


@pytest.mark.parametrize("running", [True, False], ids=["running", "waiting"])
def test_an_explanation_ends_when_its_client_goes_away(gated, pool, running):
    client, gate = gated(max_queue=4)
    api = client.app.state.api
    if not running:
        before = pool.submit(client.post, "/api/explain", json=SLOW)
        assert gate.entered.wait(WAIT)
    calls = gate.calls

    async def go():
        call = Call("/api/explain", {**SLOW, "options": {"samples": 3000}})
        made = asyncio.ensure_future(call.made(client.app))
        waiting = (lambda: gate.calls == 1) if running else (lambda: len(api._jobs._waiting) == 1)
        await asyncio.to_thread(until, waiting)
        assert not made.done()
        call.gone.set()
        await asyncio.wait_for(made, WAIT)
        return call

    assert asyncio.run(go()).status == 499
    assert not api._jobs._waiting
    gate.open.set()
    if not running:
        assert before.result(WAIT).status_code == 200
    until(lambda: api._jobs._running is None)
    assert gate.calls == max(calls, 1)  # of its three blocks one at most was asked for


def test_a_prediction_is_dropped_when_its_client_goes_away(make_client, models):
    client = make_client([models[0]])
    served, entered, hold = client.app.state.api.models[0], threading.Event(), threading.Event()
    seen, prepare = [], served.predictor.prepare

    class Slow:
        def __getattr__(self, name):
            return getattr(models[0].predictor, name)

        def prepare(self, texts):
            seen.extend(texts)
            entered.set()
            assert hold.wait(WAIT)
            return prepare(texts)

    client.get("/api/examples")
    served.predictor, served.budget = Slow(), 1

    async def go():
        call = Call("/api/predict", {"texts": ["one", "two", "three"]})
        made = asyncio.ensure_future(call.made(client.app))
        await asyncio.to_thread(entered.wait, WAIT)
        call.gone.set()
        await asyncio.wait_for(made, WAIT)

    asyncio.run(go())
    hold.set()
    assert client.post("/api/predict", json={"texts": ["after"]}).status_code == 200
    assert seen == ["one", "after"]


def test_examples_are_not_lost_when_the_one_who_asked_first_goes_away(make_client):
    client = make_client()

    async def go():
        call = Call("/api/examples", method="GET")
        call.gone.set()
        await call.made(client.app)

    asyncio.run(go())
    assert client.get("/api/examples").json()["total"] == 12


def test_answers_in_company_are_those_to_one_alone(client, pool, models, toy):
    texts = [*toy[0][:40], "", "ö", "word " * 200]
    alone = {text: client.post("/api/predict", json={"texts": [text]}).json()["predictions"][0] for text in texts}
    rows = models[0].classifier.predict_proba(texts)

    def ask(number):
        mine = texts[number:] + texts[:number]
        return mine, client.post("/api/predict", json={"texts": mine[: number % 7 + 1]}).json()["predictions"]

    for mine, found in pool.map(ask, range(len(texts))):
        for text, one in zip(mine, found, strict=False):
            assert one["label"] == alone[text]["label"]
            np.testing.assert_allclose(one["probabilities"], alone[text]["probabilities"], atol=1e-6)
            np.testing.assert_allclose(one["probabilities"], rows[texts.index(text)], atol=1e-6)


def test_too_many_requests_at_a_time_are_429(gated, pool):
    client, gate = gated(max_connections=2)
    running = [pool.submit(client.post, "/api/explain", json=SLOW) for _ in range(2)]
    assert gate.entered.wait(WAIT)
    until(lambda: len(client.app.state.api._jobs._waiting) == 1)
    refused = client.get("/healthz")
    assert refused.status_code == 429
    assert "2 requests are being answered already, the limit" in refused.json()["detail"]
    gate.open.set()
    assert [one.result(WAIT).status_code for one in running] == [200, 200]
    assert client.get("/healthz").status_code == 200


def test_when_the_server_ends_whoever_waits_is_told(gated, pool):
    client, gate = gated()
    running = pool.submit(client.post, "/api/explain", json=SLOW)
    assert gate.entered.wait(WAIT)
    client.app.state.api.close()
    answer = running.result(WAIT)
    assert (answer.status_code, answer.json()["detail"]) == (410, "The server is shutting down.")
    assert client.post("/api/predict", json={"texts": [TEXT]}).status_code == 410
