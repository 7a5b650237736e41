"""`vmask show`: the report of a model, later."""

from __future__ import annotations

import json
import re
import shutil
import sys

import pytest

from toy import toy_texts, write_csv
from vmask.cli import show as command
from vmask.model_report.content import LEVELS


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of a trained model, without a report."""
    copy = tmp_path / "model"
    shutil.copytree(trained, copy)
    (copy / "report.html").unlink()
    return copy


def without_seconds(html):
    return re.sub(r"made in [\d.,]+ seconds", "", html)


def test_the_report_of_a_model_is_that_of_its_training(vmask, folder, trained):
    done = vmask("show", folder)
    assert done.code == 0, done.err
    assert done.lines[-1] == f"report: {folder / 'report.html'}"
    assert re.match(r"A CNN that sorts reviews into 2 kinds, right on (all 12|\d+ of 12) test texts\.", done.lines[0])
    assert f"next: open {folder / 'report.html'}" in done.err
    after_training = (trained / "report.html").read_text(encoding="utf-8").replace(str(trained), str(folder))
    assert without_seconds((folder / "report.html").read_text(encoding="utf-8")) == without_seconds(after_training)


def test_the_same_command_gives_the_same_page(vmask, folder):
    pages = []
    for _ in range(2):
        assert vmask("show", folder, "--quiet").code == 0
        pages.append(without_seconds((folder / "report.html").read_text(encoding="utf-8")))
    assert pages[0] == pages[1]


def test_quick_and_full(vmask, folder):
    views = {}
    for level in ("quick", "full"):
        assert vmask("show", folder, "--report", level, "--quiet").code == 0
        html = (folder / "report.html").read_text(encoding="utf-8")
        views[level] = html.count('<div class="view"')
        assert ("This is the quick report" in html) == (level == "quick")
    assert views["full"] == 3 * views["quick"] > 0


def test_levels_are_those_of_the_report():
    assert command.LEVELS == LEVELS


def test_json_is_all_that_stands_on_the_page(vmask, folder):
    done = vmask("show", folder, "--json", "--quiet")
    value = done.json
    assert value["report"] == str(folder / "report.html")
    assert value["figures"] == []
    assert value["level"] == "full"
    assert value["measured"]["texts"] == 12
    assert value["headline"] in (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_can_go_elsewhere(vmask, folder, tmp_path):
    out = tmp_path / "new" / "page.html"
    assert vmask("show", folder, "--out", out, "--report", "quick").code == 0
    assert out.is_file()
    assert not (folder / "report.html").exists()


def test_a_file_that_is_no_report_is_not_replaced(fails, folder, tmp_path):
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    assert "is no report of a model" in fails("show", folder, "--out", tmp_path / "mine.html")
    assert "is a folder" in fails("show", folder, "--out", tmp_path)
    assert (tmp_path / "mine.html").read_text(encoding="utf-8") == "mine"


def test_other_data_is_used_and_said_on_the_page_and_on_standard_error(vmask, folder, tmp_path):
    texts, labels = toy_texts(150, 7)
    other = write_csv(tmp_path / "other.csv", texts, [5 if one == "pos" else 1 for one in labels], ("review", "stars"))
    done = vmask("show", folder, other, "--report", "quick")
    assert done.code == 0, done.err
    assert "not those that the model was trained on" in done.err
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "not those that the model was trained on" in html
    assert "in training it was" in html


def test_the_data_where_it_lies_now(vmask, folder, reviews_csv, tmp_path):
    moved = shutil.copy(reviews_csv, tmp_path / "reviews.csv")
    done = vmask("show", folder, moved, "--report", "quick")
    assert done.code == 0
    assert "fingerprint" not in done.err


def gone(folder, source):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["about"]["source"] = source
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def test_data_that_is_gone_is_said_with_the_fix(fails, folder, tmp_path):
    gone(folder, str(tmp_path / "gone.csv"))
    err = fails("show", folder)
    assert "gone.csv" in err
    assert f"vmask show {folder} DATA" in err
    assert not (folder / "report.html").exists()


def test_labels_that_the_model_does_not_know_are_said(fails, folder, tmp_path):
    other = write_csv(tmp_path / "other.csv", *toy_texts(60), header=("review", "stars"))
    assert "knows none of the labels" in fails("show", folder, other)


def test_no_model_is_said(fails, tmp_path):
    assert "There is no model folder" in fails("show", tmp_path / "none")
    assert "Did you mean 'quick'?" in fails("show", tmp_path / "none", "--report", "quik")


def test_a_model_without_word_scores_has_a_report(vmask, base_model, tmp_path):
    done = vmask("show", base_model, "--out", tmp_path / "base.html", "--json", "--quiet")
    assert done.json["words"] is None
    assert done.json["texts"]["methods"] == ["lime", "shapley"]


def test_figures_are_written_beside(vmask, folder, tmp_path):
    done = vmask("show", folder, "--figures", tmp_path / "figures", "--report", "quick")
    assert done.code == 0, done.err
    names = ("frequency_importance", "highlighted_texts", "post_hoc_accuracy", "word_cloud")
    expected = sorted(f"{name}.{kind}" for name in names for kind in ("png", "svg"))
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == expected
    assert f"8 figures in {tmp_path / 'figures'}" in done.out


def test_figures_need_their_extra_and_say_so_before_any_work(fails, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordcloud", None)
    assert "pip install 'vmask[report]'" in fails("show", folder, "--figures", tmp_path / "figures")
    assert not (folder / "report.html").exists()


def test_a_report_needs_no_extra(vmask, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordcloud", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert vmask("show", folder).code == 0


def test_the_folder_stays_as_it_is_but_for_the_report(vmask, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert vmask("show", folder, "--quiet").code == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    del after["report.html"]
    assert after == before
