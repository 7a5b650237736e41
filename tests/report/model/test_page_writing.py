"""Pages replace their like and nothing else."""

from __future__ import annotations

import pytest

from vmask.errors import OutputExists
from vmask.persistence.model_folder import LISTS
from vmask.report.model.page import check_replaceable, render, write_report


def test_a_report_replaces_a_report(content, tmp_path):
    path = tmp_path / "new" / "report.html"
    assert write_report(content, path) == path
    assert path.read_text(encoding="utf-8") == render(content)
    write_report(content, path)
    assert {one.name for one in path.parent.iterdir()} - set(LISTS) == {"report.html"}


def test_another_file_or_a_folder_is_never_replaced(content, tmp_path):
    mine = tmp_path / "mine.html"
    mine.write_text("<html>mine</html>", encoding="utf-8")
    with pytest.raises(OutputExists, match="is no report of a model"):
        write_report(content, mine)
    assert mine.read_text(encoding="utf-8") == "<html>mine</html>"
    with pytest.raises(OutputExists, match="is a folder"):
        check_replaceable(tmp_path)
    check_replaceable(tmp_path / "free.html")


def test_a_failure_leaves_what_was_there(content, tmp_path, monkeypatch):
    path = write_report(content, tmp_path / "report.html")
    before = path.read_bytes()

    def broken(content):
        raise ZeroDivisionError

    monkeypatch.setattr("vmask.report.model.page.render", broken)
    with pytest.raises(ZeroDivisionError):
        write_report(content, path)
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} - set(LISTS) == {"report.html"}


def test_a_model_folder_with_a_report_can_be_loaded_and_replaced(model, content, tmp_path):
    from vmask import TextClassifier
    from vmask.persistence.model_folder import check_free

    folder = model.save(tmp_path / "m")
    write_report(content, folder / "report.html")
    TextClassifier.load(folder)
    check_free(folder, overwrite=True)
    model.save(folder, overwrite=True)
