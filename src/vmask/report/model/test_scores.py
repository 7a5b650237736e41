"""What a model's predictions are worth: accuracy beside rivals, every class, confusions, calibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import nan
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.data.datasets import Dataset, Split
from vmask.data.label_sets import are_sets, as_label, indicators, label_text
from vmask.data.labels import flat_labels
from vmask.evaluation.label_scores import label_scores
from vmask.evaluation.result import estimated
from vmask.evaluation.statistics import CONFIDENCE, Difference, Estimate, mean_interval, paired_difference
from vmask.evaluation.subjects import subject_of, texts_of, truth_of
from vmask.inference.decisions import label_tuples, thresholds_of
from vmask.metrics.accuracy import Accuracy, right
from vmask.metrics.calibration_error import CalibrationError
from vmask.metrics.contract import ModelMetric, Subject
from vmask.metrics.macro_f1 import MacroF1
from vmask.metrics.micro_f1 import MicroF1
from vmask.report.model.content import (
    LINEAR_MODEL,
    Bin,
    Calibration,
    ClassScore,
    Confused,
    Coverage,
    Measured,
    Rival,
    Scores,
)
from vmask.text.segmenters import installed_segmenter, spaced
from vmask.training.calibrate import describe_abstention, effects_of, how_calibrated

MOST_TEXTS, MOST_CHARACTERS = 50_000, 30_000_000
"""Training texts, and characters of them, that a report looks at, at most: more would take minutes and gigabytes."""
SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Shares of the texts that the model answers, for which its accuracy is shown."""
MOST_CONFUSED = 30
"""Pairs of classes that are kept."""


@dataclass(frozen=True)
class Predicted:
    """What a model says of the texts that it is measured on.

    Attributes:
        measured: which texts these are.
        split: the texts with their labels.
        subject: the model with its probabilities; `labels` are numbers in `names`, or where a text may have several
            (N, C) which it has of those that the model knows.
        names: the classes of the model as text, then labels that only the texts have.
        unknown: how many texts have a label that the model does not know.
    """

    measured: Measured
    split: Split
    subject: Subject
    names: tuple[str, ...]
    unknown: int
    strange: NDArray[np.bool_] | None = None
    """(N,) whether a text has a label that the model does not know, where it may have several."""

    @property
    def right(self) -> NDArray[np.bool_]:
        """(N,) whether each prediction is right; of several labels, all of them."""
        assert self.subject.labels is not None
        correct = right(self.subject.labels, self.subject.predicted)
        return correct if self.strange is None else correct & ~self.strange

    @property
    def sure(self) -> NDArray[np.float64]:
        """(N,) probability of each predicted class; of several labels, how near the nearest is to its threshold."""
        thresholds = thresholds_of(self.subject.predictor)
        if thresholds is not None:
            nearest: NDArray[np.float64] = np.abs(self.subject.probabilities - thresholds).min(1)
            return nearest
        highest: NDArray[np.float64] = self.subject.probabilities.max(1).astype(np.float64)
        return highest


def predict(predictor: Any, dataset: Dataset) -> Predicted:
    """Ask the model about the test texts, or the dev texts where there are none."""
    test = dataset.splits.get("test")
    name = "test" if test is not None and len(test) else "dev"
    instead = ""
    if name == "dev":
        instead = (
            f"There {'are no test texts' if test is None else 'is no text in the test split'}, so everything here is "
            "measured on the dev texts. These also chose the epoch that was kept: expect somewhat less of new texts."
        )
    return predict_split(predictor, dataset, name, instead)


def predict_split(predictor: Any, dataset: Dataset, name: str, instead: str = "") -> Predicted:
    """Ask the model about the texts of a split."""
    split = dataset.splits[name]
    classes = [str(as_label(label)) for label in predictor.labels]
    several = thresholds_of(predictor) is not None
    if are_sets(split.labels) != several:
        truth_of(split.labels, predictor)  # says what to do about it
    spelt = [str(as_label(label)) for label in flat_labels(split.labels)]
    names = (*classes, *sorted(set(spelt).difference(classes)))
    number = {label: at for at, label in enumerate(names)}
    texts = replace(texts_of(dataset, name), labels=None)  # they may have labels that the model does not know
    subject = subject_of(predictor, texts, np.zeros(0, np.int64), ("remove",), 0, None, False, ())
    if several:
        has = indicators([tuple(str(as_label(one)) for one in label) for label in split.labels], names)
        strange = np.asarray(has[:, len(classes) :].any(1))
        subject = replace(subject, labels=has[:, : len(classes)])
        return Predicted(Measured(name, len(split), instead), split, subject, names, int(strange.sum()), strange)
    labels = np.array([number[label] for label in spelt], np.int64)
    unknown = int(np.count_nonzero(labels >= len(classes)))
    return Predicted(Measured(name, len(split), instead), split, replace(subject, labels=labels), names, unknown)


def scores(predictions: Predicted, train: Split, model: str) -> Scores:
    """Accuracy of the model, of a linear one on the same split, and of the most common class."""
    common = most_common(train.labels)
    ours = Rival(model, "this model", _estimate(Accuracy(), predictions.subject))
    constant = np.array([label == common for label in predictions.split.labels], np.float64)
    floor = Rival("most common class", f"always “{label_text(common)}”", mean_interval(constant))
    f1 = _estimate(MacroF1(), predictions.subject)
    some = sampled(train)
    several = tuple(_micro_f1(predictions.subject))
    try:
        linear = linear_predictions(some, predictions.split)
    except ValueError as error:  # texts without a word of two letters, as scikit-learn cuts them
        reason = f"There is no linear model to compare with: {' '.join(str(error).split())}"
        return Scores((ours, floor), None, reason, f1, several)
    theirs = np.array([a == b for a, b in zip(linear, predictions.split.labels, strict=True)], np.float64)
    difference = paired_difference(predictions.right.astype(np.float64), theirs)
    what = "TF-IDF over words and pairs of words, logistic regression"
    rivals = (ours, Rival(LINEAR_MODEL, what, mean_interval(theirs)), floor)
    notes: tuple[str, ...] = several
    if len(some) < len(train):
        notes = (
            *several,
            f"The linear model learnt from {len(some):,} of the {len(train):,} training texts, drawn at random.",
        )
    return Scores(rivals, difference, verdict(difference, model), f1, notes)


def _micro_f1(subject: Subject) -> Iterator[str]:
    """The F1 over all labels together, in words, where a text may have several."""
    if subject.several:
        f1 = _estimate(MicroF1(), subject)
        low, high = f"{f1.low:.3f}", f"{f1.high:.3f}"
        interval = "" if np.isnan(f1.low) else f" (95% interval {low} to {high})"
        yield f"Micro F1, the F1 over the labels of all texts together: {f1.value:.3f}{interval}."


def linear_predictions(train: Split, test: Split) -> list[Any]:
    """The class of each test text by what one would try first: TF-IDF and logistic regression.

    Of several labels a text each has a regression of its own.

    Raises:
        ValueError: where the training texts have no word that it knows, or are of one class.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    segmenter = installed_segmenter(train.texts)
    # In scripts without spaces a word often has one letter.
    pattern = {} if segmenter is None else {"token_pattern": r"\w+"}
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **pattern)
    regression = LogisticRegression(C=10.0, max_iter=1000)
    train_texts, test_texts = ([text.text for text in spaced(part.texts, segmenter)] for part in (train, test))
    if are_sets(train.labels):
        names = sorted(set(flat_labels(train.labels)))
        has = indicators(train.labels, names)
        varied = np.flatnonzero(has.any(0) & ~has.all(0))
        pipeline = make_pipeline(tfidf, OneVsRestClassifier(regression)).fit(train_texts, has[:, varied].astype(int))
        found = np.tile(has.all(0), (len(test), 1))
        found[:, varied] = pipeline.predict(test_texts).reshape(len(test), -1) > 0
        return label_tuples(found, names)
    pipeline = make_pipeline(tfidf, regression)
    pipeline.fit(train_texts, train.labels)
    return [str(label) for label in pipeline.predict(test_texts)]


def sampled(train: Split, most: int = MOST_TEXTS, characters: int = MOST_CHARACTERS) -> Split:
    """The texts, or as many of them as a report looks at, drawn at random; the same whenever they are the same."""
    if len(train) <= most and sum(map(len, train.texts)) <= characters:
        return train
    rows = some_rows(len(train), most)
    sums = accumulate(len(train.texts[row]) for row in rows)
    kept = sum(1 for total in sums if total <= characters)
    return train.take(sorted(rows[: max(kept, 1)]))


def some_rows(count: int, most: int) -> list[int]:
    """Numbers of up to `most` of so many rows, in random order; the same whenever their number is the same."""
    return [int(row) for row in numpy_stream(0, "model_report").permutation(count)[:most]]


def most_common(labels: Sequence[Any]) -> Any:
    """The most common label, or set of labels; of equally common ones the first by the alphabet."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def verdict(difference: Difference, model: str) -> str:
    """What a difference of accuracies says, in words; the test decides, for an interval of few texts is a rough one."""
    points = f"{100 * abs(difference.value):.1f} points"
    shown = difference.p <= 1 - CONFIDENCE
    if shown and difference.value > 0:
        return f"The {model} is {points} more accurate than the linear model: more than chance explains."
    if shown and difference.value < 0:
        return (
            f"The linear model is {points} more accurate than the {model}: more than chance explains. "
            "Where accuracy is all that counts, use that one."
        )
    if difference.value == 0:
        return "Both are right equally often: these texts do not show which of the two is better."
    more, less = ("linear model", model) if difference.value < 0 else (model, "linear model")
    return (
        f"The {more} is {points} more accurate than the {less}, which chance alone may explain: these texts do not "
        "show which of the two is better."
    )


def classes(predictions: Predicted) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of every class."""
    if predictions.subject.several:
        return tuple(
            ClassScore(**{**row, "label": name})
            for name, row in zip(predictions.names, label_scores(predictions.subject), strict=False)
        )
    table = np.array(confusion(predictions))
    rows = []
    for at, label in enumerate(predictions.names):
        hits, support, predicted = int(table[at, at]), int(table[at].sum()), int(table[:, at].sum())
        rows.append(
            ClassScore(
                label,
                precision=hits / predicted if predicted else nan,
                recall=hits / support if support else nan,
                f1=2 * hits / (support + predicted) if support + predicted else nan,
                support=support,
                predicted=predicted,
            )
        )
    return tuple(rows)


def confusion(predictions: Predicted) -> tuple[tuple[int, ...], ...]:
    """(C, C) texts by true class (rows) and predicted class; none where a text may have several labels."""
    if predictions.subject.several:
        return ()
    size, labels = len(predictions.names), predictions.subject.labels
    assert labels is not None
    table = np.bincount(labels * size + predictions.subject.predicted, minlength=size**2).reshape(size, size)
    return tuple(tuple(int(one) for one in row) for row in table)


def confused(names: Sequence[str], table: Sequence[Sequence[int]], most: int = MOST_CONFUSED) -> tuple[Confused, ...]:
    """The pairs of classes that are taken for each other most often; ties in the order of classes."""
    pairs = [
        Confused(names[true], names[other], count, count / sum(row))
        for true, row in enumerate(table)
        for other, count in enumerate(row)
        if count and other != true
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.texts)[:most])


def calibration(predictions: Predicted, about: Mapping[str, Any] = MappingProxyType({})) -> Calibration:
    """How far probabilities are from the truth, and the bins that this is measured in.

    Args:
        predictions: what the model says of the texts.
        about: the facts about the model, with what was fitted on dev, see `vmask.training.calibrate`.
    """
    metric = CalibrationError()
    (series,) = metric.measure(predictions.subject)
    records, count = series.values.reshape(-1, 3), metric.options.bins
    bins = []
    for at in range(count):
        inside = records[records[:, 0] == at]
        if len(inside):
            bins.append(Bin(at / count, (at + 1) / count, float(inside[:, 1].mean()), mean_interval(inside[:, 2])))
    too_sure = float(records[:, 1].mean() - records[:, 2].mean())
    error = _in_range(estimated(metric, series.values))
    fitted, abstention = about.get("calibration"), tuple(describe_abstention(about.get("abstention")))
    how, effects = how_calibrated(fitted), effects_of(fitted)
    return Calibration(error, tuple(bins), too_sure, how, effects, coverages(predictions), abstention)


def coverages(predictions: Predicted, shares: Sequence[float] = SHARES) -> tuple[Coverage, ...]:
    """How accurate the model is if it answers only these shares of the texts, those that it is surest of."""
    order = np.sort(predictions.sure)[::-1]
    thresholds = dict.fromkeys(float(order[max(round(share * len(order)), 1) - 1]) for share in shares)
    rows = []
    for threshold in thresholds:
        given = predictions.sure >= threshold
        accurate = mean_interval(predictions.right[given].astype(np.float64))
        rows.append(Coverage(threshold, float(given.mean()), _in_range(accurate)))
    return tuple(rows)


def _estimate(metric: ModelMetric, subject: Subject) -> Estimate:
    (series,) = metric.measure(subject)
    return _in_range(estimated(metric, series.values))


def _in_range(estimate: Estimate) -> Estimate:
    """An interval does not leave what is possible; NaN stays."""
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))
