"""The recipes of examples/cluster: scripts of SLURM, run with stubs of `srun` and `scontrol`, and one of KubeRay."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from grid.tiny import write_tiny
from toy import toy_texts, write_csv
from vmask.cli.main import build_parser
from vmask.cluster.connection import ALONE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="SLURM runs on Linux")
HERE = Path(__file__).parent
RECIPES = HERE.parents[1] / "examples" / "cluster"
SCRIPTS = sorted(RECIPES.glob("*.sh"))
SCREEN = 45
"""Lines that a script may have."""
LIMIT = 300


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_bash_and_fits_on_a_screen(script):
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert len(script.read_text(encoding="utf-8").splitlines()) <= SCREEN


@pytest.fixture
def job(tmp_path):
    """The environment of a job of two nodes; `bin` comes first in PATH and may get more stubs."""
    bin_folder = tmp_path / "bin"
    shutil.copytree(HERE / "stubs", bin_folder)
    (tmp_path / "home").mkdir()
    (tmp_path / "log").touch()
    path = os.pathsep.join([str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_NNODES": "2", "SLURM_CPUS_PER_TASK": "1", "SLURMD_NODENAME": "node0"}
    outside = {name: value for name, value in os.environ.items() if name not in ALONE}  # nodes reach each other
    return {**outside, **slurm, "PATH": path, "HOME": str(tmp_path / "home"), "STUB_LOG": str(tmp_path / "log")}


def stub(job, name, text):
    path = Path(job["PATH"].partition(os.pathsep)[0]) / name
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def called(job, *names):
    """The calls of these stubs, in their order."""
    lines = Path(job["STUB_LOG"]).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.split()[0] in names]


@pytest.fixture
def without_ray(job):
    """The same, with a stub of `ray` and this machine at 127.0.0.1."""
    stub(job, "ray", 'echo "ray $*" >>"$STUB_LOG"')
    stub(job, "hostname", "echo 127.0.0.1")
    return job


@pytest.mark.parametrize("nodes", [1, 3])
def test_ray_is_started_on_every_node_and_the_grid_on_the_first(without_ray, tmp_path, nodes):
    stub(without_ray, "vmask", 'echo "vmask $*" >>"$STUB_LOG"; sleep 1; exit 7')
    words = ["bash", str(RECIPES / "slurm.sh"), "mine.yaml", "--out", "my results"]
    done = subprocess.run(words, env={**without_ray, "SLURM_NNODES": str(nodes)}, cwd=tmp_path, timeout=60)
    assert done.returncode == 7, "the exit code of the grid"
    rays = called(without_ray, "ray")
    assert rays[:2] == [
        "ray get-auth-token --generate",
        "ray start --head --node-ip-address 127.0.0.1 --port 24711 --num-cpus 1",
    ]
    assert rays[2:] == ["ray start --address 127.0.0.1:24711 --num-cpus 1 --block"] * (nodes - 1)
    for srun in called(without_ray, "srun"):
        assert f"--mpi=none --nodes={nodes - 1} --ntasks={nodes - 1} --exclude=node0" in srun
    assert called(without_ray, "vmask") == [
        "vmask grid mine.yaml --out my results --engine ray --address 127.0.0.1:24711"
    ]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_job_is_queued_again_before_its_time_is_up(without_ray, tmp_path, script):
    for name in ("vmask", "torchrun"):
        stub(without_ray, name, f'echo "{name} began" >>"$STUB_LOG"; sleep 20')
    process = subprocess.Popen(["bash", str(script), "a"], env=without_ray, cwd=tmp_path, start_new_session=True)
    try:
        limit = time.monotonic() + 30
        while not called(without_ray, "vmask", "torchrun"):
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(signal.SIGUSR1)
        assert process.wait(30) != 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert called(without_ray, "scontrol") == ["scontrol requeue 4711"]
    assert "#SBATCH --signal=B:USR1@" in script.read_text(encoding="utf-8")


@pytest.mark.full
def test_a_training_over_two_nodes_is_resumed_by_the_same_job(without_ray, tmp_path):
    write_csv(tmp_path / "toy.csv", *toy_texts(60))
    words = ["toy.csv", "--out", "my model", "--embeddings", "random", "--epochs", "2", "--device", "cpu"]
    command = ["bash", str(RECIPES / "slurm_train.sh"), *words, "--report", "none"]
    done = subprocess.run(command, env=without_ray, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 processes train together" in done.stderr
    assert (tmp_path / "my model" / "model.safetensors").is_file()
    done = subprocess.run(command, env=without_ray, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "is finished" in done.stderr


# Real clusters in small ---------------------------------------------------------------------------------------

ISOLATED = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
"""Ray listens on all addresses of a machine, so it gets machines of its own."""


@pytest.fixture
def two_machines(job, tmp_path):
    """Run a script as a job of two nodes that see the same disk; gives its output."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs vmask[ray]")
    missing = [tool for tool in ("unshare", "nsenter", "ip", "pgrep") if shutil.which(tool) is None]
    if missing or subprocess.run([*ISOLATED, "ip", "link", "set", "lo", "up"], capture_output=True).returncode:
        pytest.skip("needs to be allowed to make namespaces")

    def run(script, *words):
        command = [*ISOLATED, "bash", str(HERE / "two_machines.sh"), str(script), *map(str, words)]
        done = subprocess.run(command, env=job, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"[-4000:]
        return done.stdout

    return run


@pytest.mark.full
def test_ray_spans_two_machines(two_machines, job):
    stub(job, "vmask", f'exec {shlex.join([sys.executable, str(HERE / "ask_ray.py")])} "$@"')
    assert "tasks ran on 10.77.0.1 10.77.0.2\n" in two_machines(RECIPES / "slurm.sh", "mine.yaml")


@pytest.mark.full
def test_a_training_spans_two_machines(two_machines, tmp_path):
    write_csv(tmp_path / "toy.csv", *toy_texts(60))
    words = [
        "toy.csv",
        "--out",
        "model",
        "--embeddings",
        "random",
        "--epochs",
        "2",
        "--device",
        "cpu",
        "--report",
        "none",
    ]
    assert "saved to model" in two_machines(RECIPES / "slurm_train.sh", *words)


@pytest.mark.full
def test_a_grid_spans_two_machines(two_machines, job, tmp_path):
    stub(job, "vmask", f'exec {shlex.quote(sys.executable)} -m vmask "$@"')
    (tmp_path / "experiment").mkdir()
    file = write_tiny(tmp_path / "experiment", search=None, stages=None)
    words = [file, "--out", tmp_path / "results", "--models", tmp_path / "models"]
    assert "4 done, 0 failed" in two_machines(RECIPES / "slurm.sh", *words)
    assert "0 done, 0 failed, 0 skipped, 4 were there already" in two_machines(RECIPES / "slurm.sh", *words)


# Kubernetes -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifests():
    with (RECIPES / "rayjob.yaml").open(encoding="utf-8") as stream:
        return {one["kind"]: one for one in yaml.safe_load_all(stream)}


def test_the_manifest_is_a_ray_job_with_a_head_and_workers(manifests):
    job = manifests["RayJob"]
    assert job["apiVersion"] == "ray.io/v1"
    assert job["metadata"]["name"]
    assert set(job["spec"]) == {"entrypoint", "backoffLimit", "shutdownAfterJobFinishes", "rayClusterSpec"}
    cluster = job["spec"]["rayClusterSpec"]
    assert set(cluster) == {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
    assert cluster["authOptions"] == {"mode": "token"}
    assert all(isinstance(value, str) for value in cluster["headGroupSpec"]["rayStartParams"].values())
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    images = set()
    for group in (cluster["headGroupSpec"], workers):
        assert {"rayStartParams", "template"} <= set(group)
        (container,) = group["template"]["spec"]["containers"]
        assert {"name", "image", "resources", "env"} <= set(container)
        images.add(container["image"])
    assert len(images) == 1


def test_the_results_of_a_ray_job_are_on_a_volume_of_the_head(manifests):
    spec = manifests["RayJob"]["spec"]
    pod = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    (volume,) = pod["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == manifests["PersistentVolumeClaim"]["metadata"]["name"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    words = shlex.split(spec["entrypoint"])
    paths = [words[2], *(words[words.index(name) + 1] for name in ("--out", "--models"))]
    assert all(Path(path).is_relative_to(mount["mountPath"]) for path in paths)


def test_the_ray_version_of_the_manifest_is_the_one_that_is_tested(manifests):
    ray = pytest.importorskip("ray", reason="needs vmask[ray]")
    assert manifests["RayJob"]["spec"]["rayClusterSpec"]["rayVersion"] == ray.__version__


def test_the_commands_of_the_recipes_are_commands_of_ours(manifests):
    script = (RECIPES / "slurm.sh").read_text(encoding="utf-8")
    (line,) = [line for line in script.splitlines() if line.startswith("vmask grid")]
    of_slurm = (
        line.removesuffix(" &").replace('"$@"', "mine.yaml --out results").replace("$host:$port", "10.0.0.1:6379")
    )
    for command in (manifests["RayJob"]["spec"]["entrypoint"], of_slurm):
        program, *words = shlex.split(command)
        assert program == "vmask"
        args = build_parser(words).parse_args(words)
        assert args.engine == "ray"
        assert args.address in ("auto", "10.0.0.1:6379")
