"""What a result says about the code and the machine that made it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from vmask.grid import provenance as module
from vmask.grid.provenance import commit, facts, number_versions, peak_memory
from vmask.masks import MASKS


def test_versions_of_the_numbers_are_of_what_is_used(monkeypatch):
    used = number_versions(["trec", "cnn", "vmask", "lime", "aopc"])
    assert used == {"training": 1, "mask vmask": 2, "model cnn": 1, "explanation method lime": 1, "metric aopc": 1}
    monkeypatch.setattr(MASKS.get("vmask"), "version", 2)
    assert number_versions(["vmask"]) == {"training": 1, "mask vmask": 2}
    assert number_versions(["cnn"]) == {"training": 1, "model cnn": 1}
    assert number_versions(["minilm"]) == {"training": 1, "model transformer": 1}


def test_facts_name_versions_machine_and_commit():
    found = facts()
    assert {"python", "vmask", "torch", "numpy", "scikit-learn"} <= set(found["versions"])
    assert re.search(r"\d+ cores$", found["machine"])
    assert found["numbers"] == number_versions()
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
