"""A grid that is killed at any moment and started again ends with the results of one that was left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from grid.tiny import Inline, differences, files, results, stripped
from vmask.cli import main

SMOKE = Path(__file__).parents[2] / "experiments" / "smoke.yaml"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no signals")]
KILLS = 3
PATIENCE = 120
"""Seconds to wait for what takes a few, on a machine that has other things to do."""


@pytest.fixture
def start(tmp_path):
    """Start `vmask grid` in a group of processes of its own."""
    begun = []

    def begin(file, name, *words):
        out = tmp_path / name
        models = tmp_path / f"{name}-models"
        command = [sys.executable, "-m", "vmask", "grid", file, "--out", out, "--models", models, *words]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "VMASK_CACHE": str(tmp_path / "cache")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(list(map(str, command)), start_new_session=True, env=environment, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def reduced(folder, **more):
    """The small grid with one model, two methods and one seed: 2 searches, 2 trainings and 4 stages."""
    loaded = yaml.safe_load(SMOKE.read_text(encoding="utf-8"))
    (block,) = loaded["grid"]
    data = str((SMOKE.parent / block["datasets"][0]).resolve())
    loaded["grid"] = [{**block, "datasets": [data], "models": ["cnn"], "masks": ["base", "vmask"], "seeds": 0}]
    for stage in loaded["stages"]:
        stage["where"]["masks"] = [mask for mask in stage["where"]["masks"] if mask in ("base", "vmask")]
    path = folder / "reduced.yaml"
    path.write_text(yaml.safe_dump({**loaded, **more}), encoding="utf-8")
    return path


def newest(*folders):
    """When a file in them was last written."""
    paths = [path for folder in folders for path in folder.rglob("*")]
    return max((path.stat().st_mtime_ns for path in paths if path.is_file()), default=0)


def wait_until(true, process=None):
    """Wait; False where the process ended before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if true():
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def test_what_is_killed_at_any_moment_ends_as_if_nothing_had_happened(start, tmp_path, monkeypatch):
    file, folders = reduced(tmp_path), (tmp_path / "killed", tmp_path / "killed-models")
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    assert main(["grid", str(file), "--out", str(tmp_path / "unbroken"), "--models", str(tmp_path / "models")]) == 0
    stream, left = random.Random(20), []
    for number in range(KILLS):
        before = newest(*folders)
        process = start(file, "killed", "--jobs", 2 - number % 2)
        if wait_until(lambda before=before: newest(*folders) > before, process):
            time.sleep(stream.uniform(0, 2))  # after the first thing that it wrote
        left.append(process.poll() is None)
        if left[-1]:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    out, err = start(file, "killed", "--jobs", "2").communicate()
    assert "0 failed, 0 skipped" in out, err
    assert left[0], "the first was killed in the middle of its work"
    assert differences(tmp_path / "unbroken", tmp_path / "killed") == []
    assert len(files(tmp_path / "killed")) == 8 + 1


def test_processes_end_when_the_one_in_charge_is_killed_alone(start, tmp_path):
    models = {"cnn": {"embeddings": "random", "epochs": 100_000, "patience": 0, "model__filters": 8}}
    process = start(reduced(tmp_path, models=models, search=None), "orphans", "--jobs", "2")
    folder = tmp_path / "orphans-models"
    assert wait_until(lambda: len(list(folder.glob("*/checkpoint/state.json"))) == 2, process), "both are training"
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(process.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=30)
    for one in alive:
        one.kill()
    assert alive == []


def test_the_small_grid_is_done_once(start, tmp_path):
    """All methods, two models, two seeds; a second run does nothing."""
    out, err = start(SMOKE, "smoke", "--jobs", "2").communicate()
    assert out.startswith("80 done, 0 failed, 0 skipped, 0 were there already"), err
    before = files(tmp_path / "smoke")
    out, err = start(SMOKE, "smoke", "--jobs", "2").communicate()
    assert out.startswith("0 done, 0 failed, 0 skipped, 80 were there already"), err
    assert "nothing to do" in err
    assert files(tmp_path / "smoke") == before


def test_the_comparison_sees_what_differs_and_what_may(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(
            f'{{"seconds": {value}, "history": [{{"seconds": {value}, "loss": 1}}], "facts": {{"threads": 1}}}}'
        )
    assert differences(tmp_path / "a", tmp_path / "b") == []
    assert results(tmp_path / "a") == {"x.json": {"history": [{"loss": 1}], "facts": {"threads": 1}}}
    (tmp_path / "b" / "x.json").write_text('{"history": [{"loss": 2}], "facts": {"seconds": 1}}')
    (tmp_path / "b" / "y.json").write_text("{}")
    assert differences(tmp_path / "a", tmp_path / "b") == ["x.json: facts", "x.json: history", "y.json"]
    assert stripped({"trials": [{"seconds": 1, "options": {"seconds": 2}}]}) == {
        "trials": [{"options": {"seconds": 2}}]
    }
