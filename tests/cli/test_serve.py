"""`vmask serve`: what it says before it serves."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from vmask.serve import server


@pytest.fixture
def not_served(monkeypatch):
    """The command up to where it would serve: it is ready, and ends."""
    apps = []

    def run_app(app, listener, on_ready):
        apps.append((app, listener.getsockname()[1]))
        on_ready()
        app.state.api.close(30)

    monkeypatch.setattr(server, "run_app", run_app)
    return apps


def test_it_prints_the_address_the_models_and_where_the_api_is(vmask, trained, base_model, not_served):
    done = vmask("serve", trained, base_model, "--port", 0)
    assert done.code == 0
    ((_, port),) = not_served
    assert port > 0
    assert done.lines == [
        "model: CNN-vmask on reviews.csv",
        "base: CNN-base on reviews.csv",
        f"http://127.0.0.1:{port} (the API: http://127.0.0.1:{port}/docs)",
    ]
    assert done.err.splitlines() == ["Ctrl-C stops", "stopped"]


def test_examples_are_those_of_the_training_data_or_of_others(vmask, trained, reviews_csv, toy_csv, not_served):
    vmask("serve", trained, "--port", 0)
    vmask("serve", trained, "--port", 0, "--data", toy_csv, "--examples", 5)
    vmask("serve", trained, "--port", 0, "--examples", 0)
    first, second, third = (app.state.api.models[0].examples for app, _ in not_served)
    assert first.describe() == {"dataset": reviews_csv.name, "split": "test", "n": 12}
    assert second.describe()["n"] == 5
    assert third is None


def test_without_its_data_it_serves_and_says_so(vmask, model_folder, not_served):
    done = vmask("serve", model_folder, "--port", 0)
    assert done.code == 0
    assert done.err.splitlines()[0] == (
        "cnn: no examples. The model does not say which data it was trained on. Name the data: a file or a dataset."
    )
    assert vmask("serve", model_folder, "--port", 0, "--quiet").err == ""


def test_json_for_machines(vmask, trained, not_served):
    found = vmask("serve", trained, trained, "--port", 0, "--json").json
    ((_, port),) = not_served
    address = f"http://127.0.0.1:{port}"
    assert found == {"address": address, "docs": f"{address}/docs", "models": ["model", "model-2"]}


def test_another_host_is_warned_of(vmask, trained, not_served):
    done = vmask("serve", trained, "--port", 0, "--host", "0.0.0.0", "--insecure")
    assert done.err.startswith("warning: other machines can reach 0.0.0.0; everybody who reaches it may use")
    assert len(done.err.splitlines()) == 3  # and how it ends
    for host in ("127.0.0.1", "localhost"):
        assert "warning" not in vmask("serve", trained, "--port", 0, "--host", host).err


def test_the_address_for_other_machines_is_printed(vmask, trained, not_served, monkeypatch):
    monkeypatch.setattr(server, "_own_address", lambda: "192.168.1.7")
    words = ["serve", trained, "--port", 0, "--host", "0.0.0.0", "--insecure"]
    done = vmask(*words)
    port = not_served[-1][1]
    assert done.lines[-2:] == [
        f"http://127.0.0.1:{port} (the API: http://127.0.0.1:{port}/docs)",
        f"http://192.168.1.7:{port} (from other machines)",
    ]
    found = vmask(*words, "--json").json
    port = not_served[-1][1]
    assert (found["address"], found["network_address"]) == (f"http://127.0.0.1:{port}", f"http://192.168.1.7:{port}")
    monkeypatch.setattr(server, "_own_address", lambda: None)
    assert vmask(*words).lines[-1].endswith("/docs)")


@pytest.mark.full
@pytest.mark.parametrize(("length", "short"), [(1, True), (15, True), (16, False), (64, False)])
def test_a_short_token_is_warned_of_where_other_machines_can_guess_it(vmask, trained, not_served, length, short):
    words = ["serve", trained, "--port", 0, "--token", "x" * length]
    done = vmask(*words, "--host", "0.0.0.0")
    assert (f"warning: the token has {length} characters, which can be guessed; use at least 16" in done.err) == short
    assert "x" * length not in done.err.replace("use at least", "") or length == 1
    assert "warning" not in vmask(*words).err


def test_other_machines_need_a_token_of_the_command_line_or_the_environment(
    vmask, fails, trained, not_served, monkeypatch
):
    monkeypatch.delenv("VMASK_TOKEN", raising=False)
    words = ["serve", trained, "--port", 0, "--host", "0.0.0.0"]
    assert "Set the variable VMASK_TOKEN" in fails(*words)
    monkeypatch.setenv("VMASK_TOKEN", "")
    assert "--insecure" in fails(*words)
    assert not not_served
    monkeypatch.setenv("VMASK_TOKEN", "of-the-environment")
    done = vmask(*words)
    assert done.code == 0
    assert "everybody who has the token may use the models" in done.err
    assert "of-the-environment" not in done.err + done.out
    assert vmask(*words, "--token", "of-the-line").code == 0
    assert [app.state.api.settings.token for app, _ in not_served] == ["of-the-environment", "of-the-line"]


def test_limits_are_options(vmask, trained, not_served):
    words = ["--explain-seconds", "2.5", "--max-texts", "3", "--allow-host", "demo.example", "--max-queue", "0"]
    vmask("serve", trained, "--port", 0, *words)
    settings = not_served[0][0].state.api.settings
    assert (settings.explain_seconds, settings.max_texts, settings.max_queue) == (2.5, 3, 0)
    assert settings.allowed_hosts() == ("demo.example",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none"], "There is no model folder none"),
        ([], "arguments are required: DIR"),
        (["--port", "99999"], "port is 99999; it must be from 0 to 65535"),
        (["--port", "x"], "argument --port"),
        (["--explain-seconds", "0"], "explain_seconds is 0.0; it must be above 0"),
        (["--max-texts", "0"], "max_texts is 0"),
        (["--host", "203.0.113.7", "--insecure"], "203.0.113.7 is no address of this machine"),
        (["--prot", "1"], "Did you mean '--port'?"),
        (["--device", "tpu"], "device is 'tpu'"),
    ],
)
def test_what_cannot_work_is_an_error_that_names_the_fix(fails, trained, not_served, words, message):
    given = words if words in (["none"], []) else [trained, "--port", "0", *words]
    assert message in fails("serve", *given)
    assert not not_served


def test_a_taken_port_is_an_error_before_a_model_is_loaded(fails, trained, not_served, monkeypatch):
    monkeypatch.setattr("vmask.serve.app.create_app", lambda *_args, **_named: pytest.fail("loaded"))
    with server.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        err = fails("serve", trained, "--port", port)
    assert err.startswith(f"error: Port {port} of 127.0.0.1 is taken. Choose another with --port, or --port 0")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_library_names_the_extra(fails, trained, monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name, *rest))
    assert fails("serve", trained) == "error: vmask serve needs the 'serve' extra. Run: pip install 'vmask[serve]'\n"


def test_help_loads_nothing_heavy():
    program = (
        "import sys, json\nfrom vmask.cli import main\n"
        "try: main(['serve', '--help'])\nexcept SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert not loaded & {"torch", "numpy", "sklearn", "fastapi", "starlette", "pydantic", "uvicorn", "tokenizers"}
    assert "--explain-seconds" in done.stdout
    assert "VMASK_TOKEN" in done.stdout  # and why not --token
    assert "list of processes" in " ".join(done.stdout.split())
