"""Locks: one writer, or one after the other."""

from __future__ import annotations

import threading

import pytest

from vmask._core.locks import only_writer, taking_turns
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
