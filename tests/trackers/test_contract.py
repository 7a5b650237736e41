"""Trackers are told everything once and in order, change nothing, and cannot end a training."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from trackers.recorder import EPOCHS, STEPS, Recorder, Stop, train
from vmask.errors import MissingExtra, TrackerWarning, UnknownName
from vmask.inference.word_importance import WordImportance
from vmask.trackers import TRACKERS
from vmask.trackers.contract import HISTOGRAM_EDGES, Point, flat, make_trackers, words_table
from vmask.training.progress import CallbackList, ProgressCallback, StopTraining


def weights(classifier):
    return classifier.predictor_.model.state_dict()


def equal(one, other):
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def tracked():
    """A training and its tracker. Do not change them."""
    tracker = Recorder()
    return train(tracker), tracker


# What is written ------------------------------------------------------------------------------------------


def test_a_run_is_opened_and_closed_once_with_its_options_first(tracked):
    classifier, tracker = tracked
    assert tracker.calls[0] == ("open", 0)
    assert tracker.calls[-1] == ("close", "finished")
    assert len(tracker.of("open")) == len(tracker.of("close")) == 1
    ((options,),) = tracker.of("options")
    assert options == flat(classifier.plan_.to_dict())
    assert options["train.batch_size"] == 20
    assert all(isinstance(value, (str, int, float)) for value in options.values())


def test_the_rows_of_the_history_are_written_with_the_steps_done(tracked):
    classifier, tracker = tracked
    names = {
        "train/loss": "loss",
        "train/penalty": "penalty",
        "train/beta": "beta",
        "train/epoch": "epoch",
        "dev/accuracy": "dev_accuracy",
        "dev/macro_f1": "dev_macro_f1",
        "mask/mean": "mask_mean",
        "mask/std": "mask_std",
        "mask/visible": "mask_visible",
    }
    for name, key in names.items():
        expected = {STEPS * number: row[key] for number, row in enumerate(classifier.history_, 1)}
        assert tracker.points[name] == expected
    assert list(tracker.points["train/step_loss"]) == list(range(1, EPOCHS * STEPS + 1))
    first = [tracker.points["train/step_loss"][step] for step in range(1, STEPS + 1)]
    assert np.mean(first) == pytest.approx(classifier.history_[0]["loss"])


def test_the_kept_epoch_is_written_at_the_end(tracked):
    classifier, tracker = tracked
    kept = classifier.history_[classifier.best_epoch_ - 1]
    assert tracker.points["kept/epoch"] == {EPOCHS * STEPS: classifier.best_epoch_}
    assert tracker.points["kept/dev_accuracy"] == {EPOCHS * STEPS: kept["dev_accuracy"]}


def test_masks_are_histograms_and_the_top_words_a_text(tracked):
    classifier, tracker = tracked
    found = tracker.of("histogram")
    names = ["words/masks"] * EPOCHS + ["kept words/masks"]
    assert [(name, step) for name, _, step in found] == [
        (name, step) for name, step in zip(names, [*range(STEPS, 13, STEPS), 12], strict=True)
    ]
    importance = classifier.word_importance()
    assert found[-1][1].tolist() == np.array([word.score for word in importance], np.float32).tolist()
    assert all((values >= HISTOGRAM_EDGES[0]).all() and (values <= HISTOGRAM_EDGES[-1]).all() for _, values, _ in found)
    texts = tracker.of("text")
    assert [name for name, _, _ in texts] == ["words/top"] * EPOCHS + ["kept words/top"]
    first = next(word for word in importance if word.count >= 3)
    assert texts[-1][1].splitlines()[2] == f"| {first.word} | {first.score:.3f} | {first.count} |"
    assert len({values.tobytes() for _, values, _ in found[:EPOCHS]}) == EPOCHS, "each epoch has its own masks"


def test_losses_of_a_long_epoch_do_not_wait_for_its_end(monkeypatch):
    monkeypatch.setattr("vmask.trackers.contract.PENDING", 2)
    tracker = Recorder()
    train(tracker, epochs=1)
    (first, second) = (points for (points,) in tracker.of("numbers")[:2])
    assert [point.step for point in first] == [1, 2]
    assert [point.step for point in second if point.name == "train/step_loss"] == [3]


def test_a_method_that_ranks_no_words_has_no_masks():
    tracker = Recorder()
    train(tracker, mask="base")
    assert not tracker.of("histogram")
    assert not tracker.of("text")
    assert not any(name.startswith("mask/") for name in tracker.points)


def test_two_stages_are_one_run(encoder_folder):
    tracker = Recorder()
    classifier = train(tracker, model=str(encoder_folder("bert")), epochs=2)
    assert len(classifier.history_) == 4
    assert tracker.of("open") == [(0,)]
    assert tracker.points["train/stage"] == {3: 1, 6: 1, 9: 2, 12: 2}
    assert tracker.points["train/epoch"] == {3: 1, 6: 2, 9: 1, 12: 2}
    assert tracker.points["kept/epoch"] == {12: classifier.best_epoch_}
    assert [step for _, _, step in tracker.of("histogram")] == [9, 12, 12], "the first stage has no mask"


# Nothing changes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cnn", "lstm"])
@pytest.mark.parametrize("mask", ["vmask", "iba", "select", "word_dropout"])
def test_weights_are_the_same_to_the_bit_with_a_tracker(model, mask):
    one, other = (train(*callbacks, model=model, mask=mask) for callbacks in ([], [Recorder()]))
    assert equal(one, other)
    rows = [[{**row, "seconds": 0} for row in classifier.history_] for classifier in (one, other)]
    assert rows[0] == rows[1]


def test_weights_of_an_encoder_are_the_same_to_the_bit_with_a_tracker(encoder_folder):
    model = str(encoder_folder("bert"))
    one, other = (train(*callbacks, model=model, epochs=2) for callbacks in ([], [Recorder()]))
    assert equal(one, other)


def test_the_callers_random_streams_are_left_alone():
    import random

    def drawn():
        return torch.rand(2).tolist(), np.random.rand(), random.random()  # noqa: NPY002

    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    expected = drawn()
    torch.set_rng_state(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    random.setstate(states[2])
    train(Recorder(), epochs=1)
    assert drawn() == expected


# Cut off and resumed --------------------------------------------------------------------------------------


def test_a_training_that_is_ended_on_purpose_has_not_failed():
    class Enough(ProgressCallback):
        def epoch(self, row, best):
            raise StopTraining

    tracker = Recorder()
    with pytest.raises(StopTraining):
        train(tracker, Enough())
    assert tracker.calls[-1] == ("close", "interrupted")


def test_a_resumed_training_goes_on_in_its_run(tmp_path, tracked):
    whole, unbroken = tracked
    first = Recorder()
    with pytest.raises(KeyboardInterrupt):
        train(first, Stop(2 * STEPS + 2), checkpoint=tmp_path / "c")
    assert first.calls[-1] == ("close", "interrupted")
    second = Recorder()
    resumed = train(second, checkpoint=tmp_path / "c", resume=True)
    assert equal(resumed, whole)
    assert first.key == second.key
    assert second.calls[0] == ("open", 2 * STEPS)
    assert list(second.points["train/step_loss"]) == list(range(2 * STEPS + 1, EPOCHS * STEPS + 1))
    joined = {**first.points["train/step_loss"], **second.points["train/step_loss"]}
    assert joined == unbroken.points["train/step_loss"]


def test_a_training_that_diverges_is_a_failed_run():
    tracker = Recorder()
    with pytest.raises(ArithmeticError):
        train(tracker, Poison())
    assert tracker.of("close") == [("failed",)]


class Poison(ProgressCallback):
    def step(self, loss):
        raise ArithmeticError


def test_the_key_is_a_digest_of_what_names_the_run():
    one, same = Recorder("a", "x", group="g"), Recorder("b", "x", group="g")
    assert one.key == same.key
    assert len(one.key) == 16
    assert one.key != Recorder("a", "y", group="g").key
    assert Recorder("a", "x", key="/some/where/x").key == Recorder("a", "z", key="/some/where/x").key


def test_scores_and_files_of_an_earlier_training_are_added_to_its_run():
    tracker = Recorder()
    tracker.scores({"test_accuracy": 0.5, "test_n": 12, "dataset": "x"})
    tracker.file(Path("report.html"))
    assert tracker.calls == [
        ("open", None),
        ("numbers", [Point("test/accuracy", 0.5, 0), Point("test/n", 12.0, 0)]),
        ("file", Path("report.html")),
    ]


# Failures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["open", "options", "numbers", "histogram", "text", "close"])
def test_a_tracker_that_fails_warns_once_and_the_training_goes_on(call, tracked):
    whole, _ = tracked
    broken, other = Recorder(fails_at=call), Recorder()
    with pytest.warns(TrackerWarning, match="Recorder failed and is left out from here on") as caught:
        classifier = train(broken, other)
    assert len(caught) == 1
    assert "No space left on device" in str(caught[0].message)
    assert broken.calls[-1][0] == call, "nothing is written after it"
    broken.scores({"test_accuracy": 1})
    broken.file(Path("report.html"))
    assert broken.calls[-1][0] == call
    assert equal(classifier, whole)
    assert other.calls[-1] == ("close", "finished")


def test_only_the_main_process_calls(monkeypatch):
    monkeypatch.setattr("accelerate.Accelerator.is_main_process", False)
    tracker = Recorder()
    train(tracker)
    assert tracker.calls == []


def test_a_missing_package_is_said_with_its_extra(monkeypatch):
    monkeypatch.setattr("vmask.trackers.contract.find_spec", lambda name: None)
    for name in ("tensorboard", "mlflow"):
        with pytest.raises(MissingExtra, match=rf"Run: pip install 'vmask\[{name}\]'"):
            make_trackers(name, "folder", "name")


def test_trackers_are_made_by_their_names():
    assert make_trackers(None, "folder", "name") == []
    assert make_trackers("", "folder", "name") == []
    with pytest.raises(UnknownName, match=r"Unknown tracker 'tensorbord'\. Did you mean 'tensorboard'\?"):
        make_trackers("tensorbord", "folder", "name")


# Parts ----------------------------------------------------------------------------------------------------


def test_options_are_simple_values():
    nested = {"a": {"b": {"c": 1}}, "words": ["x"] * 1000, "none": None, "yes": True}
    assert flat(nested) == {"a.b.c": 1, "words": flat(nested)["words"], "none": "None", "yes": True}
    assert len(flat(nested)["words"]) == 250


def test_words_are_no_markup():
    table = words_table([WordImportance("<b>|*", 0.5, 1234, True)])
    assert table.splitlines()[2] == "| &#60;b&#62;&#124;&#42; | 0.500 | 1,234 |"


def test_callbacks_are_left_if_one_cannot_be_entered():
    left = []

    class Leaves(ProgressCallback):
        def __exit__(self, *error):
            left.append(error[0])

    class Refuses(ProgressCallback):
        def __enter__(self):
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"), CallbackList([Leaves(), Refuses()]):
        pass
    assert left == [ValueError]


def test_a_list_passes_every_event_on():
    events = [name for name, member in vars(ProgressCallback).items() if callable(member) and name[0] != "_"]
    assert set(events) <= set(vars(CallbackList)), "an event that a list does not know is lost"


@pytest.mark.parametrize("name", TRACKERS.own())
def test_every_tracker_takes_odd_names_and_numbers(name, tmp_path, monkeypatch):
    package = TRACKERS.get(name).package
    pytest.importorskip(package, reason=f"needs vmask[{package}]")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tracker,) = make_trackers(name, tmp_path / "tracking", "a run's name é", group="group 1", key="it's")
    (tmp_path / "report.html").write_text("<p>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("error", TrackerWarning)
        tracker.begin({"train": {"beta": math.inf, "words": ["é|`"] * 500}}, lambda: [])
        tracker.start(10, 0)
        tracker.step(0.5)
        tracker.epoch({"loss": 0.5, "mask_mean": None}, best=True)
        tracker.end({"epoch": 1})
        tracker.scores({"test_accuracy": 1.0})
        tracker.file(tmp_path / "report.html")
    assert not tracker.failed


def test_a_training_that_is_resumed_in_its_second_stage_goes_on_from_its_own_steps():
    tracker = Recorder()
    tracker.begin({}, list)
    tracker.stage(1, 2)
    tracker.start(5, 5)
    tracker.stage(2, 2)
    tracker.start(10, 4)
    assert tracker.of("open") == []
    tracker.step(0.5)
    assert tracker.of("open") == [(9,)]
