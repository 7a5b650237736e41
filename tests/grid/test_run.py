"""A grid: every piece of work is done once, in an order that works, and a failure stops only what needs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from grid.tiny import PIECES, TINY, Inline, differences, files, write_tiny
from toy import toy_texts, write_csv
from vmask._core.files import temporary_prefix
from vmask.errors import DataError
from vmask.grid.cell import Combination
from vmask.grid.course import write_failure
from vmask.grid.experiment import Where
from vmask.grid.job import Job, Product
from vmask.grid.order import needs_of, tasks_of
from vmask.grid.run import Grid, Wanted
from vmask.grid.sources import located
from vmask.grid.spec import parse_where, read_experiment
from vmask.grid.task import Task
from vmask.grid.worker import Places
from vmask.masks import MASKS

BLOCK = TINY["grid"][0]


@pytest.fixture(autouse=True)
def inline(monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)


@pytest.fixture
def grid(tmp_path):
    """A grid in `tmp_path`, with some parts of its file changed."""

    def make(failed=False, stale=False, only="", **changes):
        experiment = read_experiment(write_tiny(tmp_path, **changes))
        places = Places(tmp_path / "results", tmp_path / "models")
        return Grid(experiment, places, Wanted(failed, stale), parse_where(only))

    return make


def run(grid, jobs=1):
    """What became of every piece, by its title."""
    outcomes = {}
    count = grid.run(jobs, lambda task, outcome, error: outcomes.update({task.title: (outcome, error)}))
    assert sum(count.values()) == len(outcomes)
    return outcomes


def kinds(outcomes, outcome):
    return sorted(title for title, (found, _) in outcomes.items() if found == outcome)


def run_inline(folder, **changes):
    experiment = read_experiment(write_tiny(folder, **changes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmask.grid.run.LocalEngine", Inline)
        return run(Grid(experiment, Places(folder / "results", folder / "models")))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a grid that is done. Do not write to it."""
    folder = tmp_path_factory.mktemp("done")
    outcomes = run_inline(folder)
    assert kinds(outcomes, "done") == sorted(outcomes)
    assert len(outcomes) == PIECES
    return folder


@pytest.fixture
def copy(done, tmp_path):
    """The same to write to."""
    for name in ("results", "models"):
        shutil.copytree(done / name, tmp_path / name)
    return tmp_path


def read(folder, name):
    return json.loads((folder / "results" / f"{name}.json").read_text(encoding="utf-8"))


# The order ------------------------------------------------------------------------------------------------


def test_pieces_come_after_what_they_need(grid):
    made = grid()
    titles = [task.title for task in made.tasks]
    assert len(titles) == PIECES
    assert titles[:3] == ["reviews--cnn--base search", "reviews--cnn--vmask search", "reviews--cnn--base--s0 train"]
    for task in made.tasks:
        for need in needs_of(task, made.experiment):
            assert made.tasks.index(need) < made.tasks.index(task)


@pytest.mark.parametrize("jobs", [1, 3, 99])
def test_a_piece_waits_for_what_it_needs_however_many_processes_are_free(grid, monkeypatch, jobs):
    made, begun, ended = grid(), [], []

    def start(self, job):
        assert set(needs_of(job.task, made.experiment)) <= set(ended)
        begun.append(job.task)
        self.running.append(job)

    def do(self, job):
        ended.append(job.task)
        return Product()

    monkeypatch.setattr(Inline, "start", start)
    monkeypatch.setattr("vmask.grid.course.job_of", lambda task, *_: Job(task, {}))
    monkeypatch.setattr("vmask.grid.worker.Worker.do", do)
    assert len(kinds(run(made, jobs), "done")) == PIECES
    assert sorted(map(hash, begun)) == sorted(map(hash, made.tasks)), "each once"


def test_low_seeds_come_first_and_a_dataset_before_the_next(tmp_path):
    block = {**BLOCK, "datasets": ["reviews.csv", "more.csv"]}
    experiment = read_experiment(write_tiny(tmp_path, grid=[block], search=None, stages=TINY["stages"][:1]))
    assert [task.title for task in tasks_of(experiment, Where())] == [
        f"{dataset}--cnn--{piece}"
        for dataset in ("reviews", "more")
        for piece in (
            "base--s0 train",
            "vmask--s0 train",
            "base--s1 train",
            "vmask--s1 train",
            "vmask--s0 words",
            "vmask--s1 words",
        )
    ]


def test_a_ranking_needs_the_training_of_another_cell(grid):
    made = grid()
    (task,) = (task for task in made.tasks if task.title == "reviews--cnn--base--s1 words")
    needs = needs_of(task, made.experiment)
    assert [need.title for need in needs] == ["reviews--cnn--base--s1 train", "reviews--cnn--vmask--s1 train"]


def test_only_some_cells_and_what_they_need(grid):
    titles = {task.title for task in grid(only="mask=base,seed=1").tasks}
    assert titles == {
        "reviews--cnn--base search",
        "reviews--cnn--base--s1 train",
        "reviews--cnn--base--s1 words",
        "reviews--cnn--vmask search",
        "reviews--cnn--vmask--s1 train",  # ranks the words, and is not measured itself
    }


def test_a_search_that_two_blocks_share_is_one_piece(grid):
    """First seed 0 of everything, then the rest: the combination is the same."""
    more = {**BLOCK, "datasets": ["more.csv"], "masks": ["base"], "seeds": 0}
    made = grid(grid=[{**BLOCK, "seeds": 0}, more, {**BLOCK, "seeds": 1}], stages=None)
    titles = [task.title for task in made.tasks]
    assert titles.count("reviews--cnn--base search") == 1
    assert len(titles) == len(set(titles)) == 3 + 5


# The results ----------------------------------------------------------------------------------------------


def test_every_piece_has_a_file_that_says_what_was_asked_and_by_what_it_was_made(done):
    names = sorted(files(done / "results"))
    assert len(names) == PIECES + 1
    assert names[-1] == "search/reviews--cnn--vmask.json"
    for path in (done / "results").rglob("*--*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["status"] == "done"
        facts = record["facts"]
        assert {"python", "torch", "numpy", "vmask"} <= set(facts["versions"])
        assert {"machine", "commit", "numbers", "threads"} <= set(facts)
        assert facts["threads"] == 1
        assert len(record["identity"]) == 16
        assert "options" in record["asked"] or "train" in record["asked"]


def test_a_training_has_all_that_reports_need(done):
    record = read(done, "cells/reviews--cnn--vmask--s0")
    assert record["cell"] == {"dataset": "reviews", "model": "cnn", "mask": "vmask", "variant": "", "seed": 0}
    assert record["memory_mb"] > 0
    assert record["resumed"] is False
    assert len(record["history"]) == record["epochs"] == 2
    assert record["options"]["train"]["learning_rate"] == record["asked"]["options"]["learning_rate"]
    assert record["test"]["labels"] == ["neg", "pos"]
    assert len(record["test"]["predicted"]) == len(record["test"]["probability"]) == 6
    labels = read(done, "data/reviews")["test_labels"]
    right = sum(int(a) == b for a, b in zip(labels, record["test"]["predicted"], strict=True))
    assert record["test_accuracy"] == pytest.approx(right / 6)
    assert record["dataset"]["fingerprint"] == read(done, "data/reviews")["fingerprint"]
    assert record["parameters"]["all"] >= record["parameters"]["trained"] > 0


def test_a_stage_has_scores_values_and_examples(done):
    record = read(done, "cells/reviews--cnn--base--s0.local")
    assert {score["by"] for score in record["scores"]} == {"lime", "random"}
    assert [values["part"] for values in record["values"]] == ["", "k=5", "second softmax", "equal confidence"]
    values = record["values"][0]
    assert (values["metric"], values["by"], len(values["values"]), len(record["sample"])) == ("aopc", "lime", 5, 5)
    assert [len(one["lime"]) == len(one["spans"]) for one in record["examples"]] == [True, True]
    assert record["importance"] is None
    assert read(done, "cells/reviews--cnn--vmask--s0.local")["importance"]["words"] > 0


def test_aopc_is_also_measured_at_the_confidence_of_the_base_model_of_the_seed(done):
    trained = {mask: read(done, f"cells/reviews--cnn--{mask}--s0") for mask in ("base", "vmask")}
    local = {mask: read(done, f"cells/reviews--cnn--{mask}--s0.local") for mask in ("base", "vmask")}
    temperature = {mask: record["metrics"]["aopc"]["temperature"] for mask, record in local.items()}
    assert temperature["base"] == pytest.approx(1, abs=1e-6)
    flatter = trained["vmask"]["confidence"]["dev"]["mean"] > trained["base"]["confidence"]["dev"]["mean"]
    assert (temperature["vmask"] > 1) == flatter
    parts = {score["part"] for score in local["vmask"]["scores"] if score["metric"] == "aopc"}
    assert parts == {"", "k=5", "second softmax", "equal confidence"}


def test_confidence_and_likelihood_are_kept_of_every_training(done):
    record = read(done, "cells/reviews--cnn--base--s1")
    assert record["confidence"].keys() == {"dev", "test"}
    assert 0.5 <= record["confidence"]["test"]["mean"] <= 1
    assert record["confidence"]["test"]["nll"] > 0
    assert record["confidence"]["test"]["mean"] == pytest.approx(np.mean(record["test"]["probability"]), abs=1e-3)


def test_words_that_another_method_ranks_have_the_version_of_that_method(done):
    base = read(done, "cells/reviews--cnn--base--s1.words")
    assert base["facts"]["numbers"]["mask vmask"] == MASKS.get("vmask").version


def test_words_of_a_model_without_a_ranking_are_ranked_by_the_other(done):
    words = read(done, "cells/reviews--cnn--base--s1.words")
    assert words["measured"]["ranking"] is not None
    assert read(done, "cells/reviews--cnn--vmask--s1.words")["measured"]["ranking"] is None
    assert words["asked"]["ranker"] == read(done, "cells/reviews--cnn--vmask--s1")["identity"]


def test_nothing_but_models_and_results_is_left(done):
    assert sorted(path.name for path in done.iterdir()) == ["models", "results", "reviews.csv", "tiny.yaml"]
    for folder in (done / "models").iterdir():
        assert sorted(path.name for path in folder.iterdir()) == [
            "README.md",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
        ]
    assert not list((done / "results").rglob("*.tmp"))


def test_results_name_no_folder_of_the_machine(done):
    for path in (done / "results").rglob("*.json"):
        assert str(done) not in path.read_text(encoding="utf-8")


# Again ----------------------------------------------------------------------------------------------------


def test_a_second_run_does_nothing(grid, copy):
    before = files(copy / "results")
    assert run(grid()) == {}
    assert files(copy / "results") == before


def test_the_same_work_gives_the_same_results(grid, done, tmp_path):
    run(grid(only="mask=base,seed=0"))
    kept = tmp_path / "kept"
    for name in files(tmp_path / "results"):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(done / "results" / name, kept / name)
    assert differences(tmp_path / "results", kept) == []


def test_a_missing_file_is_work_and_the_same(grid, done, copy):
    (copy / "results" / "cells" / "reviews--cnn--base--s0.local.json").unlink()
    (copy / "results" / "cells" / "reviews--cnn--vmask--s1.json").unlink()
    assert kinds(run(grid()), "done") == ["reviews--cnn--base--s0 local", "reviews--cnn--vmask--s1 train"]
    assert differences(done / "results", copy / "results") == []


def test_a_model_that_was_deleted_is_trained_again_and_gives_the_same_values(grid, done, copy):
    shutil.rmtree(copy / "models")
    for name in ("base--s0.local", "base--s0.words", "vmask--s1.words"):
        (copy / "results" / "cells" / f"reviews--cnn--{name}.json").unlink()
    before = files(copy / "results")
    assert len(kinds(run(grid()), "done")) == 3
    assert differences(done / "results", copy / "results") == []
    assert {name: when for name, when in files(copy / "results").items() if name in before} == before
    assert len(list((copy / "models").iterdir())) == 3  # of base and, to rank its words, of vmask


def test_other_options_are_work_and_the_rest_is_not(grid, copy):
    stages = [*TINY["stages"][:2], {**TINY["stages"][2], "n": 4}]
    assert kinds(run(grid(stages=stages)), "done") == ["reviews--cnn--base--s0 local", "reviews--cnn--vmask--s0 local"]
    assert run(grid(stages=stages)) == {}


def test_another_option_of_the_model_is_all_work(grid, copy):
    models = {"cnn": {**TINY["models"]["cnn"], "epochs": 1}}
    assert len(kinds(run(grid(models=models)), "done")) == PIECES


def test_a_search_with_another_trial_leaves_cells_alone_whose_options_stay(grid, copy):
    """The trial that is added is never the best, so that all cells are what is asked for."""
    search = {**TINY["search"], "trials": 3, "models": {"cnn": {"learning_rate": [0.02, 0.01, 1e-9]}}}
    before = files(copy / "results")
    made = grid(search=search)
    assert made.state(Task(made.experiment.cells[0])) == "missing", "until the search is done, nothing is known"
    outcomes = run(made)
    assert kinds(outcomes, "done") == ["reviews--cnn--base search", "reviews--cnn--vmask search"]
    assert len(kinds(outcomes, "there")) == PIECES - 2
    after = files(copy / "results")
    assert {name for name in after if after[name] != before[name]} == {name for name in after if "search/" in name}


def test_an_older_version_is_work_only_when_it_is_asked_for(grid, copy, monkeypatch):
    newer_version(monkeypatch)
    made = grid()
    assert {made.state(task) for task in made.tasks} == {"older"}
    assert run(made) == {}
    assert len(kinds(run(grid(stale=True)), "done")) == PIECES
    assert {made.state(task) for task in made.tasks} == {"done"}
    assert run(grid(stale=True)) == {}


def newer_version(monkeypatch):
    for module in ("provenance", "run", "job", "course"):
        monkeypatch.setattr(f"vmask.grid.{module}.number_versions", lambda names=(): {"training": 2})


def test_a_stage_measures_the_model_that_the_record_is_about_although_it_is_older(grid, copy, monkeypatch):
    (copy / "results" / "cells" / "reviews--cnn--vmask--s0.words.json").unlink()
    folders = sorted((copy / "models").iterdir())
    newer_version(monkeypatch)
    assert kinds(run(grid()), "done") == ["reviews--cnn--vmask--s0 words"]
    assert sorted((copy / "models").iterdir()) == folders, "no model was trained"
    assert read(copy, "cells/reviews--cnn--vmask--s0.words")["facts"]["numbers"] == {"training": 2}


def test_another_version_has_other_model_folders(grid, copy, monkeypatch):
    (copy / "results" / "cells" / "reviews--cnn--vmask--s0.json").unlink()
    newer_version(monkeypatch)
    run(grid(only="mask=vmask,seed=0"))
    assert len(list((copy / "models").glob("reviews--cnn--vmask--s0--*"))) == 2


def test_other_data_under_the_same_name_is_not_mixed_up_with_a_model_that_is_there(grid, copy):
    """The results were moved away, the models were not, and the file has other rows now."""
    shutil.rmtree(copy / "results")
    made = grid(only="mask=base,seed=1", stages=None)
    write_csv(copy / "reviews.csv", *toy_texts(60, seed=9))
    run(made)
    record = read(copy, "cells/reviews--cnn--base--s1")
    assert record["resumed"] is False
    assert record["dataset"]["fingerprint"] == read(copy, "data/reviews")["fingerprint"]


# Failures -------------------------------------------------------------------------------------------------

BOTH = [{**BLOCK, "datasets": ["gone.csv", "reviews.csv"], "seeds": 0}]


@pytest.fixture(scope="module")
def half_failed(tmp_path_factory):
    """A grid of which one dataset is missing, after a run: its folder, and what became of its pieces."""
    folder = tmp_path_factory.mktemp("half")
    return folder, run_inline(folder, grid=BOTH)


def test_a_failure_is_recorded_and_the_others_go_on(half_failed):
    folder, outcomes = half_failed
    assert kinds(outcomes, "failed") == ["gone--cnn--base search", "gone--cnn--vmask search"]
    assert len(kinds(outcomes, "done")) == 2 + 2 + 2 + 2
    record = read(folder, "search/gone--cnn--base")
    assert record["status"] == "failed"
    assert "gone.csv" in record["error"]
    assert not record["error"].startswith("FileMissing"), "an error that is the user's is said as it is"
    assert record["traceback"][0].startswith("Traceback")
    assert any("load_dataset" in line for line in record["traceback"])
    assert len(record["identity"]) == 16
    assert "numbers" in record["facts"]


def test_what_needs_a_failure_is_skipped_and_has_no_file(half_failed):
    folder, outcomes = half_failed
    skipped = kinds(outcomes, "skipped")
    assert len(skipped) == 2 + 2 + 2
    assert "gone--cnn--base--s0 words" in skipped
    assert outcomes["gone--cnn--base--s0 train"] == ("skipped", "skipped, because what it needs failed")
    assert not list((folder / "results" / "cells").glob("gone*"))


def test_a_failure_is_done_again_only_when_it_is_asked_for(half_failed, grid, tmp_path):
    folder, outcomes = half_failed
    shutil.copytree(folder / "results", tmp_path / "results")
    write_csv(tmp_path / "gone.csv", *toy_texts(60, seed=3))
    again = run(grid(grid=BOTH))
    assert kinds(again, "skipped") == kinds(outcomes, "skipped")
    assert len(again) == 6, "nothing else is to do"
    retried = run(grid(grid=BOTH, failed=True))
    assert len(kinds(retried, "done")) == len(retried) == 8
    assert read(tmp_path, "search/gone--cnn--base")["status"] == "done"
    assert run(grid(grid=BOTH, failed=True)) == {}


def test_a_failure_does_not_replace_what_another_grid_has_done(grid, copy):
    task = next(task for task in grid().tasks if task.kind == "words")
    done = read(copy, f"cells/{task.of.key}.words")
    write_failure(grid().store, task, {"identity": done["identity"]}, "disk full")
    assert read(copy, f"cells/{task.of.key}.words") == done
    write_failure(grid().store, task, {"identity": "of other options"}, "disk full")
    assert read(copy, f"cells/{task.of.key}.words")["status"] == "failed"


def test_what_kills_left_behind_is_removed(grid, copy):
    """Explanations of a stage that was killed right after its file was written, and a temporary file."""
    (model,) = (copy / "models").glob("*--vmask--s0--*")
    (model.with_name(f"{model.name}.local") / "explanations").mkdir(parents=True)
    before = sorted(path.name for path in (copy / "models").iterdir() if "local" not in path.name)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old = temporary_prefix("x").replace(f"-{os.getpid()}-", f"-{gone.pid}-")
    (copy / "models" / f"{old}abc.tmp").write_text("half")
    assert run(grid()) == {}
    assert sorted(path.name for path in (copy / "models").iterdir()) == before


def test_a_ranking_of_a_model_that_failed_is_skipped_and_the_model_itself_is_measured(grid, tmp_path, monkeypatch):
    from vmask.grid.worker import Worker

    def trains(self, job, cell, about):
        if cell.combination.mask == "vmask":
            raise RuntimeError("out of luck")
        return whole(self, job, cell, about)

    whole = Worker._train
    monkeypatch.setattr(Worker, "_train", trains)
    outcomes = run(grid(grid=[{**BLOCK, "seeds": 0}]))
    assert outcomes["reviews--cnn--vmask--s0 train"] == ("failed", "RuntimeError: out of luck")
    assert kinds(outcomes, "skipped") == [
        "reviews--cnn--base--s0 words",
        "reviews--cnn--vmask--s0 local",
        "reviews--cnn--vmask--s0 words",
    ]
    assert outcomes["reviews--cnn--base--s0 local"][0] == "done"
    record = read(tmp_path, "cells/reviews--cnn--vmask--s0")
    assert (record["error"], record["status"]) == ("RuntimeError: out of luck", "failed")
    assert record["cell"]["mask"] == "vmask"


def test_a_cell_that_failed_before_is_not_taken_for_done_when_its_search_is_new(grid, copy):
    name = "cells/reviews--cnn--base--s0"
    record = read(copy, name)
    (copy / "results" / f"{name}.json").write_text(json.dumps({**record, "status": "failed"}))
    (copy / "results" / "search" / "reviews--cnn--base.json").unlink()
    (copy / "results" / f"{name}.local.json").unlink()
    outcomes = run(grid())
    assert outcomes["reviews--cnn--base--s0 train"] == ("skipped", "skipped, because it failed before")
    assert outcomes["reviews--cnn--base--s0 local"][0] == "skipped"
    assert outcomes["reviews--cnn--base--s1 train"][0] == "there"


def test_a_damaged_file_is_said_with_the_fix(grid, copy):
    path = copy / "results" / "search" / "reviews--cnn--base.json"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="Remove it, and the grid makes it anew"):
        run(grid())
    path.unlink()
    outcomes = run(grid())
    assert kinds(outcomes, "done") == ["reviews--cnn--base search"]


@pytest.mark.full
def test_results_of_other_data_are_work_again(grid, copy):
    made = grid()
    assert {made.state(task) for task in made.tasks} == {"done"}
    texts, labels = toy_texts(60)
    rows = read(copy, "data/reviews")["rows"]
    write_csv(copy / "reviews.csv", [f"{text} {number} indeed" for number, text in enumerate(texts)], labels)
    made = Grid(read_experiment(copy / "tiny.yaml"), made.places)
    assert Counter(made.state(task) for task in made.tasks) == {"changed": PIECES}, "searches, trainings and stages"
    outcomes = run(made)
    assert kinds(outcomes, "done") == sorted(task.title for task in made.tasks)
    assert read(copy, "data/reviews")["rows"] == rows
    again = Grid(made.experiment, made.places)
    assert {again.state(task) for task in again.tasks} == {"done"}


def test_data_that_are_not_at_hand_change_nothing(grid, copy):
    made = grid()
    (copy / "reviews.csv").unlink()
    assert {made.state(task) for task in made.tasks} == {"done"}


# How long -------------------------------------------------------------------------------------------------


def test_an_estimate_knows_the_data(grid, copy):
    for path in (copy / "results" / "cells").glob("reviews--cnn--base--s?.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": 30.0}))
    texts, labels = toy_texts(60)
    write_csv(copy / "more.csv", [f"{text} {text}" for text in texts], labels)
    block = {**BLOCK, "datasets": ["reviews.csv", "more.csv"], "masks": ["base"], "seeds": 2}
    made = grid(grid=[block], stages=None, search=None)
    same, more = made.tasks
    estimator = made.estimator()
    assert estimator.seconds(same) == 30.0
    assert estimator.seconds(more) == pytest.approx(60.0, rel=0.3), "as many texts, twice as long"


def test_an_estimate_without_like_pieces_says_so(grid):
    made = grid()
    assert {made.estimator().seconds(task) for task in made.tasks} == {None}


# Word vectors ---------------------------------------------------------------------------------------------


def test_word_vectors_are_found_in_their_folder(tmp_path):
    (tmp_path / "a.npy").touch()
    assert located("a.npy, b.npy,distil:minilm", str(tmp_path)) == f"{tmp_path / 'a.npy'},b.npy,distil:minilm"


def test_vectors_are_recorded_by_name_and_digest(tmp_path):
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / "small.txt").write_text("".join(f"{word} 1 0 0.5\n" for word in ("the", "film", "boring", "superb")))
    block = {**BLOCK, "masks": ["base"], "seeds": 0}
    models = {"cnn": {"epochs": 1, "model__filters": 2}}
    search = {"trials": 2, "models": {"cnn": {"embeddings": ["random", "small.txt"]}}}
    path = write_tiny(tmp_path, grid=[block], models=models, search=search, stages=None)
    made = Grid(read_experiment(path), Places(tmp_path / "results", tmp_path / "models", vectors_dir=str(folder)))
    run(made)
    searched = read(tmp_path, "search/reviews--cnn--base")
    assert searched["status"] == "done"
    path = tmp_path / "results" / "search" / "reviews--cnn--base.json"
    searched["trials"][1]["dev_accuracy"] = 1.1  # whatever dev said
    path.write_text(json.dumps(searched))
    run(made)
    record = read(tmp_path, "cells/reviews--cnn--base--s0")
    assert list(record["vectors"]["files"]) == ["small.txt"]
    assert len(record["vectors"]["files"]["small.txt"]) == 16
    assert record["vectors"]["of"] == ["small.txt"]
    assert record["options"]["data"]["embeddings"] == "small.txt", "no folder of the machine"


def test_tasks_say_what_they_are():
    of = Combination("trec", "cnn", "base")
    assert (Task(of).kind, Task(of).title, Task(of).combination) == ("search", "trec--cnn--base search", of)


def test_a_grid_calibrates_no_model_unless_its_options_say_so(grid):
    made = grid()
    worker = Inline(made.experiment, made.places, 1).worker
    (of, *_) = (cell.combination for cell in made.experiment.cells)
    assert worker._classifier(of, 0, of.options).calibration == "none"
    assert worker._classifier(of, 0, {**of.options, "calibration": "temperature"}).calibration == "temperature"
