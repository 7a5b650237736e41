"""Workers of a real Ray: the same bytes as on one machine, whoever dies."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from processes import below_here, descendants, title, wait_until_gone
from toy import write_csv
from vmask import evaluate
from vmask.cli import main
from vmask.cluster.texts import explain_texts as explain_on_cluster
from vmask.cluster.workers import workers_of
from vmask.config import WorkersConfig
from vmask.data.datasets import load_table
from vmask.errors import WorkFailed
from vmask.explain import shards
from vmask.explain.api import explain_texts
from vmask.explain.shards import ExplainWork, explain_shards
from vmask.inference.threads import single_threaded
from vmask.inference.work import Here, PredictWork, numbered
from vmask.text.words import chunks

pytestmark = [pytest.mark.full, pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")]

METHODS = {"lime": {"samples": 50}, "shapley": {"permutations": 4}, "mask": {}}
MEASURED = {"metrics": "all,-naopc", "explainers": {"lime": {"samples": 50}, "mask": {}}, "n": 50}


@pytest.fixture(scope="module")
def texts(many):
    return load_table(many).texts


@dataclasses.dataclass(frozen=True)
class Dies:
    """Work whose first worker dies at some job, unless a file says that it has died; `always`: every one does."""

    flag: Path
    at: int
    always: bool = False

    def begin(self, models):
        def do(job):
            if job == self.at and (self.always or not self.flag.exists()):
                self.flag.touch()
                os._exit(1)
            return -job

        return do


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_workers_changes_no_byte(ray_here, fitted, model_folder, many, texts, workers, monkeypatch):
    monkeypatch.setattr(shards, "QUICK_BATCHES", 1)  # several shards
    with workers_of([model_folder], WorkersConfig(engine="ray", workers=workers), "cpu") as shared:
        parts = list(numbered(chunks(texts, 16)))
        here = Here([fitted.predictor_])
        assert [part.tobytes() for part in shared.map(PredictWork(), parts)] == [
            part.tobytes() for part in here(PredictWork(), parts)
        ]
        for method, options in METHODS.items():
            found = explain_shards(shared.map, ExplainWork(method, options), fitted, texts)
            assert [e.to_json() for e in found] == [
                e.to_json() for e in explain_texts(fitted, texts, method, **options)
            ]
        found = evaluate(fitted, load_table(many), **MEASURED, share=shared.map)
        assert as_json(found) == as_json(evaluate(fitted, load_table(many), **MEASURED))


def as_json(evaluation):
    return json.dumps([evaluation.to_dict(), [score.values.tolist() for score in evaluation.found[0].values()]])


def test_a_worker_that_is_killed_costs_only_what_it_was_doing(ray_here, model_folder, tmp_path, caplog):
    caplog.set_level("INFO", "vmask")
    ray_here.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    with workers_of([model_folder], WorkersConfig(engine="ray", workers=2), "cpu") as shared:
        assert list(shared.map(Dies(tmp_path / "died", 5), range(12))) == [-job for job in range(12)]
        # The answer before it may still be on its way, and is then asked for again too.
        assert re.search(r"A worker has died at \d+, which is tried again", caplog.text)
        results = shared.map(Dies(tmp_path / "poison", 5, always=True), range(12))
        assert [next(results) for _ in range(5)] == [0, -1, -2, -3, -4]
        with pytest.raises(WorkFailed, match="has died 3 times at 5: "):
            next(results)


def test_workers_that_are_killed_from_outside_are_replaced(ray_here, fitted, model_folder, texts, monkeypatch):
    monkeypatch.setattr(shards, "QUICK_BATCHES", 1)
    expected = [e.to_json() for e in explain_texts(fitted, texts, "lime", samples=200)]
    before = set(below_here())
    found = explain_on_cluster(model_folder, texts, "lime", workers=2, device="cpu", samples=200)
    lines = [next(found).to_json()]
    for pid in set(below_here()) - before:
        if title(pid).startswith("ray::ModelWorker"):
            os.kill(pid, signal.SIGKILL)
    lines += [e.to_json() for e in found]
    assert lines == expected
    left = [pid for pid in below_here() if title(pid).startswith("ray::ModelWorker")]
    assert wait_until_gone(left) == []


def test_an_encoder_is_explained_alike(ray_here, fitted_encoder, texts, tmp_path):
    pytest.importorskip("transformers")
    folder = fitted_encoder().save(tmp_path / "bert")
    with single_threaded():
        expected = [e.to_json() for e in explain_texts(fitted_encoder(), texts[:20], "lime", samples=300)]
    found = explain_on_cluster(folder, texts[:20], "lime", workers=2, device="cpu", samples=300)
    assert [e.to_json() for e in found] == expected


def run(words, capsys):
    """Run a command in this process, which is connected to the cluster."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    caught = capsys.readouterr()
    return code, caught.out, caught.err


RAY = ("--engine", "ray", "--workers", "2")


def test_commands_give_the_same_output(ray_here, capsys, model_folder, many, tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    rows = load_table(many)
    for number, start in enumerate(range(0, len(rows.texts), 40)):
        part = slice(start, start + 40)
        write_csv(folder / f"part-{number}.csv", rows.texts[part], rows.labels[part])
    predict = ("predict", model_folder, folder, "--json")
    measure = (
        "evaluate",
        model_folder,
        many,
        "--metrics",
        "aopc,accuracy",
        "--explainers",
        "lime",
        "--lime.samples",
        50,
    )
    compare = ("compare", model_folder, model_folder, *measure[2:])
    for words in (predict, (*measure, "--json"), (*compare, "--json")):
        there, here = run((*words, *RAY), capsys), run((*words, "--workers", 2), capsys)
        assert there[0] == 0, there[2]
        assert there[:2] == here[:2]
    explain = ("explain", model_folder, "--input", folder, "--method", "shapley", "--quiet")
    outs = [tmp_path / "ray.jsonl", tmp_path / "local.jsonl"]
    for out, more in zip(outs, (RAY, ()), strict=True):
        assert run((*explain, "--out", out, *more), capsys)[0] == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert len(outs[0].read_bytes().splitlines()) == len(rows.texts)


def test_the_texts_before_an_unreadable_row_come_first(ray_here, capsys, model_folder, tmp_path, monkeypatch):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(json.dumps({"text": f"a lovely film {n}"}) + "\n" for n in range(40)) + "no JSON\n")
    for words in (("predict", model_folder, bad), ("explain", model_folder, "--input", bad, "--json")):
        there, here = run((*words, *RAY), capsys), run(words, capsys)
        assert there == here
        assert there[0] == 2
        assert len(there[1].splitlines()) == 40
        assert "Line 41 of 'bad.jsonl' is not JSON" in there[2]
    results = []
    for more in (RAY, ()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"lovely\n\xff\n")))
        results.append(run(("predict", model_folder, "-", *more), capsys))
    assert results[0] == results[1]


def test_a_model_without_word_scores_is_said_as_on_one_machine(ray_here, capsys, toy, many, tmp_path):
    from vmask import TextClassifier

    texts, labels = toy
    TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2).fit(texts, labels).save(tmp_path / "m")
    words = ("explain", tmp_path / "m", "--input", many)
    there = run((*words, *RAY), capsys)
    assert there == run(words, capsys)
    assert "--method lime" in there[2]


SLOW = """
import signal, sys, time
from vmask.cli import main
from vmask.explain import shards
from vmask.explain.contract import Explanation

to_json = Explanation.to_json

def slowly(explanation):
    time.sleep(0.3)
    return to_json(explanation)

shards.QUICK_BATCHES, Explanation.to_json = 1, slowly
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what it starts in the background
sys.exit(main(sys.argv[1:]))
"""
"""A command in small shards that takes its time to write each explanation, so that it can be ended on the way."""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_driver_that_ends_leaves_no_process_and_the_same_command_goes_on(model_folder, many, tmp_path, how):
    out = tmp_path / "out.jsonl"
    method = ("--method", "lime", "--method.samples", "2000")
    explain = [sys.executable, "-m", "vmask", "explain", str(model_folder), "--input", str(many), *method]
    words = [*explain, "--out", str(out), "--engine", "ray", "--workers", "1"]
    slow = [sys.executable, "-c", SLOW, *words[3:]]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    driver = subprocess.Popen(slow, start_new_session=True, stderr=subprocess.PIPE, text=True, env=environment)
    part = out.with_name(f"{out.name}.part")
    while not (part.exists() and part.stat().st_size):
        assert driver.poll() is None, driver.communicate()[1]
        time.sleep(0.05)
    started = descendants(driver.pid)
    assert any("raylet" in title(pid) for pid in started)
    os.killpg(driver.pid, how)  # as the terminal does for Ctrl-C
    _, said = driver.communicate()
    if how is signal.SIGINT:
        assert driver.returncode == 130
        assert said == "interrupted; the same command goes on\n"
    assert wait_until_gone(started) == []
    assert part.exists()
    again = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    assert "going on after" in again.stderr
    whole = tmp_path / "whole.jsonl"
    subprocess.run([*explain, "--out", str(whole)], check=True, capture_output=True, env=environment)
    assert out.read_bytes() == whole.read_bytes()


LOSES_A_MACHINE = """
import subprocess, sys
from pathlib import Path
from vmask.cluster.connection import import_ray
import_ray()
from ray.cluster_utils import Cluster

flag, *words = sys.argv[1:]
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
machine = cluster.add_node(num_cpus=1)
driver = subprocess.Popen([*words, "--address", cluster.address], stdout=subprocess.PIPE, text=True)
out = driver.stdout.readline()
cluster.remove_node(machine, allow_graceful=False)
out += driver.stdout.read()
code = driver.wait()
cluster.shutdown()
Path(flag).write_text(out, encoding="utf-8")
sys.exit(code)
"""


def test_a_machine_that_is_lost_costs_only_what_it_was_doing(model_folder, tmp_path):
    source = tmp_path / "lines.txt"
    source.write_text("".join(f"a lovely film about {n} small towns\n" for n in range(20_000)), encoding="utf-8")
    predict = [sys.executable, "-m", "vmask", "predict", str(model_folder), str(source), "--json"]
    environment = {**os.environ, "VMASK_CACHE": str(tmp_path / "cache")}
    with tempfile.TemporaryDirectory(prefix="ray") as short:  # paths of sockets are limited to 107 characters
        found = subprocess.run(
            [sys.executable, "-c", LOSES_A_MACHINE, str(tmp_path / "out"), *predict, "--engine", "ray"],
            capture_output=True,
            text=True,
            env={**environment, "RAY_TMPDIR": short},
            check=False,
        )
    assert found.returncode == 0, found.stderr
    here = subprocess.run([*predict, "--workers", "1"], capture_output=True, text=True, env=environment, check=True)
    assert (tmp_path / "out").read_text(encoding="utf-8") == here.stdout  # Ray has printed nothing between
