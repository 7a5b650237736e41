"""Files are there in full or not at all."""

from __future__ import annotations

import pytest

from vmask.files import replacing, sha256, write_text


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
