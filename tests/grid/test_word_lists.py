"""Word lists in files: read with the experiment, named in results by their digest alone."""

from __future__ import annotations

import hashlib
import json

import pytest

from grid.tiny import TINY, Inline, write_tiny
from vmask.classifier import TextClassifier
from vmask.errors import ConfigError
from vmask.grid.run import Grid
from vmask.grid.spec import read_experiment
from vmask.grid.word_lists import WordLists, spelled_out
from vmask.grid.worker import Places

BLOCK = {**TINY["grid"][0], "masks": ["base"]}
WORDS = "superb\n\nawful\n superb \nlovely\n"


def write_list(folder, name, words=WORDS):
    (folder / "lists").mkdir(exist_ok=True)
    (folder / "lists" / name).write_text(words, encoding="utf-8")
    return hashlib.sha256(words.encode()).hexdigest()


def read(folder, variants, **changes):
    parts = {"grid": [{**BLOCK, "variants": variants}], "search": None, "stages": None, **changes}
    return read_experiment(write_tiny(folder, **parts))


def run(folder, experiment, monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    outcomes = []
    grid = Grid(experiment, Places(folder / "results", folder / "models"))
    grid.run(1, lambda task, outcome, error: outcomes.append((outcome, error)))
    return outcomes


def test_a_file_is_named_by_its_digest_and_read_once(tmp_path):
    digest = write_list(tmp_path, "a.txt")
    lists = WordLists(tmp_path)
    named = lists.named({"only_words": "@lists/a.txt", "hide_words": ["the"], "epochs": 2})
    assert named == {"only_words": {"words": 3, "sha256": digest}, "hide_words": ["the"], "epochs": 2}
    (tmp_path / "lists" / "a.txt").unlink()
    assert lists.named({"hide_words": "@lists/a.txt"})["hide_words"] == named["only_words"]
    spelled = spelled_out(named, lists.words)
    assert spelled == {"only_words": ("superb", "awful", "lovely"), "hide_words": ["the"], "epochs": 2}


def test_a_name_has_places_for_dataset_model_and_seed(tmp_path):
    digests = [write_list(tmp_path, f"reviews-cnn-{seed}.txt", f"superb\nword{seed}\n") for seed in (0, 1)]
    made = read(tmp_path, {"mine": {"only_words": "@lists/{dataset}-{model}-{seed}.txt"}})
    assert [cell.combination.options["only_words"]["sha256"] for cell in made.cells] == digests
    assert [cell.key for cell in made.cells] == [f"reviews--cnn--base--mine--s{seed}" for seed in (0, 1)]


def test_one_search_cannot_serve_seeds_with_different_lists(tmp_path):
    for seed in (0, 1):
        write_list(tmp_path, f"{seed}.txt", f"superb\nword{seed}\n")
    search = {**TINY["search"], "masks": {"base": {}}}
    with pytest.raises(ConfigError, match="has other options for other seeds"):
        read(tmp_path, {"mine": {"only_words": "@lists/{seed}.txt"}}, search=search)


def test_a_missing_file_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(ConfigError, match=r"tiny\.yaml: there is no word list lists/a\.txt\. Its path is relative"):
        read(tmp_path, {"mine": {"only_words": "@lists/a.txt"}})
    with pytest.raises(ConfigError, match=r"no word list lists/a\.txt\. Make it with: python -m mine$"):
        read(tmp_path, {"mine": {"only_words": "@lists/a.txt"}}, lists_made_by="python -m mine")


def test_files_that_are_no_lists_are_refused(tmp_path):
    write_list(tmp_path, "empty.txt", "\n")
    with pytest.raises(ConfigError, match="only_words is empty"):
        read(tmp_path, {"mine": {"only_words": "@lists/empty.txt"}})
    with pytest.raises(ConfigError, match="Give a text file with a word a line"):
        read(tmp_path, {"mine": {"only_words": "@lists"}})
    with pytest.raises(ConfigError, match="must be of type tuple"):
        read(tmp_path, {"mine": {"only_words": {"words": 2, "sha256": "0"}}})


def test_results_have_the_digest_and_what_is_visible_but_no_list(tmp_path, monkeypatch):
    digest = write_list(tmp_path, "a.txt")
    variants = {"some": {"only_words": "@lists/a.txt"}, "all": {}}
    made = read(tmp_path, variants, grid=[{**BLOCK, "seeds": 0, "variants": variants}])
    assert run(tmp_path, made, monkeypatch) == [("done", "")] * 2
    cells = tmp_path / "results" / "cells"
    text = (cells / "reviews--cnn--base--some--s0.json").read_text(encoding="utf-8")
    record = json.loads(text)
    assert record["asked"]["options"]["only_words"] == {"words": 3, "sha256": digest}
    assert record["options"]["data"]["only_words"] == {"words": 3, "sha256": digest}
    assert "lovely" not in text
    assert record["visible"]["types"] == 3
    assert 0 < record["visible"]["test"] < 1
    assert json.loads((cells / "reviews--cnn--base--all--s0.json").read_text())["visible"] is None
    (folder,) = (tmp_path / "models").glob("reviews--cnn--base--some--s0--*")
    assert TextClassifier.load(folder).about_["edits"]["only"] == ["awful", "lovely", "superb"]


def test_another_list_under_the_same_name_is_work_again(tmp_path, monkeypatch):
    variants = {"some": {"only_words": "@lists/a.txt"}}
    grid = [{**BLOCK, "seeds": 0, "variants": variants}]
    write_list(tmp_path, "a.txt")
    run(tmp_path, read(tmp_path, variants, grid=grid), monkeypatch)
    assert run(tmp_path, read(tmp_path, variants, grid=grid), monkeypatch) == []
    write_list(tmp_path, "a.txt", "superb\nawful\n")
    assert run(tmp_path, read(tmp_path, variants, grid=grid), monkeypatch) == [("done", "")]
