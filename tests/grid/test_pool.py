"""Processes that work side by side: one that is killed takes only its own task along."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

import pytest

from grid.tiny import PIECES, TINY, Inline, differences, files, write_tiny
from vmask.grid.cell import Combination
from vmask.grid.pool import Pool
from vmask.grid.run import Grid, Wanted
from vmask.grid.spec import read_experiment
from vmask.grid.task import Task
from vmask.grid.worker import Places

ERROR = "The process ended with signal SIGKILL. Was there enough memory? Try fewer --jobs."

pytestmark = [pytest.mark.full, pytest.mark.skipif(sys.platform == "win32", reason="no signals")]


def run(grid, jobs=1):
    outcomes = {}
    grid.run(jobs, lambda task, outcome, error: outcomes.update({task.title: (outcome, error)}))
    return outcomes


def grid_in(folder, failed=False, **changes):
    experiment = read_experiment(write_tiny(folder, **changes))
    return Grid(experiment, Places(folder / "results", folder / "models"), Wanted(failed))


@pytest.fixture
def strike(monkeypatch):
    """Kill the process that is given a task, as soon as it has it."""

    def kill(title):
        def start(self, task):
            whole(self, task)
            if task.title == title:
                os.kill(next(process.pid for process, one in self.running.values() if one == task), signal.SIGKILL)

        whole = Pool.start
        monkeypatch.setattr(Pool, "start", start)

    return kill


def test_a_process_that_is_killed_is_recorded_and_the_others_go_on(strike, tmp_path):
    strike("reviews--cnn--vmask search")
    grid = grid_in(tmp_path, grid=[{**TINY["grid"][0], "seeds": 0}], stages=None)
    outcomes = run(grid, jobs=2)
    assert outcomes == {
        "reviews--cnn--base search": ("done", ""),
        "reviews--cnn--base--s0 train": ("done", ""),
        "reviews--cnn--vmask search": ("failed", ERROR),
        "reviews--cnn--vmask--s0 train": ("skipped", "skipped, because what it needs failed"),
    }
    record = grid.store.read(grid.store.search("reviews--cnn--vmask"))
    assert (record["error"], record["status"], record["stage"]) == (ERROR, "failed", "search")
    assert multiprocessing.active_children() == [], "no process is left"


@pytest.mark.slow
def test_what_was_killed_is_the_same_when_it_is_done_again_whatever_the_number_of_processes(
    strike, tmp_path, monkeypatch
):
    victim = "reviews--cnn--vmask--s1 train"
    strike(victim)
    (tmp_path / "struck").mkdir()
    outcomes = run(grid_in(tmp_path / "struck"), jobs=2)
    assert outcomes.pop(victim) == ("failed", ERROR)
    needed = {"reviews--cnn--vmask--s1 words", "reviews--cnn--base--s1 words"}
    assert {title for title, (outcome, _) in outcomes.items() if outcome == "skipped"} == needed
    assert {outcome for title, (outcome, _) in outcomes.items() if title not in needed} == {"done"}
    monkeypatch.setattr("vmask.grid.run.Pool", Inline)
    again = run(grid_in(tmp_path / "struck", failed=True))
    assert again == dict.fromkeys((victim, *needed), ("done", ""))
    (tmp_path / "inline").mkdir()
    run(grid_in(tmp_path / "inline"))
    assert differences(tmp_path / "struck" / "results", tmp_path / "inline" / "results") == []
    assert len(files(tmp_path / "inline" / "results")) == PIECES + 1


class Fake:
    """A process that is or is no longer there, with its pipe."""

    def __init__(self, exitcode=None):
        self.exitcode, self.sent = exitcode, []

    def is_alive(self):
        return self.exitcode is None

    def join(self):
        assert not self.is_alive()

    def send(self, task):
        self.sent.append(task)


def test_one_that_died_at_rest_is_replaced():
    pool, task = Pool(None, None, 1), Task(Combination("trec", "cnn", "base"))
    dead, alive = Fake(-signal.SIGKILL), Fake()
    pool.idle = [(alive, alive), (dead, dead)]
    pool.start(task)
    assert (alive.sent, dead.sent) == ([task], [])
    assert pool.running == {alive: (alive, task)}
    assert not pool.free
    assert pool.idle == []


@pytest.mark.parametrize(
    ("code", "said"),
    [(-signal.SIGSEGV, "The process ended with signal SIGSEGV."), (1, "The process ended with code 1.")],
)
def test_one_that_dies_in_the_middle_of_its_answer_is_told(code, said):
    pool, task = Pool(None, None, 1), Task(Combination("trec", "cnn", "base"))
    here, there = multiprocessing.Pipe()
    pool.running[here] = (Fake(code), task)
    os.write(there.fileno(), b"\x00\x00\x00\x09half")  # four of nine bytes
    there.close()
    assert list(pool.finished()) == [(task, said, True)]
    assert pool.free
    assert here.closed
