"""A queue of long work, with a limit and a way to stop."""

from __future__ import annotations

import threading

import pytest

from serve.helpers import WAIT
from vmask.serve.http_errors import RequestTimeout, ShuttingDown, TooManyRequests
from vmask.serve.jobs import JobCancelled, JobQueue


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
