"""A piece that another grid is working on is waited for, and done here only if the other did not do it."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from grid.tiny import PIECES, Inline, differences, files, write_tiny
from vmask.grid import claims as claims_module
from vmask.grid.claims import LOCKS, Claims
from vmask.grid.course import write_failure
from vmask.grid.run import Grid, Wanted
from vmask.grid.spec import read_experiment
from vmask.grid.worker import Places

TRAIN = "reviews--cnn--vmask--s0 train"
SEARCH = "reviews--cnn--vmask search"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    monkeypatch.setattr("vmask.grid.course.LOOK_AGAIN", 0.01)
    monkeypatch.setattr(claims_module, "QUIET", 0.0)


def grid_in(folder, failed=False):
    return Grid(
        read_experiment(write_tiny(folder)), Places(folder / "results", folder / "models"), Wanted(failed=failed)
    )


def run(grid, on_wait):
    """What became of every piece, by its title, in the order in which they ended."""
    outcomes = {}
    grid.run(1, lambda task, outcome, error: outcomes.update({task.title: outcome}), on_wait)
    return outcomes


def never(message):
    raise AssertionError(message)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a grid that is done. Do not write to it."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmask.grid.run.LocalEngine", Inline)
        outcomes = run(grid_in(folder), never)
    assert list(outcomes.values()) == ["done"] * PIECES
    return folder


class Other:
    """Another grid in the same folder, which has taken a piece."""

    def __init__(self, grid, title):
        self.task = next(task for task in grid.tasks if task.title == title)
        self.claims = Claims(grid.store, grid.places.models)
        assert self.claims.take(self.task)
        self.messages = []

    def end(self, before=lambda: None):
        """What the other does when the first is told to wait."""

        def on_wait(message):
            self.messages.append(message)
            if len(self.messages) == 1:
                before()
                self.claims.release(self.task)

        return on_wait


def test_locks_are_gone_in_the_end(done):
    assert not (done / "results" / LOCKS).exists()


@pytest.mark.parametrize("title", [TRAIN, SEARCH])
def test_a_piece_whose_grid_ended_is_done_here_after_all_others(tmp_path, done, title):
    grid = grid_in(tmp_path)
    other = Other(grid, title)
    outcomes = run(grid, other.end())
    assert list(outcomes.values()) == ["done"] * PIECES
    after = list(outcomes)[list(outcomes).index(title) :]
    assert all("vmask" in one or "words" in one for one in after), "what does not need it was not kept waiting"
    assert len(other.messages) == 1
    assert other.messages[0].startswith(f"waiting for 1 piece of other processes: {title} (process ")
    assert differences(tmp_path / "results", done / "results") == []
    assert not (tmp_path / "results" / LOCKS).exists()


@pytest.mark.parametrize("title", [TRAIN, SEARCH])
def test_a_piece_that_another_has_done_is_not_done_again(tmp_path, done, title):
    grid = grid_in(tmp_path)
    other = Other(grid, title)
    path = other.task.path(grid.store)

    def write():
        path.parent.mkdir(exist_ok=True)
        shutil.copy(other.task.path(grid_in_results(done)), path)

    outcomes = run(grid, other.end(write))
    assert outcomes.pop(title) == "there"
    assert list(outcomes.values()) == ["done"] * (PIECES - 1)
    assert differences(tmp_path / "results", done / "results") == []


def grid_in_results(folder):
    return Places(folder / "results", folder / "models").store


@pytest.mark.parametrize("again", [False, True])
def test_what_failed_elsewhere_meanwhile_is_not_tried_here_too(tmp_path, again):
    grid = grid_in(tmp_path, failed=again)
    other = Other(grid, TRAIN)

    def fail():
        from vmask.grid.cell import identity

        request = other.task.request(grid.store, grid.experiment)
        write_failure(grid.store, other.task, {"identity": identity(request), "asked": request}, "no luck")

    outcomes = run(grid, other.end(fail))
    skipped = [title for title, outcome in outcomes.items() if outcome == "skipped"]
    assert TRAIN in skipped
    assert set(skipped) >= {f"reviews--cnn--{mask}--s0 words" for mask in ("base", "vmask")}, "they need it"
    later = run(grid_in(tmp_path, failed=True), never)
    assert later[TRAIN] == "done", "a later run tries it again"


def test_several_processes_look_at_what_others_do_while_they_work(tmp_path, monkeypatch):
    """A free process does not wait for a piece of this grid to end, if one of another grid may end before."""
    grid, asked = grid_in(tmp_path), []
    other = Other(grid, "reviews--cnn--base search")

    def events(self, timeout=None):
        asked.append(timeout)
        yield from whole(self)

    whole = Inline.events
    monkeypatch.setattr(Inline, "events", events)
    grid.run(2, lambda *_: None, other.end())
    assert asked[0] == 0.01
    assert asked[-1] is None


def test_messages_say_how_far_the_others_are(tmp_path, monkeypatch):
    grid = grid_in(tmp_path)
    others = [Other(grid, title) for title in (TRAIN, SEARCH)]
    tasks = [other.task for other in others]
    claims = Claims(grid.store, grid.places.models)
    process = others[0].claims._path(tasks[0]).read_text()
    state = tmp_path / "models" / "reviews--cnn--vmask--s0--0123" / "checkpoint" / "stage-2" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"epoch": 3}))
    search = {"status": "running", "trials": [{}], "asked": {"trials": [{}, {}]}}
    monkeypatch.setattr(type(grid.store), "read", lambda self, path: search)
    assert claims.news(tasks) == (
        f"waiting for 2 pieces of other processes: {TRAIN} ({process}, 3 epochs done), "
        f"{SEARCH} ({process}, 1 of 2 trials)"
    )
    assert claims.news(tasks) == "", "nothing is new"
    state.write_text(json.dumps({"epoch": 4}))
    assert "4 epochs done" in claims.news(tasks)
    state.write_text("{")
    others[1].claims.release(tasks[1])
    assert f"{TRAIN} ({process}), {SEARCH} (1 of 2 trials)" in claims.news(tasks)
    assert claims.news(grid.tasks).endswith(f" and {len(grid.tasks) - 3} more")
    monkeypatch.setattr(claims_module, "QUIET", 60.0)
    assert claims.news(tasks) == "", "it was told just now"


def test_files_of_results_are_the_same_as_without_locks(tmp_path, done):
    run(grid_in(tmp_path), never)
    assert files(tmp_path / "results").keys() == files(done / "results").keys()
    everything = {path.relative_to(tmp_path / "results").as_posix() for path in (tmp_path / "results").rglob("*")}
    assert everything - files(tmp_path / "results").keys() == {"cells", "search", "data"}
