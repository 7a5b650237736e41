"""Questions of many requests in one call."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from serve.helpers import WAIT
from vmask.errors import ConfigError
from vmask.serve.batcher import Batcher, ModelQuery
from vmask.serve.http_errors import ShuttingDown


class Doubling:
    """Answers numbers by their double and remembers every call; the first call waits for the test."""

    def __init__(self, held=True):
        self.calls = []
        self.entered, self.open = threading.Event(), threading.Event()
        if not held:
            self.open.set()

    def __call__(self, units):
        self.calls.append(list(units))
        self.entered.set()
        assert self.open.wait(WAIT)
        return [ZeroDivisionError("odd") if unit == "bad" else 2 * unit for unit in units]


@pytest.fixture
def batcher():
    made = Batcher()
    yield made
    assert made.close(WAIT)


def ask(batcher, run, units, key="double", budget=100):
    return batcher.submit(ModelQuery(key, run, budget), units, [1] * len(units))


def test_requests_that_come_while_the_model_computes_are_joined(batcher):
    run = Doubling()
    first = ask(batcher, run, [1])
    assert run.entered.wait(WAIT)
    rest = [ask(batcher, run, [n, n + 1]) for n in (10, 20, 30)]
    run.open.set()
    assert first.future.result(WAIT) == [2]
    assert [one.future.result(WAIT) for one in rest] == [[20, 22], [40, 42], [60, 62]]
    assert run.calls == [[1], [10, 11, 20, 21, 30, 31]]


def test_other_kinds_are_not_joined(batcher):
    run = Doubling()
    asked = [ask(batcher, run, [0], "a")]
    assert run.entered.wait(WAIT)
    asked += [ask(batcher, run, [n], key) for n, key in enumerate("abba", 1)]
    run.open.set()
    assert [one.future.result(WAIT) for one in asked] == [[0], [2], [4], [6], [8]]
    assert run.calls == [[0], [1, 4], [2, 3]]


def test_a_large_request_does_not_keep_a_small_one_waiting(batcher):
    run = Doubling()
    large = ask(batcher, run, list(range(100)), budget=10)
    assert run.entered.wait(WAIT)
    small = ask(batcher, run, [1000], budget=10)
    run.open.set()
    assert small.future.result(WAIT) == [2000]
    assert large.future.result(WAIT) == [2 * n for n in range(100)]
    assert run.calls[1][0] == 1000
    assert all(len(call) <= 10 for call in run.calls)


def test_many_small_requests_are_no_larger_a_call_than_the_budget(batcher):
    run = Doubling()
    asked = [ask(batcher, run, [0], budget=2)]
    assert run.entered.wait(WAIT)
    asked += [ask(batcher, run, [n], budget=2) for n in range(1, 6)]
    run.open.set()
    assert [one.future.result(WAIT) for one in asked] == [[2 * n] for n in range(6)]
    assert run.calls == [[0], [1, 2], [3, 4], [5]]


def test_a_unit_above_the_budget_is_answered_alone(batcher):
    run = Doubling(held=False)
    asked = batcher.submit(ModelQuery("double", run, 10), [1, 2, 3], [99, 99, 1])
    assert asked.future.result(WAIT) == [2, 4, 6]
    assert run.calls == [[1], [2], [3]]
    assert asked.progress == 1


def test_the_fault_of_one_request_is_not_the_others(batcher):
    run = Doubling()
    first = ask(batcher, run, [1])
    assert run.entered.wait(WAIT)
    good, bad = ask(batcher, run, [2]), ask(batcher, run, [3, "bad"])
    run.open.set()
    assert first.future.result(WAIT) == [2]
    assert good.future.result(WAIT) == [4]
    with pytest.raises(ZeroDivisionError):
        bad.future.result(WAIT)


def test_a_call_that_fails_is_made_for_every_request_alone(batcher):
    entered, hold = threading.Event(), threading.Event()

    def run(units):
        entered.set()
        assert hold.wait(WAIT)
        if 7 in units:
            raise ConfigError("no sevens")
        return units

    first = ask(batcher, run, [0])
    assert entered.wait(WAIT)
    good, bad = ask(batcher, run, [1]), ask(batcher, run, [7])
    hold.set()
    assert [first.future.result(WAIT), good.future.result(WAIT)] == [[0], [1]]
    with pytest.raises(ConfigError, match="no sevens"):
        bad.future.result(WAIT)
    assert ask(batcher, run, [2]).future.result(WAIT) == [2]  # and it goes on


def test_a_request_that_nobody_waits_for_is_dropped(batcher):
    run = Doubling()
    first = ask(batcher, run, [1])
    assert run.entered.wait(WAIT)
    dropped, kept = ask(batcher, run, [2]), ask(batcher, run, [3])
    assert dropped.future.cancel()
    run.open.set()
    assert (first.future.result(WAIT), kept.future.result(WAIT)) == ([2], [6])
    with pytest.raises(CancelledError):
        dropped.future.result(WAIT)
    assert run.calls == [[1], [3]]


def test_a_request_in_progress_that_is_cancelled_goes_no_further(batcher):
    run = Doubling()
    asked = ask(batcher, run, list(range(50)), budget=1)
    assert run.entered.wait(WAIT)
    assert asked.future.cancel()
    run.open.set()
    assert ask(batcher, run, [99], "other").future.result(WAIT) == [198]
    assert run.calls == [[0], [99]]


def test_to_ask_nothing_is_answered_at_once(batcher):
    assert ask(batcher, Doubling(), []).future.result(0) == []


def test_when_it_closes_nobody_is_left_waiting():
    batcher, run = Batcher(), Doubling()
    ask(batcher, run, [1])
    assert run.entered.wait(WAIT)
    waiting = ask(batcher, run, [2])
    assert not batcher.close(0)
    with pytest.raises(ShuttingDown):
        waiting.future.result(WAIT)
    with pytest.raises(ShuttingDown):
        ask(batcher, run, [3])
    run.open.set()
    assert batcher.close(WAIT)
