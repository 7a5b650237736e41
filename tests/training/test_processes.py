"""One model, trained by several processes and machines, which are started for it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch.testing import assert_close

from toy import toy_texts, write_csv
from training.trained_together import EXACT, LEARNS, digest, fit, multiplier, weights

pytestmark = pytest.mark.full
PROGRAM = Path(__file__).with_name("trained_together.py")
TESTS = str(PROGRAM.parents[1])
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
LIMIT = 300
"""Seconds after which processes count as hanging."""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(*command, cwd):
    words = [str(word) for word in command]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *filter(None, [os.environ.get("PYTHONPATH")])])}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment)


def ended(process):
    """Exit code, output and messages of a process; one that hangs is ended, and fails the test."""
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()
        raise AssertionError("it hangs") from None
    return process.returncode, out, err


def run(*command, cwd):
    return ended(start(*command, cwd=cwd))


@pytest.fixture(scope="module")
def still_encoder(encoder_folder):
    return encoder_folder("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.fixture(scope="module")
def together(tmp_path_factory, still_encoder):
    """What each of three processes got of the exact cases, and each of two of the others; and the weights."""
    results, folders = {}, {}
    for kind, processes, cases in (("exact", 3, EXACT), ("learns", 2, LEARNS)):
        out = folders[kind] = tmp_path_factory.mktemp(kind)
        code, _, err = run(*TORCHRUN, "--nproc-per-node", processes, PROGRAM, out, still_encoder, *cases, cwd=out)
        assert code == 0, err[-3000:]
        results[kind] = [json.loads((out / f"process-{rank}.json").read_text()) for rank in range(processes)]
    return results, folders


@pytest.mark.parametrize("case", EXACT)
def test_several_processes_do_the_steps_of_one(together, still_encoder, case):
    """Also with shares of other sizes, batches in parts, batches smaller than the number of processes."""
    results, folders = together
    alone, three = fit(EXACT[case], still_encoder), results["exact"]
    for row, *others in zip(alone.history_, *(one[case]["history"] for one in three), strict=True):
        assert others[0] == others[1] == others[2]
        assert others[0]["loss"] == pytest.approx(row["loss"], rel=1e-4)
        assert others[0]["dev_accuracy"] == row["dev_accuracy"]
    expected, found = weights(alone), load_file(folders["exact"] / f"{case}.safetensors")
    for name, tensor in expected.items():
        if not name.endswith("key.bias"):  # has no effect, and no gradient but rounding, which Adam makes large
            assert_close(found[name], tensor, rtol=1e-3, atol=1e-4)
    assert digest(weights(alone)) != three[0][case]["weights"], "rounding differs, if they really share the work"


@pytest.mark.parametrize("case", LEARNS)
def test_several_processes_learn_as_well_as_one(together, case):
    two = [one[case] for one in together[0]["learns"]]
    assert two[0]["weights"] == two[1]["weights"]
    assert two[0]["history"] == two[1]["history"]
    assert two[0]["score"] == two[1]["score"] > 0.85


def test_several_processes_stop_at_the_same_epoch(together):
    history = together[0]["learns"][0]["patience"]["history"]
    assert len(history) < 50


def test_the_main_process_alone_tells_the_trackers(together):
    for kind, cases in (("exact", EXACT), ("learns", LEARNS)):
        main, *others = together[0][kind]
        for case in cases:
            assert main[case]["tracked"] > 0
            assert [one[case]["tracked"] for one in others] == [0] * len(others)


def test_the_multiplier_of_select_follows_the_whole_batch(together):
    found = [one["multiplier"] for one in together[0]["exact"]]
    assert found == pytest.approx([multiplier(slice(None))] * 3)
    assert len({multiplier(slice(rank, None, 3)) for rank in range(3)}) == 3, "shares differ"


def test_processes_with_other_data_are_refused(together):
    for found in together[0]["exact"]:
        assert found["other data"].startswith("ConfigError: Not all processes have the training texts")
        assert "1, 2 of 3 differ" in found["other data"]


def test_a_loss_that_is_no_number_in_one_process_ends_all(together):
    for kind in ("exact", "learns"):
        for found in together[0][kind]:
            assert found["diverged"].startswith("TrainingDiverged: The loss is nan in epoch 1, step 2.")


# The command line ------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path):
    """The words of a training, its output folder apart."""
    data = write_csv(tmp_path / "toy.csv", *toy_texts(120))
    few = ["--embeddings", "random", "--mask", "select", "--model.filters", 8, "--patience", 0, "--report", "none"]
    return ["-m", "vmask", "train", data, "--device", "cpu", "--batch-size", 20, *few]


def on_two_machines(command, cwd, *more):
    """Start the nodes of a training, each in a folder of its own; all have the address of this machine."""
    port = free_port()
    nodes = []
    for node in (0, 1):
        folder = cwd / f"machine-{node}"
        folder.mkdir(exist_ok=True)
        of_node = ["--nnodes", 2, "--node-rank", node, "--master-addr", "127.0.0.1", "--master-port", port]
        nodes.append(start(*TORCHRUN, *of_node, "--nproc-per-node", 1, *command, *more, cwd=folder))
    return nodes


def worker_of(launcher):
    """The number of the process that `torchrun` has started."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    (worker,) = children.read_text().split()
    return int(worker)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to find the process")
def test_machines_end_when_one_dies_and_resume_without_a_common_disk(command, tmp_path):
    pytest.importorskip("tensorboard", reason="needs vmask[tensorboard]")
    command += ["--epochs", 60, "--out", "model"]
    assert run(*TORCHRUN, "--nproc-per-node", 2, *command, cwd=tmp_path)[0] == 0

    command += ["--track", "tensorboard"]
    nodes = on_two_machines(command, tmp_path)
    state = tmp_path / "machine-0" / "model" / "checkpoint" / "state.json"
    limit = time.monotonic() + LIMIT
    while not state.exists():
        assert all(node.poll() is None for node in nodes), [ended(node) for node in nodes]
        assert time.monotonic() < limit
        time.sleep(0.01)
    os.kill(worker_of(nodes[1]), signal.SIGKILL)
    (code, _, err), (other_code, _, _) = [ended(node) for node in nodes]
    assert code != 0
    assert other_code != 0
    assert "error: Another process of this training has ended" in err
    assert "with --resume goes on" in err
    assert 0 < json.loads(state.read_text())["epoch"] < 60

    (code, _, err), (other_code, out, _) = [ended(node) for node in on_two_machines(command, tmp_path, "--resume")]
    assert (code, other_code) == (0, 0), err[-3000:]
    assert not out
    weights = [(folder / "model" / "model.safetensors").read_bytes() for folder in (tmp_path, tmp_path / "machine-0")]
    assert weights[0] == weights[1], "as if nothing had happened"
    assert list((tmp_path / "machine-0" / "tracking").rglob("events.*"))
    assert not list((tmp_path / "machine-1").rglob("*")), "the main process alone writes"


def test_a_machine_that_lacks_the_data_ends_the_others(command, tmp_path):
    (tmp_path / "machine-0").mkdir()
    (tmp_path / "toy.csv").rename(tmp_path / "machine-0" / "toy.csv")
    command[command.index(tmp_path / "toy.csv")] = "toy.csv"
    (code, _, err), (other_code, _, other_err) = [ended(node) for node in on_two_machines(command, tmp_path)]
    assert code != 0
    assert other_code != 0
    assert "process 1: error: There is no file 'toy.csv'" in other_err
    assert "error: Another process of this training has ended" in err


def test_a_training_that_is_finished_is_resumed_by_all(command, tmp_path):
    command = [*TORCHRUN, "--nproc-per-node", 2, *command, "--epochs", 2, "--out", tmp_path / "model"]
    code, _, err = run(*command, cwd=tmp_path)
    assert code == 0, err[-3000:]
    code, out, err = run(*command, "--resume", cwd=tmp_path)
    assert code == 0, err[-3000:]
    assert "is finished" in err
    assert out.count("saved to") == 1
    code, _, err = run(*command, cwd=tmp_path)
    assert code
    assert err.count("error: ") == 1
    assert "add --resume" in err


def test_accelerate_launch_starts_several_processes_on_cpus(command, tmp_path):
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", 2]
    code, out, err = run(*launch, *command, "--epochs", 2, "--out", tmp_path / "model", cwd=tmp_path)
    assert code == 0, err[-3000:]
    assert err.count("2 processes train together") == 1
    assert out.count("saved to") == 1
