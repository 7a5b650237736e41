"""The view of a running grid: counts, what runs where, what failed, how long the rest takes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from vmask.cli.grid_view import GridView, span
from vmask.grid.cell import Cell, Combination
from vmask.grid.estimate import Estimator
from vmask.grid.store import Store
from vmask.grid.task import Task

TASKS = [Task(Cell(Combination("trec", "cnn", "base"), seed)) for seed in range(4)]


@pytest.fixture
def view(tmp_path):
    return GridView(TASKS, Estimator(Store(tmp_path), lambda name: None))


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("vmask.cli.grid_view.time.monotonic", lambda: now[0])
    return now


def drawn(view):
    out = io.StringIO()
    Console(file=out, width=160, color_system=None).print(view.render())
    return out.getvalue()


def test_time_left_is_learnt_while_the_grid_runs(view, clock):
    assert view.summary() == "0 of 4 pieces, 0 running"
    view.started(TASKS[0], "node-1, process 7")
    view.started(TASKS[1], "node-2, process 8")
    clock[0] += 60
    view.ended(TASKS[0], "done", "")
    assert view.seconds_left() == (60.0, 0), "120 seconds of the two that wait, for two workers, and none of the other"
    assert view.summary() == "1 of 4 pieces, 1 running, about 60 s left"
    view.started(TASKS[2], "node-1, process 7")
    clock[0] += 50
    assert view.seconds_left() == (60.0, 0), "not before the longest is done"


def test_what_runs_and_what_failed_is_shown_with_where_and_why(view, clock):
    view.started(TASKS[0], "node-1, process 7")
    clock[0] += 5
    view.started(TASKS[0], "node-2, process 9")  # tried again, or the next trial
    view.ended(TASKS[1], "failed", "[no markup] disk full")
    view.ended(TASKS[2], "skipped", "skipped, because what it needs failed")
    view.message = "no machine has 4 CPUs"
    text = drawn(view)
    assert "2 of 4 pieces, 2 failed, 1 running" in text
    assert "trec--cnn--base--s0 train  5 s  node-2, process 9" in text
    assert "failed: trec--cnn--base--s1 train: [no markup] disk full" in text
    assert "no machine has 4 CPUs" in text
    assert view.errors == [("trec--cnn--base--s1 train", "[no markup] disk full")]


def test_a_task_that_failed_teaches_no_time(view, clock):
    view.started(TASKS[0], "")
    clock[0] += 5
    view.ended(TASKS[0], "failed", "no")
    assert view.seconds_left() == (0.0, 3)


def test_only_the_first_of_many_are_listed(tmp_path):
    tasks = [Task(Cell(Combination("trec", "cnn", "base"), seed)) for seed in range(20)]
    view = GridView(tasks, Estimator(Store(tmp_path), lambda name: None))
    for task in tasks:
        view.started(task, "here")
    assert "and 8 more" in drawn(view)


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (89, "89 s"), (600, "10 minutes"), (9000, "2.5 hours")])
def test_a_time_has_the_unit_that_suits_it(seconds, text):
    assert span(seconds) == text
