"""Folders that travel: what is unpacked is what was packed, once."""

from __future__ import annotations

import pytest

from vmask.cluster import parcels
from vmask.cluster.parcels import pack


class Store:
    """An object store that counts what is fetched."""

    fetched = 0

    def put(self, value):
        return value

    def get(self, value):
        Store.fetched += 1
        return value


@pytest.fixture(autouse=True)
def store(monkeypatch):
    monkeypatch.setattr(parcels, "import_ray", Store)
    monkeypatch.setattr(Store, "fetched", 0)
    return Store


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "config.json").write_bytes(b"{}")
    (tmp_path / "model" / "deep" / "weights").write_bytes(bytes(range(256)))
    return tmp_path / "model"


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_folder_arrives_as_it_was_and_is_fetched_once(folder, store):
    parcel = pack(folder)
    path = parcel.unpacked()
    assert path != folder
    assert path.name == "model"
    assert contents(path) == contents(folder)
    assert pack(folder).unpacked() == path
    assert store.fetched == 1


def test_some_files_of_a_folder_can_be_packed(folder):
    assert list(contents(pack(folder, ["config.json"]).unpacked())) == ["config.json"]


def test_a_single_file_arrives_too(folder):
    path = pack(folder / "deep" / "weights").unpacked()
    assert path.name == "weights"
    assert path.read_bytes() == bytes(range(256))


def test_other_content_is_another_parcel(folder):
    before = pack(folder)
    (folder / "config.json").write_bytes(b"[]")
    after = pack(folder)
    assert before.digest != after.digest
    assert (before.unpacked() / "config.json").read_bytes() == b"{}"
    assert (after.unpacked() / "config.json").read_bytes() == b"[]"


def test_the_current_folder_has_a_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert pack(folder.relative_to(folder)).name == "model"
