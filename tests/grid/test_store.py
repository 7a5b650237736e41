"""Result files: how a piece of work stands, and a file that is there in full or not at all."""

from __future__ import annotations

import json
import os

import pytest

from vmask.errors import DataError
from vmask.grid.store import CELLS, SEARCH, Store

DONE = {"status": "done", "identity": "abc", "facts": {"numbers": {"training": 2, "mask vmask": 1}}, "value": 1}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (None, "missing"),
        (DONE, "done"),
        ({**DONE, "facts": {"numbers": {"training": 1}}}, "older"),
        ({**DONE, "facts": {}}, "older"),  # one without versions has version 1
        ({**DONE, "status": "failed"}, "failed"),
        ({**DONE, "status": "failed", "facts": {}}, "failed"),
        ({**DONE, "identity": "other"}, "changed"),
        ({**DONE, "status": "failed", "identity": "other"}, "changed"),
        ({**DONE, "status": "running"}, "missing"),  # a search that was cut off goes on
        ({**DONE, "status": "running", "identity": "other"}, "changed"),
        ({}, "changed"),
    ],
)
def test_how_a_piece_of_work_stands(store, record, state):
    path = store.cell("trec--cnn--base--s0")
    if record is not None:
        store.write(path, record)
    assert store.state(path, "abc", {"training": 2}) == state


@pytest.mark.parametrize(
    ("record", "state"),
    [
        ({"dataset": {"fingerprint": "same"}}, "done"),
        ({"dataset": {"fingerprint": "other"}}, "changed"),
        ({"measured": {"fingerprint": "other"}}, "changed"),
        ({"facts": {**DONE["facts"], "data": "other"}}, "changed"),
        ({}, "done"),  # one that does not say
    ],
)
def test_a_result_of_other_data_is_work(store, record, state):
    path = store.cell("x")
    store.write(path, {**DONE, **record})
    assert store.state(path, "abc", {"training": 2}, "same") == state
    assert store.state(path, "abc", {"training": 2}) == "done", "where the data are not at hand"


def test_files_have_the_names_of_their_cells(store, tmp_path):
    assert store.cell("trec--cnn--base--s0") == tmp_path / "cells" / "trec--cnn--base--s0.json"
    assert store.cell("trec--cnn--base--s0", "local") == tmp_path / "cells" / "trec--cnn--base--s0.local.json"
    assert store.search("trec--cnn--base") == tmp_path / "search" / "trec--cnn--base.json"
    assert store.data("trec") == tmp_path / "data" / "trec.json"


def test_what_is_written_is_read_a_line_for_each_part(store):
    record = {"status": "done", "texts": ["schön", 'a "b"', "\n"], "number": 0.1, "none": None, "more": {"a": [1, 2]}}
    path = store.cell("a")
    store.write(path, record)
    assert store.read(path) == record
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(record) + 2
    assert '"more": {"a":[1,2]}' in text
    assert "schön" in text


def test_a_damaged_file_is_said_with_the_fix(store):
    path = store.cell("a")
    store.write(path, DONE)
    for damage in (path.read_bytes()[:-9], b"", b"\xff\xfe", b"[1, 2]"):
        path.write_bytes(damage)
        with pytest.raises(
            DataError, match=r"a\.json (is damaged|holds no result).*Remove it, and the grid makes it anew"
        ):
            store.state(path, "abc", {"training": 2})
        with pytest.raises(DataError, match="Remove it"):
            list(store.records(CELLS))


def test_a_write_that_is_cut_off_leaves_the_file_as_it_was(store, monkeypatch):
    path = store.cell("a")
    store.write(path, DONE)
    before = path.read_bytes()

    def cut(self, *_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", cut)
    with pytest.raises(KeyboardInterrupt):
        store.write(path, {**DONE, "value": 2})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_value_that_is_no_json_leaves_the_file_as_it_was(store):
    path = store.cell("a")
    store.write(path, DONE)
    with pytest.raises(TypeError):
        store.write(path, {"bad": object()})
    assert store.read(path) == DONE


def test_records_are_the_whole_files_of_a_folder_in_order(store):
    assert list(store.records()) == []
    for name in ("b", "a"):
        store.write(store.cell(name), {"name": name})
    store.write(store.search("c"), {"name": "c"})
    (store.cell("a").parent / ".a.json.xyz.tmp").write_text('{"na')  # of a process that was killed
    assert [record["name"] for record in store.records()] == ["a", "b"]
    assert [record["name"] for record in store.records(SEARCH)] == ["c"]


def test_what_is_no_file_is_said_at_once(store):
    path = store.cell("a")
    path.mkdir(parents=True)
    os.mkfifo(store.cell("b"))
    for one in (path, store.cell("b")):
        with pytest.raises(DataError, match="no regular file"):
            store.read(one)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": "long"}, "'seconds' is 'long', no int"),
        ({"cell": [1]}, "'cell' is \\[1\\], no mapping"),
        ({"facts": {"versions": {"vmask": 1}}}, "'facts.versions.vmask' is 1, no str"),
        ({"stage": "local", "scores": [{"value": "x"}]}, "'scores.0.value' is 'x'"),
        ({"stage": "local", "importance": {"drawn": [[1, "x"]]}}, "'importance.drawn.0.1' is 'x', no int"),
        ({"stage": "train", "test": {"predicted": [True]}}, "'test.predicted.0' is True"),
    ],
)
def test_a_value_of_a_wrong_type_is_named(store, change, message):
    path = store.cell("a")
    store.write(path, {**DONE, **change})
    with pytest.raises(DataError, match=f"a.json is damaged: {message}.*Remove it, and the grid makes it anew"):
        store.read(path)


def test_the_file_is_plain_json(store):
    store.write(store.cell("a"), DONE)
    assert json.loads(store.cell("a").read_bytes()) == DONE
