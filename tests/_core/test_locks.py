"""Locks: one writer, or one after the other."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from vmask._core.locks import claim, only_writer, taking_turns
from vmask.errors import OutputExists


def test_a_folder_has_one_writer(tmp_path):
    folder = tmp_path / "out"
    with only_writer(folder):
        with pytest.raises(OutputExists, match=r"Another process is writing to .*out\. Wait"), only_writer(folder):
            pass
        (folder / "file").write_text("1")
    with only_writer(folder):
        pass
    assert folder.is_dir()


def test_a_folder_that_was_only_locked_is_gone_again(tmp_path):
    with only_writer(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert not (tmp_path / "a" / "b").exists()


def test_who_takes_turns_waits_for_the_other_and_for_a_folder_that_is_there(tmp_path):
    folder, order = tmp_path / "out", []

    def second():
        with taking_turns(folder):
            order.append("second")

    thread = threading.Thread(target=second)
    with taking_turns(folder):
        thread.start()
        thread.join(0.2)
        order.append("first")
        folder.rmdir()
    thread.join(30)
    assert order == ["first", "second"]
    assert folder.is_dir()


HOLD = """
import sys, time
from pathlib import Path
from vmask._core.locks import claim
taken = claim(Path(sys.argv[1]), "other")
print("taken", flush=True)
time.sleep(600)
"""


def test_a_file_is_claimed_by_one_and_gone_when_it_is_released(tmp_path):
    path = tmp_path / "locks" / "piece"
    first = claim(path, "first")
    assert claim(path, "second") is None
    assert path.read_text() == "first", "who is refused writes nothing"
    first.release()
    first.release()
    assert not path.exists()
    second = claim(path, "2")
    assert path.read_text() == "2"
    second.release()


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")
def test_what_a_killed_process_claimed_is_free(tmp_path):
    path = tmp_path / "locks" / "piece"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "taken\n"
        assert claim(path, "mine") is None
        other.kill()
        other.wait()
    assert path.read_text() == "other", "the file is left"
    mine = claim(path, "mine")
    assert path.read_text() == "mine"
    mine.release()


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")
def test_a_claim_is_of_the_file_that_is_there(tmp_path, monkeypatch):
    """The file that was opened may be removed by its holder before it is locked."""
    from vmask._core import locks

    path, whole = tmp_path / "locks" / "piece", locks.lock
    held, seen = claim(path, "held"), []

    def lock(handle):
        if not seen:
            held.release()
            path.parent.rmdir()
        seen.append(handle)
        return whole(handle)

    monkeypatch.setattr(locks, "lock", lock)
    taken = claim(path, "taken")
    assert len(seen) == 2
    assert path.read_text() == "taken"
    taken.release()


def test_where_nothing_can_be_locked_everything_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask._core.locks.CAN_LOCK", False)
    first, second = claim(tmp_path / "piece", "1"), claim(tmp_path / "piece", "2")
    assert list(tmp_path.iterdir()) == []
    first.release()
    second.release()
