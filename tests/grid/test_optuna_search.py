"""The search by Optuna: as many trials for every method, repeatable, on with the trials that are done, dev alone."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys

import pytest

from grid.test_search import Untouchable, do, worker_of
from grid.tiny import TINY, Inline, differences, write_tiny
from vmask.classifier import TextClassifier
from vmask.data.datasets import load_dataset
from vmask.errors import MissingExtra, TrainingDiverged
from vmask.grid.cell import Cell, Combination
from vmask.grid.engines.local import LocalEngine
from vmask.grid.experiment import OPTUNA, Experiment, Search
from vmask.grid.job import job_of
from vmask.grid.optuna_search import DevReports, first_options, next_optuna_trial
from vmask.grid.optuna_study import COMPLETE_TRIALS, FIRST_PRUNED_AT, import_optuna, importances, open_study
from vmask.grid.run import Grid, Wanted
from vmask.grid.search import best, chosen_options, search_request, unfinished_search
from vmask.grid.search_space import Range
from vmask.grid.spec import read_experiment
from vmask.grid.store import Store
from vmask.grid.task import Task
from vmask.grid.worker import Places, Worker
from vmask.training.progress import StopTraining

optuna = pytest.importorskip("optuna")

RATE = Range(1e-4, 1e-1, log=True)
WIDTHS = [[3, 4], [2], [5, 6, 7]]
SEARCH = Search(
    100,
    12,
    {"cnn": {"learning_rate": RATE, "model__widths": WIDTHS}},
    {"base": {}, "vmask": {"beta": Range(0.0, 2.0)}},
    engine=OPTUNA,
)
OF = Combination("trec", "cnn", "base", "", {"embeddings": "random", "learning_rate": 0.01})
FACTS = {"numbers": {"training": 1}, "commit": "def"}
PLAN = TextClassifier("cnn", "base", device="cpu", **OF.options).plan()


class Trainer:
    """Accuracies that are made of the options; stops like a process that is killed."""

    def __init__(self, stop_at=99, epochs=6, competes=lambda epoch: True, accuracy=None):
        self.stop_at, self.epochs, self.competes, self.asked = stop_at, epochs, competes, []
        self.accuracy = accuracy or (lambda options, epoch: 1 - abs(options["learning_rate"] - 0.02) - 0.1 / epoch)

    def __call__(self, options, number, callback):
        if number == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(dict(options))
        for epoch in range(1, self.epochs + 1):
            accuracy = self.accuracy(options, epoch)
            row = {"epoch": epoch, "dev_accuracy": accuracy, "competes": self.competes(epoch), "excess": 0.0}
            callback.epoch(row, False)
        return {"dev_accuracy": accuracy, "best_epoch": epoch, "epochs": epoch, "seconds": 1.0}


def search(store, train, search=SEARCH, of=OF, facts=FACTS, spoil=lambda path: None):
    """Do the trials that are left, and write both files after each; `spoil` may do something to the journal."""
    request = search_request(search, of)
    while True:
        task = Task(of)
        job = job_of(task, Experiment("e", "", "out", (Cell(of, 0),), (), search), store)
        assert job.unfinished == unfinished_search(store, of, request)
        record, journal = next_optuna_trial(of, request, job.unfinished, job.journal, PLAN, train, facts)
        store.write_text(store.journal(of.key), journal)
        store.write(store.search(of.key), record)
        if record["status"] == "done":
            return store.read(store.search(of.key))
        spoil(store.journal(of.key))


def without_seconds(record):
    return {**record, "trials": [{**trial, "seconds": 0} for trial in record["trials"]]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with a search that was done without a break, and its record."""
    store = Store(tmp_path_factory.mktemp("whole"))
    return store, search(store, Trainer())


def test_the_first_trial_has_the_defaults_and_all_that_were_asked_for_are_made(whole):
    _, record = whole
    assert (record["status"], len(record["trials"])) == ("done", 12)
    assert record["trials"][0]["options"] == {"learning_rate": 0.01, "model__widths": [3, 4]}
    assert len({trial["options"]["learning_rate"] for trial in record["trials"]}) == 12
    for trial in record["trials"]:
        assert 1e-4 <= trial["options"]["learning_rate"] <= 0.1
        assert trial["options"]["model__widths"] in WIDTHS
        assert len(trial["reported"]) == trial["epochs"]
    assert record["chosen"] == best(record["trials"])
    assert record["trials"][record["chosen"]]["dev_accuracy"] > record["trials"][0]["dev_accuracy"]


def test_the_result_of_a_search_repeats_and_follows_its_seed_and_its_combination(whole, tmp_path):
    _, record = whole
    assert without_seconds(search(Store(tmp_path / "again"), Trainer())) == without_seconds(record)
    drawn = [trial["options"] for trial in record["trials"]]
    other = search(Store(tmp_path / "seed"), Trainer(), dataclasses.replace(SEARCH, seed=1))
    assert [trial["options"] for trial in other["trials"]][1:] != drawn[1:]
    other = search(Store(tmp_path / "of"), Trainer(), of=dataclasses.replace(OF, dataset="sst2"))
    assert [trial["options"] for trial in other["trials"]][1:] != drawn[1:]
    assert other["trials"][0]["options"] == drawn[0]


def test_what_is_asked_holds_all_that_decides_the_result():
    asked = search_request(SEARCH, dataclasses.replace(OF, mask="vmask"))
    assert asked == {
        "options": OF.options,
        "seed": 100,
        "trials": 12,
        "engine": "optuna",
        "space": {
            "beta": {"low": 0.0, "high": 2.0, "log": False, "step": None},
            "learning_rate": {"low": 1e-4, "high": 0.1, "log": True, "step": None},
            "model__widths": WIDTHS,
        },
    }


def test_the_journal_is_one_of_optuna(whole):
    store, record = whole
    backend = optuna.storages.journal.JournalFileBackend(str(store.journal(OF.key)))
    study = optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))
    assert study.study_name == OF.key
    assert [trial.params["learning_rate"] for trial in study.trials] == [
        trial["options"]["learning_rate"] for trial in record["trials"]
    ]
    pruned = [trial.state == optuna.trial.TrialState.PRUNED for trial in study.trials]
    assert pruned == [trial["pruned"] for trial in record["trials"]]
    assert any(pruned), "the toy is made so"
    assert study.best_trial.number == record["chosen"]
    assert study.trials[3].user_attrs["epochs"] == record["trials"][3]["epochs"]
    assert {path.suffix for path in store.journal(OF.key).parent.iterdir()} == {".json", ".log"}, "no lock is left"


def test_a_pruned_trial_counts_and_is_not_chosen(whole):
    _, record = whole
    complete = [trial for trial in record["trials"] if not trial["pruned"]]
    for number, trial in enumerate(record["trials"]):
        if trial["pruned"]:
            assert number >= COMPLETE_TRIALS
            assert FIRST_PRUNED_AT <= trial["epochs"] < 6
            assert trial["dev_accuracy"] == max(trial["reported"])
            assert trial["best_epoch"] == trial["reported"].index(max(trial["reported"])) + 1
    assert all(trial["epochs"] == 6 for trial in complete)
    assert best([{"dev_accuracy": 0.9, "pruned": True}, {"dev_accuracy": 0.5, "pruned": False}]) == 1
    assert best([{"dev_accuracy": 0.4, "pruned": True}, {"dev_accuracy": 0.5, "pruned": True}]) == 1


def leave(path):
    """Nothing happens to the journal."""


def remove(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def garble(path):
    path.write_bytes(b"\xff\xfe{not JSON\n" + path.read_bytes())


def forget_a_trial(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"op_code":4' in line)
    path.write_text("".join(lines[:last]), encoding="utf-8")


def add_a_running_trial(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    begun = next((line for line in reversed(lines) if '"op_code":4' in line and '"state"' not in line), lines[1])
    path.write_text("".join([*lines, begun]), encoding="utf-8")


@pytest.mark.parametrize("spoil", [leave, remove, cut, garble, forget_a_trial, add_a_running_trial])
def test_whatever_becomes_of_the_journal_the_search_is_the_same(whole, tmp_path, spoil):
    store = Store(tmp_path)
    record = search(store, Trainer(), spoil=spoil)
    assert without_seconds(record) == without_seconds(whole[1])
    lines = [json.loads(line) for line in store.journal(OF.key).read_text(encoding="utf-8").splitlines()]
    assert sum(line["op_code"] == 4 for line in lines) == 12


@pytest.mark.parametrize("stop", [1, 2, 7, 12])
def test_a_search_that_is_cut_off_goes_on_with_the_trials_that_are_done(whole, tmp_path, stop):
    store, first = Store(tmp_path), Trainer(stop_at=stop)
    with pytest.raises(KeyboardInterrupt):
        search(store, first)
    before = store.read(store.search(OF.key))
    assert (0 if before is None else len(before["trials"])) == stop - 1
    made = Experiment("e", "", "out", (Cell(OF, 0),), (), SEARCH)
    assert chosen_options(store, made, OF) is None
    second = Trainer()
    record = search(store, second)
    assert len(first.asked) + len(second.asked) == 12
    assert without_seconds(record) == without_seconds(whole[1])
    assert chosen_options(store, made, OF) == {**OF.options, **record["trials"][record["chosen"]]["options"]}


def test_trials_of_other_versions_do_not_count(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        search(store, Trainer(stop_at=3))
    trainer = Trainer()
    search(store, trainer, facts={**FACTS, "numbers": {"training": 2}})
    assert len(trainer.asked) == 12


def test_no_epoch_that_does_not_compete_prunes_a_trial(tmp_path):
    late = Trainer(epochs=8, competes=lambda epoch: epoch > 5)
    record = search(Store(tmp_path), late)
    assert all(len(trial["reported"]) == trial["epochs"] - 5 for trial in record["trials"])
    assert all(trial["epochs"] >= 5 + FIRST_PRUNED_AT for trial in record["trials"])


def test_what_is_reported_and_what_ends_a_training():
    told = []

    def report(accuracy, number):
        told.append((accuracy, number))
        return accuracy < 0.3

    dev = DevReports(report)
    row = {"dev_accuracy": 0.5, "competes": True, "excess": 0.0}
    dev.stage(1, 2)
    dev.epoch(row, True)
    dev.stage(2, 2)
    dev.epoch({**row, "competes": False, "dev_accuracy": 0.1}, False)
    dev.epoch({**row, "excess": 0.2, "dev_accuracy": 0.9}, True)
    assert told == []
    dev.epoch(row, True)
    dev.epoch({**row, "dev_accuracy": 0.4}, False)
    with pytest.raises(StopTraining):
        dev.epoch({**row, "dev_accuracy": 0.2}, False)
    assert told == [(0.5, 1), (0.4, 2), (0.2, 3)]
    assert (dev.reported, dev.epochs, dev.best_epoch) == ([0.5, 0.4, 0.2], 6, 4)


def test_a_training_that_diverges_counts_as_pruned(tmp_path):
    def train(options, number, callback):
        if number == 2:
            raise TrainingDiverged("The loss is nan")
        return Trainer()(options, number, callback)

    record = search(Store(tmp_path), train, dataclasses.replace(SEARCH, trials=3))
    second = record["trials"][1]
    assert (second["pruned"], second["dev_accuracy"], second["epochs"], second["reported"]) == (True, 0.0, 0, [])
    assert record["chosen"] != 1


def test_options_that_were_tried_before_are_not_trained_again(tmp_path):
    few = Search(3, 12, {"cnn": {"epochs": Range(1, 2), "model__filters": [1, 2, 3, 4, 5, 6]}}, engine=OPTUNA)
    trainer = Trainer(accuracy=lambda options, epoch: options["model__filters"] / 10)
    record = search(Store(tmp_path), trainer, few)
    distinct = {json.dumps(trial["options"]) for trial in record["trials"]}
    assert len(record["trials"]) == 12
    assert len(trainer.asked) == len(distinct) < 12, "the toy is made so"
    for trial in record["trials"]:
        assert trial["dev_accuracy"] == trial["options"]["model__filters"] / 10


def test_defaults_are_those_of_the_combination():
    space = {
        "learning_rate": RATE,
        "beta": Range(0.2, 5.0),
        "model__filters": Range(100, 300, step=100),
        "mask_learning_rate": RATE,
        "epochs": [7, 3],
    }
    plan = TextClassifier("cnn", "vmask", device="cpu", learning_rate=3.0).plan()
    assert first_options(space, plan) == {
        "learning_rate": 0.1,  # the nearest
        "beta": plan.train.beta,
        "model__filters": plan.model_options.filters,
        "mask_learning_rate": 1e-4,  # it has no number as its default
        "epochs": 7,
    }


def test_the_importance_of_options(whole, tmp_path):
    _, record = whole
    shares = importances(record)
    assert shares.keys() == {"learning_rate", "model__widths"}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["learning_rate"] > 0.8
    assert importances(record) == shares
    alike = [{**trial, "dev_accuracy": 0.5} for trial in record["trials"]]
    assert importances({**record, "trials": alike}) == {}
    assert importances({**record, "asked": {"space": {"epochs": [1, 2]}}}) == {}
    assert importances({**record, "trials": record["trials"][:1]}) == {}


def test_optuna_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"pip install 'vmask\[optuna\]'"):
        import_optuna()


def test_a_journal_of_another_study_is_not_taken(tmp_path):
    path = tmp_path / "journal.log"
    open_study(path, "one", {"a": RATE}, [], 3, 0)
    study = open_study(path, "other", {"a": RATE}, [], 3, 0)
    assert (study.study_name, len(study.trials)) == ("other", 0)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


# With trainings -------------------------------------------------------------------------------------------

BY_OPTUNA = {
    "engine": "optuna",
    "trials": 3,
    "space": {"learning_rate": {"low": 0.001, "high": 0.05, "log": True}},
    "masks": {"base": {}, "vmask": {"beta": {"low": 0.1, "high": 1.0}}, "l2x": {}},
}


@pytest.mark.parametrize("mask", ["base", "vmask", "l2x"])
def test_a_search_by_optuna_never_reads_the_test_split(tmp_path, monkeypatch, mask):
    def guarded(*args, **options):
        dataset = load_dataset(*args, **options)
        return dataclasses.replace(dataset, splits={**dataset.splits, "test": Untouchable()})

    monkeypatch.setattr("vmask.grid.sources.load_dataset", guarded)
    grid = [{"datasets": ["reviews.csv"], "models": ["cnn"], "masks": [mask], "seeds": 0}]
    worker = worker_of(tmp_path, grid=grid, stages=None, search=BY_OPTUNA)
    (cell,) = worker.experiment.cells
    assert do(worker, Task(cell.combination)) == ""
    store = worker.places.store
    record = store.read(store.search(cell.combination.key))
    assert (record["status"], len(record["trials"])) == ("done", 3)
    assert record["facts"]["versions"]["optuna"] == optuna.__version__
    assert record["trials"][0]["options"]["learning_rate"] == 0.02, "that of the file"
    competing = {"base": 2, "vmask": 1, "l2x": 2}[mask]  # of two epochs; in the first beta of VMASK still falls
    assert [len(trial["reported"]) for trial in record["trials"]] == [competing] * 3
    assert all(trial["dev_accuracy"] == max(trial["reported"]) for trial in record["trials"])
    assert "the test split was" in do(worker, Task(cell)), "a training does score it, so the guard guards"


GRID = {"stages": None, "search": {**BY_OPTUNA, "masks": {"base": {}, "vmask": {}}}}


def grid_in(folder, masks=("base", "vmask")):
    folder.mkdir(exist_ok=True)
    experiment = read_experiment(
        write_tiny(folder, **GRID, grid=[{**TINY["grid"][0], "masks": list(masks), "seeds": 0}])
    )
    return Grid(experiment, Places(folder / "results", folder / "models"))


def run(grid, jobs=1):
    outcomes = {}
    grid.run(jobs, lambda task, outcome, error: outcomes.update({task.title: (outcome, error)}))
    return outcomes


def test_a_grid_trains_with_what_optuna_chose_and_does_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    grid = grid_in(tmp_path)
    assert run(grid) == dict.fromkeys([task.title for task in grid.tasks], ("done", ""))
    for cell in grid.experiment.cells:
        record = grid.store.read(grid.store.search(cell.combination.key))
        chosen = record["trials"][record["chosen"]]["options"]
        trained = grid.store.read(grid.store.cell(cell.key))
        assert trained["asked"]["options"]["learning_rate"] == chosen["learning_rate"]
        assert grid.store.journal(cell.combination.key).is_file()
    assert run(grid_in(tmp_path)) == {}


def test_a_search_that_failed_is_done_again_from_the_trial_that_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    whole_trial, calls = Worker._trial, []

    def trial(self, of, options, callbacks=()):
        calls.append(options)
        if len(calls) == 3:
            raise RuntimeError("a machine is gone")
        return whole_trial(self, of, options, callbacks)

    monkeypatch.setattr(Worker, "_trial", trial)
    grid = grid_in(tmp_path / "failed", masks=["base"])
    assert run(grid)["reviews--cnn--base search"] == ("failed", "RuntimeError: a machine is gone")
    path = grid.store.search("reviews--cnn--base")
    record = grid.store.read(path)
    assert (record["status"], len(record["trials"])) == ("failed", 2)
    again = grid_in(tmp_path / "failed", masks=["base"])
    assert "reviews--cnn--base search" not in run(again), "what failed is not done again unless that is asked for"
    again.wanted = Wanted(failed=True)
    assert set(run(again).values()) == {("done", "")}
    assert len(calls) == 4
    run(grid_in(tmp_path / "whole", masks=["base"]))
    assert differences(tmp_path / "failed" / "results", tmp_path / "whole" / "results") == []


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_processes_that_are_killed_between_trials_change_nothing(tmp_path, monkeypatch):
    """Done by processes, one of which dies in the second trial of a search, and again inline: all is the same."""
    whole_start, struck = LocalEngine.start, []

    def start(self, job):
        whole_start(self, job)
        if job.task.title == "reviews--cnn--vmask search" and job.unfinished and not struck:
            struck.append(job)
            os.kill(next(process.pid for process, one in self._running.values() if one is job), signal.SIGKILL)

    monkeypatch.setattr(LocalEngine, "start", start)
    outcomes = run(grid_in(tmp_path / "struck"), jobs=2)
    assert outcomes["reviews--cnn--vmask search"][0] == "failed"
    store = Store(tmp_path / "struck" / "results")
    (first,) = store.read(store.search("reviews--cnn--vmask"))["trials"]
    assert outcomes["reviews--cnn--base--s0 train"] == ("done", "")
    again = grid_in(tmp_path / "struck")
    again.wanted = Wanted(failed=True)
    assert set(run(again, jobs=2).values()) == {("done", "")}
    assert store.read(store.search("reviews--cnn--vmask"))["trials"][0] == first, "seconds and all: it was not repeated"
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    run(grid_in(tmp_path / "inline"))
    assert differences(tmp_path / "struck" / "results", tmp_path / "inline" / "results") == []
