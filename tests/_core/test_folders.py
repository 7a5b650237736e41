"""A folder is replaced as a whole, however the system does it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from vmask._core import folders
from vmask._core.files import is_free
from vmask._core.folders import exchange, recover, replacing_folder
from vmask.errors import OutputExists


def fill(path, text, **options):
    with replacing_folder(path, **options) as folder:
        (folder / "a").write_text(text)
        (folder / "sub").mkdir()
        (folder / "sub" / "b").write_text(text)


def names(path):
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


@pytest.fixture(params=["exchange", "two renames", "inside"])
def way(request, monkeypatch):
    """The three ways of putting a folder in the place of another."""
    if request.param == "two renames":
        monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    if request.param == "inside":
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "out")
    return request.param


def test_the_new_takes_the_place_of_the_old_and_what_is_kept_stays(way, tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    (path / "notes").write_text("mine")
    (path / "stale").write_text("old")
    fill(path, "new", keep=["notes"])
    assert names(path) == ["a", "notes", "sub/b"]
    assert [(path / name).read_text() for name in names(path)] == ["new", "mine", "new"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_the_old(way, tmp_path):
    path = tmp_path / "out"
    fill(path, "old")

    def fail():
        with replacing_folder(path) as folder:
            (folder / "a").write_text("new")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert (path / "a").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert names(path) == ["a", "sub/b"]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="the system cannot exchange folders")
def test_two_folders_are_exchanged_in_one_step(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("the disk cannot exchange folders")
    assert (tmp_path / "one" / "file").read_text() == "other"
    assert (tmp_path / "other" / "file").read_text() == "one"


def test_a_kill_between_the_two_renames_is_undone(tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    path.rename(tmp_path / f".out.{folders.temporary_prefix('x').split('.')[2].rpartition('-')[0]}-abc.old")
    recover(path)
    assert (path / "a").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_loop_of_links_is_said(tmp_path):
    (tmp_path / "out").symlink_to("out")
    with pytest.raises(OutputExists, match="broken link"), replacing_folder(tmp_path / "out"):
        pass
    with pytest.raises(OutputExists, match="no folder that can be written to"):
        is_free(tmp_path / "out")


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    fill(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink()
    assert names(tmp_path / "real") == ["a", "sub/b"]
