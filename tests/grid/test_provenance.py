"""What a result says about the code and the machine that made it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from vmask.grid import provenance as module
from vmask.grid.provenance import SOURCE, UNLIKE, _digest, code_digest, commit, facts, peak_memory

ROOMS = ("masks/vmask.py", "data/cards/trec.yaml", "predictor.py", "training/loop.py")
SHOWN = ("cli/grid.py", "report/page.py", "experiments/grid.py", "reproduction/table.py", "export/onnx.py", "demo.py")


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A source tree of a few files, and its digest."""
    for name in (*ROOMS, *SHOWN, "report/page.css", "masks/__pycache__/vmask.cpython-311.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    monkeypatch.setattr(module, "SOURCE", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ROOMS)
def test_the_digest_changes_with_code_that_decides_results(source, name):
    before = _digest.__wrapped__(())
    (source / name).write_text("# other\n")
    assert _digest.__wrapped__(()) != before


def test_the_digest_changes_with_a_new_file_and_with_a_name(source):
    before = _digest.__wrapped__(())
    (source / "masks" / "mine.py").touch()
    with_one = _digest.__wrapped__(())
    (source / "masks" / "mine.py").rename(source / "masks" / "yours.py")
    assert len({before, with_one, _digest.__wrapped__(())}) == 3


@pytest.mark.parametrize("name", [*SHOWN, "report/page.css", "masks/__pycache__/vmask.cpython-311.pyc"])
def test_the_digest_does_not_change_with_code_that_shows_or_runs(source, name):
    before = _digest.__wrapped__(())
    (source / name).write_text("# other\n")
    (source / name).with_name("new.py" if name in SHOWN and "/" in name else "new.txt").touch()
    assert _digest.__wrapped__(()) == before


def test_what_is_left_out_of_the_digest_exists():
    assert [name for name in UNLIKE if not (SOURCE / name).exists()] == []


def test_the_digest_is_of_the_files_that_there_are():
    assert re.fullmatch("[0-9a-f]{16}", code_digest())
    assert code_digest() == _digest.__wrapped__(())


def test_facts_name_versions_machine_commit_and_code():
    found = facts()
    assert {"python", "vmask", "torch", "numpy", "scikit-learn"} <= set(found["versions"])
    assert re.search(r"\d+ cores$", found["machine"])
    assert found["code"] == code_digest()
    assert re.fullmatch(r"([0-9a-f]{10}(\+changes)?)?", found["commit"])


# The commit -----------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the file that asks."""
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def git(*words):
        named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    (tmp_path / "facts.py").write_text("one")
    git("init", "--quiet")
    git("add", "facts.py")
    git("commit", "--quiet", "-m", "one")
    monkeypatch.setattr(module, "SOURCE", tmp_path)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "facts.py"))
    return git


def test_a_commit_is_named_and_changes_are_marked(repository, tmp_path):
    head = repository("rev-parse", "HEAD")[:10]
    assert commit.__wrapped__() == head
    (tmp_path / "facts.py").write_text("two")
    assert commit.__wrapped__() == f"{head}+changes"


def test_the_commit_of_another_project_is_not_ours(repository, tmp_path, monkeypatch):
    (tmp_path / "installed.py").touch()  # as in a virtual environment inside a repository
    monkeypatch.setattr(module, "__file__", str(tmp_path / "installed.py"))
    assert commit.__wrapped__() == ""


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit.__wrapped__() == ""


# Memory ---------------------------------------------------------------------------------------------------


def test_memory_is_the_peak_inside_and_not_before():
    megabytes = 150
    with peak_memory() as large:
        np.ones(megabytes * 2**17).sum()
    with peak_memory() as small:
        pass
    assert large["memory_mb"] > megabytes
    if sys.platform == "linux":
        assert large["memory_mb"] - small["memory_mb"] > megabytes / 2
