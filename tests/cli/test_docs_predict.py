"""The commands of docs/predict.md run as they stand there."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

from toy import toy_texts, write_csv

PAGE = Path(__file__).resolve().parents[2] / "docs" / "predict.md"
COMMANDS = re.findall(r"^\$ (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "my-model")
    texts, labels = toy_texts(30)
    for name in ("new.csv", "january.csv", "february.csv"):
        write_csv(tmp_path / name, texts, [5 if label == "pos" else 1 for label in labels], header=("review", "stars"))
    (tmp_path / "texts.txt").write_text("\n".join(texts[:3]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(vmask, folder, monkeypatch, command):
    if "xlsx" in command:
        pytest.importorskip("xlsxwriter")
    first, _, second = command.rpartition(" | ")
    if first:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(first.split()[1]).read_bytes())))
    program, *words = shlex.split(second)
    assert program == "vmask"
    done = vmask(*words)
    assert done.code == 0, done.err
    out = words[words.index("--out") + 1] if "--out" in words else None
    assert Path(out).stat().st_size if out else done.out


def test_there_are_commands():
    assert len(COMMANDS) >= 5
