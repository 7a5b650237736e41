"""Models of a grid: found where they are, trained again where they are not, by one process at a time."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask._core.locks import taking_turns
from vmask.data.datasets import load_dataset
from vmask.evaluation.dataset_training import fit_dataset
from vmask.grid.model_store import find_model, find_or_train
from vmask.training.progress import ProgressCallback

FILES = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
TEXTS = toy_texts(20, seed=5)[0]


@pytest.fixture
def dataset(tmp_path):
    return load_dataset(write_csv(tmp_path / "reviews.csv", *toy_texts(60)))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models" / "tiny"


class Maker:
    """Makes classifiers and counts them: each is one training."""

    def __init__(self, **options):
        self.made, self.options = 0, options

    def __call__(self):
        self.made += 1
        small = {"embeddings": "random", "epochs": 3, "learning_rate": 0.02, "model__filters": 4, "device": "cpu"}
        return TextClassifier("cnn", "base", **{**small, **self.options})


class StopsAfterOne(ProgressCallback):
    """Ends a training after its first epoch, as a process that is killed."""

    def epoch(self, row, best):
        if row["epoch"] == 2:
            raise KeyboardInterrupt


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def same(one, other):
    np.testing.assert_array_equal(one.classifier.predict_proba(TEXTS), other.classifier.predict_proba(TEXTS))
    return one.classifier.about_["test_accuracy"] == other.classifier.about_["test_accuracy"]


def test_a_model_is_trained_once_and_then_found(folder, dataset):
    make = Maker()
    first, second = find_or_train(folder, dataset, make), find_or_train(folder, dataset, make)
    assert make.made == 1
    assert names(folder) == FILES
    assert first.trained["resumed"] is False
    assert first.trained["memory_mb"] > 0
    assert first.trained["epochs"] == 3
    assert second.trained is None
    assert (first.folder, second.folder) == (folder, folder)
    assert same(first, second)


def test_nothing_is_found_where_there_is_nothing(folder, dataset):
    assert find_model(folder, dataset) is None
    folder.mkdir(parents=True)
    assert find_model(folder, dataset) is None


@pytest.mark.parametrize("lost", [FILES, ["model.safetensors"], ["config.json"], ["tokenizer.json", "README.md"]])
def test_a_model_that_lost_files_is_trained_again_and_the_same(folder, dataset, lost):
    make = Maker()
    first = find_or_train(folder, dataset, make)
    for name in lost:
        (folder / name).unlink()
    again = find_or_train(folder, dataset, make)
    assert make.made == 2
    assert again.trained["resumed"] is False
    assert names(folder) == FILES
    assert same(first, again)


def test_a_damaged_model_is_trained_again(folder, dataset):
    make = Maker()
    first = find_or_train(folder, dataset, make)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    assert same(first, find_or_train(folder, dataset, make))
    assert make.made == 2


def test_a_model_of_other_data_is_not_taken_for_this_ones(folder, dataset, tmp_path):
    make = Maker()
    find_or_train(folder, dataset, make)
    other = load_dataset(write_csv(tmp_path / "reviews.csv", *toy_texts(60, seed=1)))
    again = find_or_train(folder, other, make)
    assert make.made == 2
    assert again.classifier.about_["dataset_fingerprint"] == other.fingerprint
    assert find_model(folder, dataset) is None


def test_a_training_that_was_cut_off_goes_on(folder, dataset, tmp_path):
    make = Maker()
    whole = find_or_train(tmp_path / "whole", dataset, make)
    with pytest.raises(KeyboardInterrupt):
        fit_dataset(make(), dataset, folder / "checkpoint", progress=StopsAfterOne())
    assert names(folder) == ["checkpoint"]
    path = folder / "checkpoint" / "state.json"
    state = json.loads(path.read_text())
    state["history"][0]["seconds"] = 777
    path.write_text(json.dumps(state))
    resumed = find_or_train(folder, dataset, make)
    assert resumed.trained["resumed"] is True
    assert resumed.classifier.history_[0]["seconds"] == 777, "the first epoch was not trained again"
    assert names(folder) == FILES
    assert same(whole, resumed)


def test_a_saving_that_was_cut_off_does_not_stand_in_the_way(folder, dataset, tmp_path):
    make = Maker()
    whole = find_or_train(tmp_path / "whole", dataset, make)
    with pytest.raises(KeyboardInterrupt):
        fit_dataset(make(), dataset, folder / "checkpoint", progress=StopsAfterOne())
    (folder / "model.safetensors").write_bytes(b"the first that is renamed")
    (folder / ".config.json.abc.tmp").write_text("{")
    assert same(whole, find_or_train(folder, dataset, make))
    assert names(folder) == FILES


@pytest.mark.parametrize("damage", ["options", "file"])
def test_a_checkpoint_of_no_use_is_thrown_away(folder, dataset, tmp_path, damage):
    with pytest.raises(KeyboardInterrupt):
        fit_dataset(Maker(batch_size=10)(), dataset, folder / "checkpoint", progress=StopsAfterOne())
    if damage == "file":
        (folder / "checkpoint" / "state.json").write_text("{")
    model = find_or_train(folder, dataset, Maker())
    assert model.trained["resumed"] is False
    assert same(model, find_or_train(tmp_path / "whole", dataset, Maker()))


def test_a_checkpoint_beside_a_whole_model_is_removed(folder, dataset):
    find_or_train(folder, dataset, Maker())
    (folder / "checkpoint").mkdir()
    find_or_train(folder, dataset, Maker())
    assert names(folder) == FILES


def test_two_that_need_a_model_at_once_train_it_once(folder, dataset):
    pytest.importorskip("fcntl")
    make, found = Maker(), []
    threads = [threading.Thread(target=lambda: found.append(find_or_train(folder, dataset, make))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert make.made == 1
    assert sorted(model.trained is None for model in found) == [False, True, True]
    assert same(found[0], found[1])


def test_a_folder_that_was_removed_while_another_waited_for_it_is_made_again(tmp_path):
    folder, waiting, order = tmp_path / "kept", threading.Event(), []

    def second():
        waiting.set()
        with taking_turns(folder):
            order.append(("second", folder.is_dir()))

    with taking_turns(folder):
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait()
        thread.join(0.1)
        order.append(("first", folder.is_dir()))
        folder.rmdir()
    thread.join()
    assert order == [("first", True), ("second", True)]
