"""Grids on a cluster of several nodes on this machine: the same files, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from grid.tiny import PIECES, TINY, Inline, differences, files, write_tiny
from vmask.cli import main
from vmask.cluster.connection import connected, import_ray
from vmask.cluster.parcels import PARCELS
from vmask.errors import WorkFailed
from vmask.grid.engines.ray import RayEngine
from vmask.grid.run import Grid
from vmask.grid.spec import read_experiment
from vmask.grid.worker import Places

pytest.importorskip("ray", reason="needs the extra 'ray'")

pytestmark = [pytest.mark.full, pytest.mark.skipif(sys.platform == "win32", reason="no signals")]
PATIENCE = 300
"""Seconds to wait for what takes a few, on a machine that has other things to do."""
SMOKE = Path(__file__).parents[3] / "experiments" / "smoke.yaml"
LONGER = {"cnn": {**TINY["models"]["cnn"], "epochs": 30, "patience": 0}}
"""Trainings that last long enough to be killed in the middle."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head without CPUs, and a function that adds a node with a cache of its own."""
    from ray.cluster_utils import Cluster

    folder = tmp_path_factory.mktemp("cluster")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.caches = []

    def add(tries=3):
        cache = folder / f"node-{len(made.caches)}"
        made.caches.append(cache)
        try:
            return made.add_node(num_cpus=1, env_vars={"VMASK_CACHE": str(cache), "OMP_NUM_THREADS": "1"})
        except Exception:  # a busy machine takes longer to start a node than Ray waits
            if tries == 1:
                raise
            return add(tries - 1)

    made.add = add
    for _ in range(3):
        add()
    made.wait_for_nodes()
    yield made
    import_ray().shutdown()
    made.shutdown()


@pytest.fixture
def start(cluster, tmp_path):
    """Start `vmask grid` on the cluster, in a group of processes of its own; all share a folder."""
    begun = []

    def begin(file):
        words = ["--out", tmp_path / "out", "--models", tmp_path / "models", "--engine", "ray"]
        environment = {**os.environ, "VMASK_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "vmask", "grid", file, *words, "--address", cluster.address]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(list(map(str, command)), start_new_session=True, env=environment, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The results of the same grid, done in this process."""

    def results(file):
        monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
        words = ["--out", str(tmp_path / "alone"), "--models", str(tmp_path / "alone-models"), "--quiet"]
        assert main(["grid", str(file), *words]) == 0
        return tmp_path / "alone"

    return results


def done(err):
    """The pieces that a grid says it has done."""
    return Counter(line.partition(":")[0] for line in err.splitlines() if ": done (" in line)


def wait_until(true, process):
    end = time.monotonic() + PATIENCE
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_three_nodes_give_the_files_of_one_process(start, alone, cluster, tmp_path):
    file = write_tiny(tmp_path)
    process = start(file)
    out, err = process.communicate()
    assert out.startswith(f"{PIECES} done, 0 failed, 0 skipped, 0 were there already"), err
    assert sum(done(err).values()) == PIECES
    assert differences(alone(file), tmp_path / "out") == []
    trained = {path.name for path in (tmp_path / "models").iterdir()}
    assert trained == {path.name for path in (tmp_path / "alone-models").iterdir()}, "the driver has all models"
    places = {line.rpartition(" (")[2] for line in err.splitlines() if ": done (" in line}
    assert len(places) > 1, "several workers took part"


@pytest.mark.slow
def test_a_node_and_then_the_driver_are_killed(start, alone, cluster, tmp_path):
    file = write_tiny(tmp_path, models=LONGER)
    first = start(file)
    wait_until(lambda: len(files(tmp_path / "out")) >= 3, first)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    before = len(files(tmp_path / "out"))
    wait_until(lambda: len(files(tmp_path / "out")) > before, first)
    os.kill(first.pid, signal.SIGKILL)
    _, err_of_first = first.communicate()
    cluster.add()
    second = start(file)
    out, err = second.communicate()
    assert ", 0 failed, 0 skipped, " in out, err
    assert all(number == 1 for number in (done(err) + done(err_of_first)).values()), "nothing is done twice"
    assert differences(alone(file), tmp_path / "out") == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_smoke_grid_is_that_of_local_whoever_is_killed(start, cluster, tmp_path):
    words = ["--out", tmp_path / "local", "--models", tmp_path / "local-models", "--jobs", 2, "--engine", "local"]
    command = [str(word) for word in (sys.executable, "-m", "vmask", "grid", SMOKE, *words)]
    environment = {**os.environ, "VMASK_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    local = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert local.returncode == 0, local.stderr
    pieces = len(files(tmp_path / "local"))

    first = start(SMOKE)
    wait_until(lambda: len(files(tmp_path / "out")) >= pieces // 4, first)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    wait_until(lambda: len(files(tmp_path / "out")) >= pieces // 2, first)
    os.kill(first.pid, signal.SIGKILL)
    _, err_of_first = first.communicate()
    cluster.add()
    out, err = start(SMOKE).communicate()
    assert ", 0 failed, 0 skipped, " in out, err
    assert set((done(err) + done(err_of_first)).values()) == {1}, "nothing is done twice"
    assert differences(tmp_path / "local", tmp_path / "out") == []


@pytest.mark.slow
def test_two_drivers_share_the_work(start, alone, tmp_path):
    file = write_tiny(tmp_path)
    processes = [start(file), start(file)]
    ended = [process.communicate() for process in processes]
    counts = sum((done(err) for _, err in ended), Counter())
    assert set(counts.values()) == {1}, ended
    assert len(counts) == PIECES
    assert differences(alone(file), tmp_path / "out") == []


def test_no_process_of_a_cluster_of_this_machine_is_left(tmp_path):
    """Also not when the driver is killed."""
    file = write_tiny(tmp_path, models={"cnn": {**LONGER["cnn"], "epochs": 100_000}}, search=None, stages=None)
    words = ["--out", tmp_path / "out", "--models", tmp_path / "models", "--engine", "ray"]
    environment = {**os.environ, "VMASK_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    environment.pop("RAY_ADDRESS", None)
    command = [str(word) for word in (sys.executable, "-m", "vmask", "grid", file, *words)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = tmp_path / "cache" / "grid"
    wait_until(lambda: any(found.glob("tiny-*/*/checkpoint/state.json")), process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("raylet" in " ".join(child.cmdline()) for child in children)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert [one.cmdline() for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture(scope="module")
def connection(cluster):
    with connected(cluster.address):
        yield


def run(tmp_path, **changes):
    experiment = read_experiment(write_tiny(tmp_path, **changes))
    grid = Grid(experiment, Places(tmp_path / "results", tmp_path / "models"))
    outcomes, messages = {}, []
    grid.run(
        1,
        lambda task, outcome, error: outcomes.update({task.title: (outcome, error)}),
        messages.append,
        engine=RayEngine(experiment, grid.places),
    )
    return outcomes, messages


SMALL = {"search": None, "stages": None, "grid": [{**TINY["grid"][0], "masks": ["base"], "seeds": 0}]}
CELL = "reviews--cnn--base--s0 train"


def test_an_error_is_recorded_with_its_reason_and_not_tried_again(connection, tmp_path):
    models = {"cnn": {**TINY["models"]["cnn"], "embeddings": "nowhere.npy"}}
    outcomes, _ = run(tmp_path, models=models, **SMALL)
    outcome, error = outcomes[CELL]
    assert outcome == "failed"
    assert "nowhere.npy" in error


def test_a_worker_that_always_dies_is_given_up(connection, tmp_path, monkeypatch):
    def dies(order, gpus, job, shipment):
        yield "here"
        time.sleep(1)  # until the driver has heard of it
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("vmask.grid.engines.ray._do", dies)
    outcomes, _ = run(tmp_path, **SMALL)
    outcome, error = outcomes[CELL]
    assert outcome == "failed"
    assert error.startswith("The worker died 4 times. Was there enough memory?")


def test_a_cluster_that_can_do_nothing_is_told(connection, tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.engines.ray.facts", lambda: {"versions": {"vmask": "0.0.1"}})
    with pytest.raises(WorkFailed, match=r"has vmask .*, the driver has 0.0.1. Install the same on both"):
        run(tmp_path, **{**SMALL, "grid": [{**TINY["grid"][0], "masks": ["base"], "seeds": "0-3"}]})


def test_vectors_travel_to_nodes_that_lack_them(connection, cluster, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 0.5 1\ngood 1 0\nbad 0 1\n", encoding="utf-8")
    models = {"cnn": {**TINY["models"]["cnn"], "embeddings": str(vectors)}}
    outcomes, _ = run(tmp_path, models=models, **SMALL)
    assert outcomes == {CELL: ("done", "")}
    shipped = [path for cache in cluster.caches for path in (cache / PARCELS).glob("*/vectors.txt")]
    assert len(shipped) == 1, "the node that trained has them"
    record = (tmp_path / "results" / "cells" / "reviews--cnn--base--s0.json").read_text(encoding="utf-8")
    assert str(cluster.caches[0].parent) not in record, "no path of a node is in the results"


def test_what_no_machine_has_is_told(connection, tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.engines.ray.LOOK_AT_CLUSTER", 0.2)
    experiment = read_experiment(write_tiny(tmp_path, engine={"tasks": {"train": {"cpus": 50}}}, **SMALL))
    grid = Grid(experiment, Places(tmp_path / "results", tmp_path / "models"))

    class Enough(Exception):
        pass

    def stop(message):
        assert "no machine of the cluster has 50 CPUs, 0 GPUs and 0 GB, which train takes" in message
        raise Enough

    with pytest.raises(Enough):
        grid.run(1, lambda *_: None, stop, engine=RayEngine(experiment, grid.places))
