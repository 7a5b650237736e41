"""What MLflow's client reads back is what was trained."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from trackers.recorder import EPOCHS, STEPS, Stop, train

pytest.importorskip("mlflow", reason="needs vmask[mlflow]")
pytest.importorskip("sqlalchemy", reason="needs vmask[mlflow]")

from vmask.errors import TrackerWarning
from vmask.trackers.mlflow import MLflow

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of MLflow itself


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)


def client(folder):
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")


def runs(folder, experiment="vmask"):
    found = client(folder).get_experiment_by_name(experiment)
    return list(client(folder).search_runs([found.experiment_id]))


def history(folder, run, name):
    return [(metric.step, metric.value) for metric in client(folder).get_metric_history(run.info.run_id, name)]


def artifact(run, *path):
    return Path(run.info.artifact_uri.removeprefix("file://")).joinpath(*path)


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        folder = tmp_path_factory.mktemp("tracking")
        tracker = MLflow(folder, "first", group="mine")
        classifier = train(tracker)
        tracker.scores({"test_accuracy": 0.75, "test_n": 20})
        (folder / "report.html").write_text("<p>page</p>")
        tracker.file(folder / "report.html")
        (run,) = runs(folder, "mine")
        return classifier, folder, run


def test_the_run_is_named_and_finished(tracked):
    _, folder, run = tracked
    assert run.info.run_name == "first"
    assert run.info.status == "FINISHED"
    assert artifact(run).is_relative_to(folder / "mlflow-artifacts")


def test_numbers_and_options_are_read_back(tracked):
    classifier, folder, run = tracked
    for name, key in (("train/loss", "loss"), ("dev/accuracy", "dev_accuracy"), ("mask/mean", "mask_mean")):
        expected = [(STEPS * number, row[key]) for number, row in enumerate(classifier.history_, 1)]
        assert history(folder, run, name) == expected
    assert [step for step, _ in history(folder, run, "train/step_loss")] == list(range(1, EPOCHS * STEPS + 1))
    assert run.data.metrics["test/accuracy"] == 0.75
    assert run.data.metrics["kept/epoch"] == classifier.best_epoch_
    assert run.data.params["train.batch_size"] == "20"
    assert run.data.params["mask"] == "vmask"


def test_histograms_words_and_the_page_are_artifacts(tracked):
    classifier, _, run = tracked
    found = sorted(path.name for path in artifact(run, "words", "masks").iterdir())
    assert found == [f"step-{STEPS * number:07d}.json" for number in range(1, EPOCHS + 1)]
    (kept,) = artifact(run, "kept_words", "masks").iterdir()
    content = json.loads(kept.read_text())
    assert sum(content["counts"]) == len(classifier.word_importance())
    assert len(content["edges"]) == len(content["counts"]) + 1
    first = next(word for word in classifier.word_importance() if word.count >= 3)
    (top,) = artifact(run, "kept_words", "top").iterdir()
    assert f"| {first.word} | {first.score:.3f} |" in top.read_text()
    assert artifact(run, "report.html").read_text() == "<p>page</p>"


def test_a_resumed_training_goes_on_in_its_run(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(MLflow(tmp_path, "cut"), Stop(2 * STEPS + 2), checkpoint=tmp_path / "c")
    (run,) = runs(tmp_path)
    assert run.info.status == "KILLED"
    train(MLflow(tmp_path, "cut"), checkpoint=tmp_path / "c", resume=True)
    (same,) = runs(tmp_path)
    assert same.info.run_id == run.info.run_id
    assert same.info.status == "FINISHED"
    steps = [step for step, _ in history(tmp_path, same, "train/loss")]
    assert steps == [STEPS * number for number in range(1, EPOCHS + 1)]


def test_a_training_that_begins_anew_is_another_run(tmp_path):
    for seed in (0, 1):
        train(MLflow(tmp_path, "one"), epochs=1, seed=seed)
    assert [run.data.params["train.seed"] for run in runs(tmp_path)] == ["1", "0"], "the newest first"
    MLflow(tmp_path, "one").scores({"test_accuracy": 0.5})
    newest, older = runs(tmp_path)
    assert newest.data.metrics["test/accuracy"] == 0.5
    assert "test/accuracy" not in older.data.metrics


def test_the_users_own_store_and_experiment_are_used(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'own.db'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "study")
    monkeypatch.chdir(tmp_path)
    train(MLflow(tmp_path / "tracking", "one"), epochs=1)
    assert not (tmp_path / "tracking").exists()
    from mlflow.tracking import MlflowClient

    own = MlflowClient()
    (run,) = own.search_runs([own.get_experiment_by_name("study").experiment_id])
    assert run.info.run_name == "one"


def test_a_server_that_is_gone_does_not_end_the_training(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.warns(TrackerWarning, match="MLflow failed") as caught:
        classifier = train(MLflow(tmp_path, "one"), epochs=1)
    assert len([one for one in caught if one.category is TrackerWarning]) == 1
    assert len(classifier.history_) == 1


def test_nothing_is_sent_unless_a_server_is_named(tracked):
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def _tracked(folder, name):
    train(MLflow(folder, name), epochs=1)


@pytest.mark.slow  # each process imports torch and MLflow
@pytest.mark.skipif(os.name != "posix", reason="processes lock by flock")
def test_processes_that_begin_together_share_a_database(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_tracked, args=(tmp_path, f"run-{number}")) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(run.info.run_name for run in runs(tmp_path)) == ["run-0", "run-1"]
    assert {run.info.status for run in runs(tmp_path)} == {"FINISHED"}
