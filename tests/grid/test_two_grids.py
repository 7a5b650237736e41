"""Two grids that are started in one folder share the work: each piece is done once, whoever is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import pytest

from grid.tiny import PIECES, TINY, Inline, differences, write_tiny
from vmask.cli import main
from vmask.grid.claims import LOCKS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no signals")]
PATIENCE = 180
"""Seconds to wait for what takes a few, on a machine that has other things to do."""


@pytest.fixture
def start(tmp_path):
    """Start `vmask grid` in a group of processes of its own; all share a folder."""
    begun = []

    def begin(file, jobs=1):
        words = ["--out", tmp_path / "out", "--models", tmp_path / "models", "--jobs", jobs]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "VMASK_CACHE": str(tmp_path / "cache")}
        command = [str(word) for word in (sys.executable, "-m", "vmask", "grid", file, *words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(command, start_new_session=True, env=environment, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The results of one grid that was left alone."""

    def run(file):
        monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
        assert main(["grid", str(file), "--out", str(tmp_path / "alone"), "--models", str(tmp_path / "m")]) == 0
        return tmp_path / "alone"

    return run


def did(err):
    """The pieces that a grid says it has done itself."""
    return Counter(re.findall(r"^(\S+ \S+): done$", err, re.MULTILINE))


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_grids_do_every_piece_once(start, alone, tmp_path, jobs):
    # One of them may come too late to do anything; that both work at once is in the test below.
    file = write_tiny(tmp_path)
    said = [process.communicate() for process in [start(file, jobs) for _ in range(2)]]
    for out, err in said:
        assert ", 0 failed, 0 skipped, " in out, err
    each = [did(err) for _, err in said]
    assert sum(each, Counter()) == Counter(dict.fromkeys(sum(each, Counter()), 1))
    assert sum(map(len, each)) == PIECES
    assert differences(alone(file), tmp_path / "out") == []
    assert not (tmp_path / "out" / LOCKS).exists()


def working(folder):
    """The pieces that are being done, and the process of the grid that has each."""
    found = {}
    for path in (folder / LOCKS).glob("*"):
        with suppress(OSError):
            found[path.name] = path.read_text().removeprefix("process ")
    return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_other_finishes_what_a_killed_grid_was_working_on(start, alone, tmp_path, jobs):
    models = {"cnn": {"embeddings": "random", "epochs": 60, "patience": 0, "batch_size": 20, "model__filters": 4}}
    block = {**TINY["grid"][0], "masks": ["vmask"], "seeds": f"0-{2 * jobs - 1}"}
    file = write_tiny(tmp_path, models=models, grid=[block], search=None, stages=TINY["stages"][:1])
    first, second = start(file, jobs), start(file, jobs)

    def both_train():
        mine = [name for name, process in working(tmp_path / "out").items() if process == str(first.pid)]
        begun = any(
            (tmp_path / "models").glob(f"{name.removesuffix('.train')}--*/checkpoint/state.json") for name in mine
        )
        return begun and str(second.pid) in working(tmp_path / "out").values()

    end = time.monotonic() + PATIENCE
    while not both_train():
        assert first.poll() is None, first.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)  # its processes notice and end
    _, err_of_first = first.communicate()
    out, err = second.communicate()
    assert ", 0 failed, 0 skipped, " in out, err
    assert not did(err) & did(err_of_first), "what was done is not done again"
    assert differences(alone(file), tmp_path / "out") == []
    assert not (tmp_path / "out" / LOCKS).exists()
