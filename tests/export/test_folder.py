"""The folder of an export: whole or not there, and nothing but an export is ever replaced."""

from __future__ import annotations

import json
import os

import pytest

from vmask.errors import ConfigError, ExportError, OutputExists
from vmask.export.folder import check_target, exported_files, filling


def export(path, **files):
    """Write these files as an export would be written."""
    with filling(path) as folder:
        for name, text in files.items():
            (folder / name).write_text(text)
        (folder / "config.json").write_text(json.dumps({"vmask": {"files": [*files, "config.json"]}}))


def fail(path):
    """Begin an export and stop."""
    with filling(path) as folder:
        (folder / "model").write_text("2")
        raise ConfigError("no")


def names(path):
    return sorted(file.name for file in path.iterdir())


def test_a_new_folder_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a" / "b"
    check_target(path)
    with filling(path) as folder:
        (folder / "model").write_text("1")
        assert not path.exists()
    assert names(path) == ["model"]
    assert names(path.parent) == ["b"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o777 & ~umask


@pytest.mark.parametrize("there", [False, True])
def test_nothing_is_left_of_an_export_that_fails(tmp_path, there):
    path = tmp_path / "out"
    if there:
        path.mkdir()
    with pytest.raises(ConfigError, match="no"):
        fail(path)
    assert names(tmp_path) == (["out"] if there else [])
    assert not there or names(path) == []


def test_a_full_disk_is_said_with_a_way_out(tmp_path):
    with (
        pytest.raises(ExportError, match=r"could not be written to .*No space left.* Free some space"),
        filling(tmp_path / "out"),
    ):
        raise OSError(28, "No space left on device")
    assert names(tmp_path) == []


def test_an_empty_folder_may_be_filled(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    check_target(path)
    export(path, model="1")
    assert names(path) == ["config.json", "model"]


def test_an_export_is_replaced_when_asked_and_other_files_stay(tmp_path):
    path = tmp_path / "out"
    export(path, model="1", old="1")
    with pytest.raises(OutputExists, match=r"exists\. Choose another folder, or pass overwrite=True \(--overwrite\)\."):
        check_target(path)
    check_target(path, overwrite=True)
    (path / "notes.txt").write_text("mine")
    export(path, model="2")
    assert names(path) == ["config.json", "model", "notes.txt"]
    assert (path / "model").read_text() == "2"


def test_a_failure_leaves_the_old_export(tmp_path):
    path = tmp_path / "out"
    export(path, model="1")
    with pytest.raises(ConfigError, match="no"):
        fail(path)
    assert (path / "model").read_text() == "1"
    assert exported_files(path) == ["model", "config.json"]


@pytest.mark.parametrize(
    "config",
    [None, "{", "[]", "{}", '{"vmask": "0.1.0"}', '{"vmask": {}}', '{"vmask": {"files": 3}}'],
)
def test_what_is_no_export_is_never_replaced(tmp_path, config):
    (tmp_path / "precious").write_text("1")
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(OutputExists, match=r"is no export, so it is not replaced. Choose another folder"):
        check_target(tmp_path, overwrite=True)


def test_a_model_folder_is_never_replaced(model_folder):
    with pytest.raises(OutputExists, match="is no export"):
        check_target(model_folder, overwrite=True)


def test_a_config_cannot_name_files_elsewhere(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    (tmp_path / "precious").write_text("1")
    (path / "config.json").write_text(json.dumps({"vmask": {"files": ["../precious", "config.json"]}}))
    export(path, model="1")
    assert names(tmp_path) == ["out", "precious"]


def test_a_file_in_the_way_is_said(tmp_path):
    (tmp_path / "out").write_text("1")
    with pytest.raises(OutputExists, match="is no folder that can be written to"):
        check_target(tmp_path / "out", overwrite=True)
    with pytest.raises(OutputExists, match="is no folder that can be written to"):
        check_target(tmp_path / "out" / "more")
