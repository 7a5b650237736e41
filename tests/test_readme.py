"""The README: its tables are those of the result files, its commands and snippets run."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "scripts"))

import update_readme  # noqa: E402

PLAIN = "from transformers import pipeline"
EVERY = update_readme.TOUR + update_readme.MEASURE + update_readme.ENCODER
SNIPPETS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)


TABLES = [(path, name) for path, parts in update_readme.PARTS.items() for name in parts]


@pytest.mark.full
@pytest.mark.parametrize(("path", "name"), TABLES, ids=[name for _, name in TABLES])
def test_a_table_is_the_one_its_files_give(path, name):
    found = update_readme.part(path.read_text(encoding="utf-8"), name)
    assert found == update_readme.PARTS[path][name](), "run scripts/update_readme.py"


def test_the_tour_shows_the_commands_that_are_run():
    assert [c for c in COMMANDS if not c.startswith("make ")] == EVERY


def test_the_make_commands_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", TEXT))
    assert {"demo", "test"} <= named <= targets


def test_the_new_method_of_the_readme_keeps_the_contract(tmp_path, monkeypatch):
    """Run the file that the README shows and mask a text with it."""
    source = next(s for s in SNIPPETS if "MASKS.register" in s)
    path = tmp_path / "half.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("half", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "half", module)
    spec.loader.exec_module(module)
    import torch

    from vmask.masks import MASKS
    from vmask.masks.contract import Embedded

    try:
        mask = MASKS.get("half")(3, module.HalfOptions(keep=0.25))
        index = torch.tensor([[1, 2, 0]])
        masked = mask(Embedded(torch.randn(3, 3), index, index != 0))
        assert masked.scale.tolist() == [[0.25, 0.25, 1.0]]
    finally:
        MASKS._loaded.pop("half", None)


def environment():
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "110"}


@pytest.mark.slow
def test_the_python_of_the_readme_runs_as_it_stands(tmp_path):
    code = "\n".join(snippet for snippet in SNIPPETS if "MASKS.register" not in snippet and PLAIN not in snippet)
    assert "fit(" in code
    assert "save(" in code
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=True, timeout=600)
    assert sorted(p.name for p in (tmp_path / "my-model").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def run_all(commands, folder, shorter=""):
    """Run commands as they stand, one after the other, beside the examples; `shorter` is added to trainings."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for command in commands:
        command += shorter if command.startswith("vmask train ") else ""
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout
    assert shlex.split(commands[0])[0] == "vmask"


@pytest.mark.slow
def test_the_commands_of_the_tour_run_as_they_stand(tmp_path):
    run_all(update_readme.TOUR + update_readme.MEASURE, tmp_path)


@pytest.mark.slow
def test_the_commands_for_an_encoder_run_and_its_export_needs_no_vmask(tmp_path):
    run_all(update_readme.ENCODER, tmp_path, shorter=" --epochs 1")  # all of them take minutes on a CPU
    snippet = next(s for s in SNIPPETS if PLAIN in s)
    code = f"{snippet}\nimport sys\nassert 'vmask' not in sys.modules\nassert classify('filthy')[0]['label'] in '135'"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=True, timeout=600)


@pytest.mark.slow
def test_the_demo_does_its_job_from_an_empty_cache(tmp_path):
    """Both downloads, both trainings, the page: the main job of the README."""
    import json

    env = {**environment(), "VMASK_CACHE": str(tmp_path / "cache")}
    command = ["vmask", "demo", "--out", "demo", "--json", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["accuracy"]["cnn-vmask"] > 0.75
    assert len(result["texts"]) == 5
    assert (tmp_path / "demo" / "report.html").stat().st_size > 5000
