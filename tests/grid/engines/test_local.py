"""Processes that work side by side: one that is killed takes only its own task along."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

import pytest

from grid.tiny import PIECES, TINY, Inline, differences, files, write_tiny
from vmask.grid.engines.local import LocalEngine
from vmask.grid.job import job_of
from vmask.grid.run import Grid, Wanted
from vmask.grid.spec import read_experiment
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
        def start(self, job):
            whole(self, job)
            if job.task.title == title:
                os.kill(next(process.pid for process, one in self._running.values() if one is job), signal.SIGKILL)

        whole = LocalEngine.start
        monkeypatch.setattr(LocalEngine, "start", start)

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
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    again = run(grid_in(tmp_path / "struck", failed=True))
    assert again == dict.fromkeys((victim, *needed), ("done", ""))
    (tmp_path / "inline").mkdir()
    run(grid_in(tmp_path / "inline"))
    assert differences(tmp_path / "struck" / "results", tmp_path / "inline" / "results") == []
    assert len(files(tmp_path / "inline" / "results")) == PIECES + 1


def test_one_that_died_at_rest_is_replaced(tmp_path):
    grid = grid_in(tmp_path, stages=None, search=None)
    job = job_of(grid.tasks[0], grid.experiment, grid.store)
    with LocalEngine(grid.experiment, grid.places, 1) as engine:
        for _ in range(2):
            assert engine.free
            engine.start(job)
            assert not engine.free
            started, ended = [event for _ in range(1) for event in engine.events()]
            assert (started.job, started.where) == (job, "")
            assert ended.product.error == ""
            os.kill(engine._idle[0].pid, signal.SIGKILL)
            engine._idle[0]._process.join()
    assert multiprocessing.active_children() == []
