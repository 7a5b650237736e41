"""The search on dev: the best trial, never one twice, and nothing of test."""

from __future__ import annotations

import dataclasses
import warnings

import pytest

from grid.tiny import write_tiny
from vmask.data.datasets import load_dataset
from vmask.errors import VmaskWarning
from vmask.grid.cell import Cell, Combination
from vmask.grid.experiment import Experiment, Search
from vmask.grid.job import job_of
from vmask.grid.search import best, chosen_options, next_trial, search_request, unfinished_search
from vmask.grid.spec import read_experiment
from vmask.grid.store import Store
from vmask.grid.task import Task
from vmask.grid.worker import Places, Worker

RATES = [0.001, 0.1, 0.2, 0.3]
SEARCH = Search(100, 4, {"cnn": {"learning_rate": RATES}})
OF = Combination("trec", "cnn", "vmask", "", {"embeddings": "random"})
TRIALS = SEARCH.trials_of(OF)
FACTS = {"numbers": {"training": 1}, "commit": "def"}


def experiment(search=SEARCH, *others):
    return Experiment("e", "", "out", (Cell(OF, 0), *(Cell(other, 0) for other in others)), (), search)


class Trial:
    """Gives accuracies in their order, counts what it is asked, and stops like a process that is killed."""

    def __init__(self, *accuracies, stop_at=99):
        self.accuracies, self.stop_at, self.asked = accuracies, stop_at, []

    def __call__(self, options):
        number = TRIALS.index(options)
        if number == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(dict(options))
        return {"dev_accuracy": self.accuracies[number], "seconds": 1.0}


def search(store, trial, facts=FACTS, search=SEARCH, of=OF):
    """Do the trials that are left, and write the file after each."""
    request = search_request(search, of)
    while True:
        record = next_trial(of, request, unfinished_search(store, of, request), trial, facts)
        store.write(store.search(of.key), record)
        if record["status"] == "done":
            return store.read(store.search(of.key))


def test_the_best_on_dev_is_chosen_and_the_earlier_of_two(tmp_path):
    assert best([{"dev_accuracy": one} for one in (0.5, 0.7, 0.7, 0.6)]) == 1
    assert best([{"dev_accuracy": one} for one in (0.7, 0.7)]) == 0
    record = search(Store(tmp_path), Trial(0.5, 0.6, 0.9, 0.9))
    assert (record["status"], record["chosen"]) == ("done", 2)
    assert [trial["dev_accuracy"] for trial in record["trials"]] == [0.5, 0.6, 0.9, 0.9]
    assert record["combination"] == {"dataset": "trec", "model": "cnn", "mask": "vmask", "variant": ""}


def test_options_of_model_and_method_are_crossed():
    search = Search(1, 6, {"cnn": {"learning_rate": [1, 2], "model__filters": [10, 20]}}, {"vmask": {"beta": [3, 4]}})
    space = search.space(OF)
    assert len(space) == 8
    trials = search.trials_of(OF)
    assert trials[0] == space[0] == {"learning_rate": 1, "model__filters": 10, "beta": 3}
    assert len({repr(trial) for trial in trials}) == 6
    assert all(trial in space for trial in trials)
    assert trials == search.trials_of(OF)
    assert trials != dataclasses.replace(search, seed=2).trials_of(OF)
    assert search.trials_of(dataclasses.replace(OF, mask="iba")) == [], "methods that are not named are not searched"
    assert search.trials_of(dataclasses.replace(OF, model="lstm")) == []


def test_what_is_best_on_average_serves_the_datasets_that_are_not_searched_on(tmp_path):
    store = Store(tmp_path)
    sst = dataclasses.replace(OF, dataset="sst2")
    other = dataclasses.replace(OF, dataset="agnews", options={"epochs": 6})
    made = experiment(dataclasses.replace(SEARCH, datasets=("trec", "sst2")), sst, other)
    assert made.searches_for(other) == [OF, sst]
    assert made.searches_for(sst) == [sst]
    search(store, Trial(0.9, 0.8, 0.5, 0.5))
    assert chosen_options(store, made, other) is None, "one of the searches is still to be done"
    search(store, Trial(0.1, 0.8, 0.9, 0.5), of=sst)
    assert chosen_options(store, made, other) == {"epochs": 6, **TRIALS[1]}
    assert chosen_options(store, made, sst) == {"embeddings": "random", **TRIALS[2]}


@pytest.mark.parametrize("cut", range(len(TRIALS)))
def test_a_search_that_is_cut_off_goes_on_and_does_no_trial_again(tmp_path, cut):
    store, accuracies = Store(tmp_path), (0.5, 0.9, 0.6, 0.7)
    first = Trial(*accuracies, stop_at=cut)
    with pytest.raises(KeyboardInterrupt):
        search(store, first)
    before = store.read(store.search(OF.key))
    if cut:
        assert (before["status"], before["chosen"], len(before["trials"])) == ("running", None, cut)
    else:
        assert before is None
    assert chosen_options(store, experiment(), OF) is None
    second = Trial(*accuracies)
    record = search(store, second)
    assert len(first.asked) == cut
    assert len(second.asked) == len(TRIALS) - cut
    assert record == search(Store(tmp_path / "unbroken"), Trial(*accuracies))


def test_another_commit_of_the_same_versions_begins_nothing_anew(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        search(store, Trial(0.5, 0.9, 0.6, 0.7, stop_at=2))
    second = Trial(0.5, 0.9, 0.6, 0.7)
    record = search(store, second, {**FACTS, "commit": "later"})
    assert len(second.asked) == 2
    assert record["facts"]["commit"] == "later"


def test_trials_of_other_versions_or_of_other_options_do_not_count(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        search(store, Trial(0.5, 0.9, 0.6, 0.7, stop_at=2))
    trial = Trial(0.5, 0.9, 0.6, 0.7)
    search(store, trial, {**FACTS, "numbers": {"training": 2}})
    assert len(trial.asked) == 4
    store.search(OF.key).unlink()
    with pytest.raises(KeyboardInterrupt):
        search(store, Trial(0.5, 0.9, 0.6, 0.7, stop_at=2))
    trial = Trial(0.5, 0.9, 0.6, 0.7)
    search(store, trial, of=dataclasses.replace(OF, options={"embeddings": "glove.txt"}))
    assert len(trial.asked) == 4


def test_options_are_known_when_the_search_is_done(tmp_path):
    store = Store(tmp_path)
    assert chosen_options(store, experiment(), OF) is None
    search(store, Trial(0.5, 0.9, 0.6, 0.7))
    assert chosen_options(store, experiment(), OF) == {"embeddings": "random", **TRIALS[1]}
    other = dataclasses.replace(SEARCH, seed=7)
    assert chosen_options(store, experiment(other), OF) is None, "another search was asked for"
    store.write(store.search(OF.key), {"status": "failed", "identity": "x", "error": "no"})
    assert chosen_options(store, experiment(), OF) is None


def test_without_a_search_nothing_is_waited_for(tmp_path):
    store = Store(tmp_path)
    assert chosen_options(store, experiment(None), OF) == {"embeddings": "random"}
    elsewhere = experiment(Search(1, 2, {"lstm": {"epochs": [1, 2]}}))
    assert chosen_options(store, elsewhere, OF) == {"embeddings": "random"}


def test_what_a_search_is_asked_holds_all_that_decides_it():
    asked = search_request(SEARCH, OF)
    assert asked == {"options": {"embeddings": "random"}, "seed": 100, "trials": TRIALS}


# With trainings -------------------------------------------------------------------------------------------


class Untouchable:
    """A split that must not be read."""

    def __getattribute__(self, name):
        raise AssertionError(f"the test split was asked for its {name}")

    def __len__(self):
        raise AssertionError("the test split was counted")


def worker_of(tmp_path, **changes):
    experiment = read_experiment(write_tiny(tmp_path, **changes))
    return Worker(experiment, Places(tmp_path / "results", tmp_path / "models"))


def do(worker, task):
    """Do a task, the trials of a search one after the other, and write its files; gives the error."""
    store = worker.places.store
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)
            product = worker.do(job_of(task, worker.experiment, store))
        for name, record in product.files.items():
            store.write(store.folder / name, record)
        if all(record.get("status") != "running" for record in product.files.values()):
            return product.error


@pytest.mark.parametrize("mask", ["base", "vmask", "l2x"])
def test_a_search_never_reads_the_test_split(tmp_path, monkeypatch, mask):
    def guarded(*args, **options):
        dataset = load_dataset(*args, **options)
        return dataclasses.replace(dataset, splits={**dataset.splits, "test": Untouchable()})

    monkeypatch.setattr("vmask.grid.sources.load_dataset", guarded)
    grid = [{"datasets": ["reviews.csv"], "models": ["cnn"], "masks": [mask], "seeds": 0}]
    worker = worker_of(tmp_path, grid=grid, stages=None)
    (cell,) = worker.experiment.cells
    assert do(worker, Task(cell.combination)) == ""
    record = worker.places.store.read(worker.places.store.search(cell.combination.key))
    assert record["status"] == "done"
    assert all(0 <= trial["dev_accuracy"] <= 1 and trial["epochs"] == 2 for trial in record["trials"])
    assert "the test split was" in do(worker, Task(cell)), "a training does score it, so the guard guards"


def test_the_options_that_were_chosen_reach_the_cell(tmp_path):
    models = {"cnn": {"embeddings": "random", "model__filters": 4, "epochs": 6, "batch_size": 20}}
    search = {"trials": 2, "models": {"cnn": {"learning_rate": [1e-6, 0.05]}}}
    grid = [{"datasets": ["reviews.csv"], "models": ["cnn"], "masks": ["base"], "seeds": 3}]
    worker = worker_of(tmp_path, grid=grid, stages=None, models=models, search=search)
    (cell,) = worker.experiment.cells
    for task in (Task(cell.combination), Task(cell)):
        assert do(worker, task) == ""
    assert worker.places.store.read(worker.places.store.search(cell.combination.key))["chosen"] == 1
    record = worker.places.store.read(worker.places.store.cell(cell.key))
    assert record["asked"]["options"]["learning_rate"] == 0.05
    assert (record["options"]["train"]["learning_rate"], record["options"]["train"]["epochs"]) == (0.05, 6)
    assert (record["options"]["train"]["seed"], record["epochs"]) == (3, 6)
