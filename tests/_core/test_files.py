"""Files are there in full or not at all."""

from __future__ import annotations

import os
import shutil

import pytest

from vmask._core.files import (
    is_free,
    left_behind,
    remove_folder,
    replacing,
    sha256,
    sweep,
    temporary_prefix,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_written_file_is_an_ordinary_one(tmp_path):
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("x")
    write_text(ours, "x")
    assert ours.stat().st_mode == plain.stat().st_mode
    assert sha256(ours) == sha256(plain)


DEAD = 4_000_000  # above the highest process number of Linux


def left_by(process, name="a.txt", suffix="tmp"):
    return f"{temporary_prefix(name).rsplit('-', 2)[0]}-{process}-x.{suffix}"


def test_what_kills_left_behind_is_swept_and_nothing_else(tmp_path):
    dead, alive = tmp_path / left_by(DEAD), tmp_path / left_by(os.getppid())
    others = [tmp_path / name for name in ("a.txt.tmp", ".hidden", ".a.txt.tmp", ".a.txt.0-1-x.tmp")]
    for path in (dead, alive, *others):
        path.write_text("half")
    folder = tmp_path / left_by(DEAD, "model")
    folder.mkdir()
    (folder / "weights").write_text("half")
    write_text(tmp_path / "a.txt", "new")
    assert not dead.exists()
    assert folder.exists(), "it is of another name"
    sweep(tmp_path)
    assert not folder.exists()
    assert all(path.exists() for path in (alive, *others))


def test_a_file_of_another_machine_is_left_behind_after_a_day(tmp_path):
    path = tmp_path / f".a.txt.00000000-{os.getpid()}-x.tmp"
    path.write_text("half")
    assert left_behind(tmp_path) == []
    os.utime(path, (0, 0))
    assert left_behind(tmp_path) == [path]


def test_a_folder_with_nothing_but_leftovers_is_free(tmp_path):
    (tmp_path / left_by(DEAD)).write_text("half")
    assert is_free(tmp_path)
    (tmp_path / "mine").write_text("1")
    assert not is_free(tmp_path)


def test_a_removed_folder_is_gone_at_once(tmp_path, monkeypatch):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "state").write_text("1")
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: None)  # killed before the files are removed
    remove_folder(folder)
    assert not folder.exists()
    monkeypatch.undo()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
