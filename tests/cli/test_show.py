"""`vmask show`: the report of a model, later."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys

import pytest

from toy import toy_texts, write_csv
from vmask._core.locks import only_writer
from vmask.cli import show as command
from vmask.data.recorded_source import dataset_of
from vmask.errors import DataError
from vmask.persistence.model_folder import digest_of, folder_digest, read_config
from vmask.report.model.content import LEVELS
from vmask.serve.loaded_model import Examples


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
    assert done.lines[-2:] == [f"report: {folder / 'report.html'}", f"digest: {folder_digest(read_config(folder))}"]
    assert re.match(r"A CNN that sorts reviews into 2 kinds, right on (all 12|\d+ of 12) test texts\.", done.lines[0])
    assert f"next: open {folder / 'report.html'}" in done.err
    after_training = (trained / "report.html").read_text(encoding="utf-8").replace(str(trained), str(folder))
    assert without_seconds((folder / "report.html").read_text(encoding="utf-8")) == without_seconds(after_training)


@pytest.mark.full
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
    config["digest"] = digest_of(config)
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


@pytest.mark.full
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
    page = after.pop("report.html")
    config, noted = json.loads(before.pop("config.json")), json.loads(after.pop("config.json"))
    assert after == before
    assert noted.pop("report") == {"sha256": hashlib.sha256(page).hexdigest()}
    assert noted == {key: value for key, value in config.items() if key != "report"}


def test_the_digest_can_be_had_alone(vmask, fails, folder):
    digest = folder_digest(read_config(folder))
    assert vmask("show", folder, "--digest").out == f"{digest}\n"
    assert vmask("show", folder, "--digest", "--json").json == {"digest": digest}
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert "tokenizer.json is not the file that was saved" in fails("show", folder, "--digest")
    assert not (folder / "report.html").exists()


# What a folder may have opened ----------------------------------------------------------------------------


@pytest.mark.parametrize("digest", [None, "0" * 64])
def test_a_table_that_a_folder_names_is_not_opened_unless_it_is_what_was_trained_on(fails, folder, tmp_path, digest):
    secret = write_csv(tmp_path / "secret.csv", ["my password is tulip"] * 60, ["1", "5"] * 30, ("review", "stars"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    about = {**config["about"], "source": str(secret), "source_sha256": digest}
    del about["dataset_fingerprint"]
    config |= {"about": about}
    (folder / "config.json").write_text(json.dumps({**config, "digest": digest_of(config)}), encoding="utf-8")
    assert "what is there now is not what the model was trained on" in fails("show", folder)
    assert not (folder / "report.html").exists()
    examples, why = Examples.find(about, None, None, 100)
    assert examples is None
    assert "tulip" not in why
    assert str(tmp_path) not in why


def test_data_that_has_changed_since_must_be_named(vmask, fails, tmp_path):
    data = write_csv(tmp_path / "data.csv", *toy_texts(60))
    small = ["--embeddings", "random", "--epochs", "1", "--mask", "base", "--report", "none", "--quiet"]
    assert vmask("train", data, "--out", tmp_path / "m", *small).code == 0
    assert vmask("show", tmp_path / "m", "--quiet", "--report", "quick").code == 0
    write_csv(data, *toy_texts(70))
    assert "what is there now is not what the model was trained on" in fails("show", tmp_path / "m")
    assert vmask("show", tmp_path / "m", data, "--quiet", "--report", "quick").code == 0


def test_a_dataset_of_the_hub_is_not_fetched_because_a_folder_names_it(folder):
    with pytest.raises(DataError, match=r"'data', cannot be read here: it is not there\. Name the data"):
        dataset_of({"source": "someone/data"})


def test_a_model_that_is_being_written_is_not_reported(fails, model_folder, tmp_path):
    folder = shutil.copytree(model_folder, tmp_path / "m")
    with only_writer(folder):
        assert "Another process is writing to" in fails("show", folder)
