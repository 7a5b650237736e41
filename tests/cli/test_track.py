"""`--track`: what `vmask train` and `vmask grid` tell a tracker."""

from __future__ import annotations

import json

import pytest

from cli.conftest import SMALL
from grid.tiny import TINY, Inline, write_tiny
from trackers.recorder import Recorder
from vmask.trackers import TRACKERS

GRID = {"grid": [{**TINY["grid"][0], "seeds": "0-1"}], "stages": None}
"""Two searches and four trainings."""


@pytest.fixture
def made(monkeypatch):
    """The trackers that a command made, by the name of their run; `recorder` is known as a tracker."""
    trackers = {}

    class Kept(Recorder):
        def __init__(self, *words, **named):
            super().__init__(*words, **named)
            trackers[self.name] = self

    monkeypatch.setitem(TRACKERS._loaded, "recorder", Kept)
    return trackers


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)


def test_a_training_is_told_with_its_test_score_and_its_page(vmask, toy_csv, tmp_path, made):
    out = tmp_path / "m"
    done = vmask("train", toy_csv, "--out", out, *SMALL, "--report", "quick", "--track", "recorder", "--json")
    assert done.code == 0, done.err
    (tracker,) = made.values()
    assert (tracker.name, tracker.group, tracker.folder) == ("m", "", tmp_path / "tracking")
    assert tracker.points["test/accuracy"] == {6: done.json["test_accuracy"]}
    assert tracker.points["test/n"] == {6: done.json["test_n"]}
    assert tracker.points["kept/epoch"] == {6: done.json["best_epoch"]}
    assert tracker.calls[-1] == ("file", out / "report.html")


def test_a_page_that_is_written_later_is_added_to_the_run(vmask, toy_csv, tmp_path, made, monkeypatch):
    words = ["train", toy_csv, "--out", tmp_path / "m", *SMALL, "--report", "quick", "--track", "recorder"]
    with monkeypatch.context() as patch:
        patch.setattr("vmask.cli.train._finish", _interrupted)
        assert vmask(*words).code == 130
    first = made.pop("m")
    assert first.calls[-1][0] == "numbers"
    assert vmask(*words, "--resume").code == 0
    assert made["m"].key == first.key
    assert made["m"].calls == [("open", None), ("file", tmp_path / "m" / "report.html")]


def _interrupted(*_):
    raise KeyboardInterrupt


def test_errors_come_before_any_data_is_read(fails, tmp_path, monkeypatch):
    err = fails("train", tmp_path / "none.csv", "--track", "tensorbord")
    assert "Unknown tracker 'tensorbord'. Did you mean 'tensorboard'?" in err
    monkeypatch.setattr("vmask.trackers.contract.find_spec", lambda name: None)
    err = fails("train", tmp_path / "none.csv", "--track", "tensorboard")
    assert (
        err == "error: Tracking by tensorboard needs the 'tensorboard' extra. Run: pip install 'vmask[tensorboard]'\n"
    )


def test_a_tracker_that_fails_is_one_line(vmask, toy_csv, tmp_path, monkeypatch):
    monkeypatch.setitem(TRACKERS._loaded, "recorder", lambda *words, **named: Recorder(*words, fails_at="numbers"))
    done = vmask("train", toy_csv, "--out", tmp_path / "m", *SMALL, "--report", "none", "--track", "recorder")
    assert done.code == 0
    assert done.err.count("warning: Recorder failed and is left out from here on; the training goes on.") == 1


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("by", ["file", "option"])
def test_trainings_of_a_grid_are_runs_of_one_group(vmask, tmp_path, made, by):
    file = write_tiny(tmp_path, **GRID, **({"track": "recorder"} if by == "file" else {}))
    words = ["grid", file, "--out", tmp_path / "runs" / "out", "--models", tmp_path / "models"]
    done = vmask(*words, *(["--track", "recorder", "--track-dir", tmp_path / "logs"] if by == "option" else []))
    assert done.code == 0, done.err
    made.pop("")  # of the check before any work
    assert sorted(made) == [f"reviews--cnn--{mask}--s{seed}" for mask in ("base", "vmask") for seed in (0, 1)]
    for tracker in made.values():
        assert tracker.group == "tiny"
        assert tracker.folder == (tmp_path / "logs" if by == "option" else tmp_path / "runs" / "tracking")
        record = json.loads((tmp_path / "runs" / "out" / "cells" / f"{tracker.name}.json").read_text())
        assert tracker.points["test/accuracy"] == {6: record["test_accuracy"]}
        losses = [row["loss"] for row in record["history"]]
        assert list(tracker.points["train/loss"].values()) == pytest.approx(losses, abs=1e-5)
    assert len({tracker.key for tracker in made.values()}) == 4
    made.clear()
    assert vmask(*words).code == 0
    assert not any(tracker.calls for tracker in made.values()), "nothing is trained again"


@pytest.mark.usefixtures("inline")
def test_trials_by_optuna_are_runs_too(vmask, tmp_path, made):
    pytest.importorskip("optuna", reason="needs vmask[optuna]")
    search = {"engine": "optuna", "trials": 2, "space": {"learning_rate": {"low": 0.001, "high": 0.1}}}
    grid = [{**TINY["grid"][0], "masks": ["base"], "seeds": 0}]
    file = write_tiny(tmp_path, grid=grid, stages=None, search=search, track="recorder")
    assert vmask("grid", file, "--out", tmp_path / "out", "--models", tmp_path / "models").code == 0
    made.pop("")
    of = "reviews--cnn--base"
    assert sorted(made) == [f"{of}--s0", f"{of}--trial-1", f"{of}--trial-2"]
    record = json.loads((tmp_path / "out" / "search" / f"{of}.json").read_text())
    for number, trial in enumerate(record["trials"], 1):
        tracker = made[f"{of}--trial-{number}"]
        assert list(tracker.points["dev/accuracy"].values()) == pytest.approx(trial["reported"])
        assert "test/accuracy" not in tracker.points


@pytest.mark.usefixtures("inline")
def test_the_tracker_of_a_grids_file_can_be_left_out(vmask, fails, tmp_path, made):
    file = write_tiny(tmp_path, **GRID, track="no_such")
    words = ["grid", file, "--out", tmp_path / "out", "--models", tmp_path / "models", "--dry-run"]
    assert "Unknown tracker 'no_such'" in fails(*words)
    assert vmask(*words, "--track", "").code == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_has_the_page_beside_the_events(vmask, toy_csv, tmp_path):
    pytest.importorskip("tensorboard", reason="needs vmask[tensorboard]")
    out = tmp_path / "m"
    assert vmask("train", toy_csv, "--out", out, *SMALL, "--report", "quick", "--track", "tensorboard").code == 0
    assert (tmp_path / "tracking" / "m" / "report.html").read_bytes() == (out / "report.html").read_bytes()
    assert list((tmp_path / "tracking" / "m").glob("events.out.tfevents.*"))
