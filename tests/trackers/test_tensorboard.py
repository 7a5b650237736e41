"""What TensorBoard reads back is what was trained."""

from __future__ import annotations

import time

import pytest

from trackers.recorder import EPOCHS, STEPS, Stop, train

pytest.importorskip("tensorboard", reason="needs vmask[tensorboard]")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from vmask.trackers.tensorboard import TensorBoard

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard itself


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    return events.Reload()


def next_second():
    """Files of events are read in the order of their names, which begin with the second."""
    time.sleep(1.1)


def scalars(events, name):
    return [(event.step, event.value) for event in events.Scalars(name)]


def text(events, name, number=-1):
    return events.Tensors(f"{name}/text_summary")[number].tensor_proto.string_val[0].decode()


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracking")
    tracker = TensorBoard(folder, "first", group="mine")
    classifier = train(tracker)
    tracker.scores({"test_accuracy": 0.75, "test_n": 20})
    (folder / "report.html").write_text("<p>page</p>")
    tracker.file(folder / "report.html")
    return classifier, folder / "mine" / "first"


def test_numbers_are_read_back(tracked):
    classifier, folder = tracked
    events = read(folder)
    history = classifier.history_
    for name, key in (("train/loss", "loss"), ("dev/macro_f1", "dev_macro_f1"), ("mask/visible", "mask_visible")):
        expected = [(STEPS * number, pytest.approx(row[key], abs=1e-6)) for number, row in enumerate(history, 1)]
        assert scalars(events, name) == expected
    assert [step for step, _ in scalars(events, "train/step_loss")] == list(range(1, EPOCHS * STEPS + 1))
    assert scalars(events, "test/accuracy") == [(EPOCHS * STEPS, 0.75)]
    assert scalars(events, "kept/epoch") == [(EPOCHS * STEPS, classifier.best_epoch_)]


def test_histograms_have_every_word_once(tracked):
    classifier, folder = tracked
    found = read(folder).Histograms("words/masks")
    words = classifier.word_importance()
    assert [event.step for event in found] == [STEPS * number for number in range(1, EPOCHS + 1)]
    assert {event.histogram_value.num for event in found} == {len(words)}
    kept = read(folder).Histograms("kept words/masks")[0].histogram_value
    assert kept.sum == pytest.approx(sum(word.score for word in words), rel=1e-5)
    assert max(kept.bucket_limit) <= 1.0


def test_options_and_top_words_are_texts(tracked):
    classifier, folder = tracked
    events = read(folder)
    assert "| train.batch_size | `20` |" in text(events, "options")
    first = next(word for word in classifier.word_importance() if word.count >= 3)
    assert f"| {first.word} | {first.score:.3f} |" in text(events, "kept words/top")


def test_the_page_is_beside_the_events(tracked):
    _, folder = tracked
    assert (folder / "report.html").read_text() == "<p>page</p>"
    assert "report.html" in text(read(folder), "files")


def test_a_resumed_training_has_every_step_once(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(TensorBoard(tmp_path, "cut"), Stop(2 * STEPS + 2), checkpoint=tmp_path / "c")
    next_second()
    train(TensorBoard(tmp_path, "cut"), checkpoint=tmp_path / "c", resume=True)
    train(TensorBoard(tmp_path, "whole"))
    cut, whole = (read(tmp_path / name) for name in ("cut", "whole"))
    for name in ("train/step_loss", "train/loss", "dev/accuracy"):
        assert scalars(cut, name) == scalars(whole, name)
    assert len(cut.Histograms("words/masks")) == EPOCHS


def test_a_training_that_begins_anew_takes_the_place_of_the_old(tmp_path):
    train(TensorBoard(tmp_path, "one"), epochs=2)
    next_second()
    train(TensorBoard(tmp_path, "one"), epochs=1, seed=1)
    assert [step for step, _ in scalars(read(tmp_path / "one"), "train/loss")] == [STEPS]


def test_a_score_that_comes_later_is_added(tmp_path):
    train(TensorBoard(tmp_path, "one"), epochs=1)
    TensorBoard(tmp_path, "one").scores({"test_accuracy": 0.5})
    events = read(tmp_path / "one")
    assert [step for step, _ in scalars(events, "train/loss")] == [STEPS], "the rest stays"
    assert [value for _, value in scalars(events, "test/accuracy")] == [0.5]
