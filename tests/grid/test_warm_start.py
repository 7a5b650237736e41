"""The first of two stages is trained once, as a cell of its own, and changes no result."""

from __future__ import annotations

import json

import pytest

from grid.tiny import Inline, write_tiny
from tiny_encoders import save_encoder
from vmask.grid.experiment import Where
from vmask.grid.order import needs_of, tasks_of
from vmask.grid.run import Grid
from vmask.grid.spec import parse_where, read_experiment
from vmask.grid.task import Task
from vmask.grid.warm_start import start_of
from vmask.grid.worker import Places

pytest.importorskip("transformers")


def experiment(folder, masks, **changes):
    encoder = str(save_encoder("bert", folder / "encoder"))
    grid = [{"datasets": ["reviews.csv"], "models": [encoder], "masks": masks, "seeds": 0}]
    options = {"epochs": 1, "batch_size": 20, "max_words": 24}
    parts = {"models": {encoder: options}, "grid": grid, "search": None, "stages": None, **changes}
    return read_experiment(write_tiny(folder, **parts))


def record(folder, mask):
    return json.loads((folder / "results" / "cells" / f"reviews--encoder--{mask}--s0.json").read_text())


def test_a_mask_starts_from_the_base_cell_and_ends_where_two_stages_end(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    found = {}
    for name, masks in (("shared", ["base", "vmask"]), ("alone", ["vmask"])):
        (tmp_path / name).mkdir()
        made = experiment(tmp_path / name, masks)
        Grid(made, Places(tmp_path / name / "results", tmp_path / name / "models")).run(1, lambda *_: None)
        found[name] = record(tmp_path / name, "vmask")
    assert found["shared"]["options"]["train"]["init_from"].startswith("reviews--encoder--base--s0--")
    assert found["alone"]["options"]["train"]["init_from"] is None
    assert len(found["shared"]["history"]) == 1
    assert len(found["alone"]["history"]) == 2  # both stages
    for same in ("test", "test_accuracy", "dev_accuracy", "identity"):
        assert found["shared"][same] == found["alone"][same], same


def test_options_of_the_mask_are_none_of_the_first_stage(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    found = {}
    for name in ("shared", "alone"):
        folder = tmp_path / name
        folder.mkdir()
        encoder = str(save_encoder("bert", folder / "encoder"))
        block = {"datasets": ["reviews.csv"], "models": [encoder], "seeds": 0}
        half = {**block, "masks": ["select"], "variants": {"half": {"mask__budget": 0.5}}}
        grid = [{**block, "masks": ["base"]}, half] if name == "shared" else [half]
        made = experiment(folder, ["base"], grid=grid)
        Grid(made, Places(folder / "results", folder / "models")).run(1, lambda *_: None)
        path = folder / "results" / "cells" / "reviews--encoder--select--half--s0.json"
        found[name] = json.loads(path.read_text())
    assert found["shared"]["options"]["train"]["init_from"].startswith("reviews--encoder--base--s0--")
    assert found["alone"]["options"]["train"]["init_from"] is None
    for same in ("test", "dev_accuracy", "identity", "visible"):
        assert found["shared"][same] == found["alone"][same], same


def test_the_base_cell_comes_first_also_where_it_was_not_asked_for(tmp_path):
    made = experiment(tmp_path, ["vmask", "base"])
    vmask, base = made.cells
    assert start_of(made, vmask) == base
    assert needs_of(Task(vmask), made) == [Task(base)]
    assert list(tasks_of(made, parse_where("mask=vmask"))) == [Task(vmask), Task(base)]


def test_what_has_one_stage_starts_from_nothing(tmp_path):
    made = experiment(tmp_path, ["base", "l2"])
    assert [start_of(made, cell) for cell in made.cells] == [None, None]
    words = read_experiment(write_tiny(tmp_path))
    assert {start_of(words, cell) for cell in words.cells} == {None}
    assert len(list(tasks_of(words, Where()))) == 12


def test_a_search_on_some_datasets_comes_before_the_cells_of_others(tmp_path):
    changes = {
        "grid": [{"datasets": ["trec", "reviews.csv"], "models": ["cnn"], "masks": ["l2"], "seeds": 0}],
        "search": {
            "datasets": ["reviews"],
            "trials": 2,
            "models": {"cnn": {"clip": [1.0, 2.0]}},
            "masks": {"l2": {"weight_decay": [0.1, 0.2]}},
        },
        "stages": None,
    }
    made = read_experiment(write_tiny(tmp_path, **changes))
    tasks = list(dict.fromkeys(tasks_of(made, Where())))
    assert [task.kind for task in tasks] == ["search", "train", "train"]
    assert tasks[0].of == made.cells[1].combination
    assert all(needs_of(task, made) == [tasks[0]] for task in tasks[1:])
