"""Results come in the order of their jobs, and only so many jobs are under way."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from vmask._core.ordered_map import map_in_order
from vmask.errors import DataError


class Later:
    """A job that is done when its result is asked for."""

    def __init__(self, job, log):
        self.job, self.log = job, log
        log.append(("begun", job))

    def result(self):
        self.log.append(("asked", self.job))
        if self.job == "bad":
            raise ZeroDivisionError
        return self.job

    def cancel(self):
        self.log.append(("cancelled", self.job))
        return True


def submitting(log):
    return lambda job: Later(job, log)


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_results_come_in_order_however_long_each_takes(most):
    stream = random.Random(0)

    def work(job):
        time.sleep(stream.random() / 500)
        return -job

    with ThreadPoolExecutor(4) as pool:
        assert list(map_in_order(lambda job: pool.submit(work, job), range(50), most)) == [-job for job in range(50)]


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_jobs_are_taken_than_are_allowed_at_a_time(most):
    taken, log = [], []
    jobs = (taken.append(job) or job for job in range(20))
    results = map_in_order(submitting(log), jobs, most)
    assert not taken
    for number, result in enumerate(results):
        assert result == number
        assert len(taken) <= number + most


def test_the_results_before_an_unreadable_job_come_first():
    def jobs():
        yield from "abc"
        raise DataError("Line 4 cannot be read.")

    log = []
    results = map_in_order(submitting(log), jobs(), 10)
    assert [next(results), next(results), next(results)] == ["a", "b", "c"]
    with pytest.raises(DataError, match="Line 4"):
        next(results)


def test_other_errors_of_the_jobs_are_raised_at_once():
    def jobs():
        yield "a"
        raise KeyboardInterrupt

    log = []
    with pytest.raises(KeyboardInterrupt):
        next(map_in_order(submitting(log), jobs(), 10))
    assert log == [("begun", "a"), ("cancelled", "a")]


@pytest.mark.parametrize("end", ["close", "error"])
def test_what_was_begun_is_cancelled_if_the_caller_stops_or_a_job_fails(end):
    log = []
    results = map_in_order(submitting(log), ["a", "bad", "c", "d"], 3)
    assert next(results) == "a"
    if end == "close":
        results.close()
    else:
        with pytest.raises(ZeroDivisionError):
            next(results)
    assert ("cancelled", "c") in log
    assert ("asked", "d") not in log
