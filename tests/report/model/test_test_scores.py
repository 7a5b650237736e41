"""Predictions turned into numbers: known answers, and scikit-learn's."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from vmask.evaluation.statistics import Difference, mean_interval, paired_difference
from vmask.metrics.calibration_error import CalibrationError
from vmask.report.model.test_scores import calibration, classes, confused, confusion, predict, scores, verdict

LABELS = ["a", "b", "c"]


def answers(predicted, sure=0.8):
    rows = np.full((len(predicted), 3), (1 - sure) / 2)
    for row, label in zip(rows, predicted, strict=True):
        row[LABELS.index(label)] = sure
    return rows


@pytest.fixture
def some(table):
    truth = list("aaaabbbccc") * 12
    stream = np.random.default_rng(0)
    predicted = [one if stream.random() < 0.7 else str(stream.choice(LABELS)) for one in truth]
    predictor, dataset = table(LABELS, truth, answers(predicted))
    return predict(predictor, dataset), dataset, truth, predicted


def test_classes_and_confusions_are_those_of_scikit_learn(some):
    found, _, truth, predicted = some
    assert [list(row) for row in confusion(found)] == confusion_matrix(truth, predicted, labels=LABELS).tolist()
    expected = precision_recall_fscore_support(truth, predicted, labels=LABELS)
    for at, one in enumerate(classes(found)):
        assert one.label == LABELS[at]
        assert (one.precision, one.recall, one.f1, one.support) == pytest.approx([part[at] for part in expected])
        assert one.predicted == predicted.count(LABELS[at])


def test_a_class_that_is_never_predicted_or_never_there_has_no_number(table):
    predictor, dataset = table(LABELS, list("aab"), answers("aaa"))
    a, b, c = classes(predict(predictor, dataset))
    assert (a.precision, a.recall) == (2 / 3, 1.0)
    assert isnan(b.precision)
    assert (b.recall, b.f1) == (0.0, 0.0)
    assert isnan(c.recall)
    assert isnan(c.f1)


def test_the_most_confused_pairs_come_first():
    pairs = confused(LABELS, [[5, 2, 1], [0, 4, 6], [2, 0, 8]])
    assert [(one.label, one.predicted, one.texts) for one in pairs] == [
        ("b", "c", 6),
        ("a", "b", 2),
        ("c", "a", 2),
        ("a", "c", 1),
    ]
    assert pairs[0].share == 0.6
    assert len(confused(LABELS, [[5, 2, 1], [0, 4, 6], [2, 0, 8]], most=1)) == 1
    assert confused(LABELS, [[5, 0, 0], [0, 4, 0], [0, 0, 8]]) == ()


def test_accuracy_stands_beside_a_linear_model_and_the_most_common_class(some):
    found, dataset, truth, predicted = some
    result = scores(found, dataset.splits["train"], "CNN")
    ours, linear, floor = result.rivals
    right = np.array([one == other for one, other in zip(truth, predicted, strict=True)], float)
    assert ours.accuracy == mean_interval(right)
    assert floor.accuracy.value == 0.4  # always a
    assert "“a”" in floor.what
    linear_right = linear.accuracy.value
    assert result.difference.value == pytest.approx(right.mean() - linear_right)
    assert result.verdict == verdict(result.difference, "CNN")
    assert result.notes == ()


def test_the_difference_is_paired(some):
    found, dataset, *_ = some
    from vmask.report.model.test_scores import linear_predictions

    linear = linear_predictions(dataset.splits["train"], dataset.splits["test"])
    theirs = np.array([a == b for a, b in zip(linear, dataset.splits["test"].labels, strict=True)], float)
    expected = paired_difference(found.right.astype(float), theirs)
    assert scores(found, dataset.splits["train"], "CNN").difference == expected


def test_where_the_linear_model_saw_some_texts_alone_that_is_said(some, monkeypatch):
    found, dataset, *_ = some
    monkeypatch.setattr("vmask.report.model.test_scores.sampled", lambda train: train.take(range(30)))
    (note,) = scores(found, dataset.splits["train"], "CNN").notes
    assert note == "The linear model learnt from 30 of the 120 training texts, drawn at random."


def test_where_no_linear_model_can_be_trained_that_is_said(table):
    predictor, dataset = table(LABELS, list("ab") * 5, answers("ab" * 5))
    for part in dataset.splits.values():
        part.texts[:] = [f"{at}" for at in range(len(part))]
    predictor.table = {f"{at}": row for at, row in enumerate(answers("ab" * 5))}
    result = scores(predict(predictor, dataset), dataset.splits["train"], "CNN")
    assert result.difference is None
    assert "no linear model to compare with" in result.verdict
    assert len(result.rivals) == 2


@pytest.mark.parametrize(
    ("value", "p", "said"),
    [
        (0.05, 0.01, "The CNN is 5.0 points more accurate than the linear model: more than chance explains."),
        (-0.05, 0.05, "The linear model is 5.0 points more accurate than the CNN: more than chance explains."),
        (0.02, 0.06, "The CNN is 2.0 points more accurate than the linear model, which chance alone may explain"),
        (-0.02, 0.5, "The linear model is 2.0 points more accurate than the CNN, which chance alone may"),
        (0.0, 1.0, "Both are right equally often"),
    ],
)
def test_what_a_difference_says(value, p, said):
    assert verdict(Difference(value, value - 0.01, value + 0.01, 100, p, ""), "CNN").startswith(said)


def test_calibration_bins_by_hand(table):
    # 15 bins: 0.78 and 0.79 lie in the twelfth (0.733 to 0.8), 0.95 in the last.
    sure = [0.78, 0.79, 0.95, 0.95, 0.95, 0.95]
    rows = np.concatenate([answers("a", one) for one in sure])
    predictor, dataset = table(LABELS, list("abaaab"), rows)
    found = calibration(predict(predictor, dataset))
    first, last = found.bins
    assert (round(first.low * 15), round(first.high * 15)) == (11, 12)
    assert (first.sure, first.right.value, first.right.n) == pytest.approx((0.785, 0.5, 2), rel=1e-5)
    assert (last.low, last.high) == (14 / 15, 1.0)
    assert (last.sure, last.right.value, last.right.n) == pytest.approx((0.95, 0.75, 4), rel=1e-5)
    assert found.too_sure == pytest.approx(np.mean(sure) - 4 / 6, rel=1e-5)
    assert found.error.value == pytest.approx((2 * 0.285 + 4 * 0.2) / 6, rel=1e-4)


def test_bins_add_up_to_the_calibration_error(some):
    found, *_ = some
    result = calibration(found)
    n = sum(one.right.n for one in result.bins)
    by_bins = sum(one.right.n * abs(one.sure - one.right.value) for one in result.bins) / n
    (series,) = CalibrationError().measure(found.subject)
    assert result.error.value == pytest.approx(by_bins) == pytest.approx(CalibrationError().statistic(series.values))


def test_without_test_texts_dev_is_measured_and_that_is_said(table):
    predictor, dataset = table(LABELS, list("ab") * 5, answers("ab" * 5), split="dev")
    empty = predict(predictor, dataset)
    assert empty.measured.split == "dev"
    assert "no text in the test split" in empty.measured.instead
    del dataset.splits["test"]
    gone = predict(predictor, dataset)
    assert gone.measured.split == "dev"
    assert "no test texts" in gone.measured.instead
    assert "measured on the dev texts" in gone.measured.instead


def test_labels_that_the_model_does_not_know_count_as_wrong(table):
    predictor, dataset = table(LABELS, ["a", "b", "zebra", "a"], answers("abaa"))
    found = predict(predictor, dataset)
    assert found.names == ("a", "b", "c", "zebra")
    assert found.unknown == 1
    assert found.right.tolist() == [True, True, False, True]
    assert confusion(found)[3] == (1, 0, 0, 0)
    assert scores(found, dataset.splits["train"], "CNN").rivals[0].accuracy.value == 0.75
