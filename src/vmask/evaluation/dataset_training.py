"""Train a classifier on the splits of a dataset and score its test split; shared by commands and grids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vmask.classifier import TextClassifier
from vmask.config import MULTI_LABEL, to_dict
from vmask.data.datasets import Dataset, Split
from vmask.data.label_sets import indicators
from vmask.data.labels import flat_labels
from vmask.inference.abstention import selective
from vmask.metrics.accuracy import accuracy
from vmask.metrics.macro_f1 import macro_f1
from vmask.metrics.micro_f1 import micro_f1
from vmask.training.calibrate import calibration_effect
from vmask.training.progress import ProgressCallback

SCORES = (
    *("dataset", "dev_accuracy", "dev_micro_f1", "best_epoch", "epochs", "seconds", "coverage"),
    *("test_accuracy", "test_micro_f1", "test_macro_f1", "test_n", "calibration", "abstention"),
)
"""Keys of what `describe_training` returns; F1 where a text may have several labels."""


def fit_dataset(
    classifier: TextClassifier,
    dataset: Dataset,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: ProgressCallback | None = None,
    callbacks: Sequence[ProgressCallback] = (),
) -> TextClassifier:
    """Train on the train split, and choose the best epoch on the dev split."""
    train, dev = dataset.splits["train"], dataset.splits["dev"]
    others = (text for name, split in dataset.splits.items() if name != "train" for text in split.texts)
    over_all = dataset.card is not None and dataset.card.vocabulary_over == "all"
    return classifier.fit(
        train.texts,
        train.labels,
        dataset.weights,
        dev=(dev.texts, dev.labels),
        vocabulary_texts=others if over_all and classifier.plan().data.vocabulary == "paper" else None,
        checkpoint=checkpoint,
        resume=resume,
        progress=progress,
        callbacks=callbacks,
    )


def describe_training(
    classifier: TextClassifier, dataset: Dataset, seconds: float, callbacks: Sequence[ProgressCallback] = ()
) -> dict[str, Any]:
    """Score the test split, which the callbacks are told, and record in the model where its data came from.

    Returns:
        The scores and a summary of the training.
    """
    test = dataset.splits.get("test")
    result: dict[str, Any] = {
        "dataset": dataset.name,
        "dev_accuracy": classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"],
        "best_epoch": classifier.best_epoch_,
        "epochs": len(classifier.history_),
        "seconds": round(seconds, 1),
        "coverage": classifier.data_["coverage"],
    }
    best = classifier.history_[classifier.best_epoch_ - 1]
    several = dataset.task == MULTI_LABEL
    if several:
        result["dev_micro_f1"] = best["dev_micro_f1"]
    if test is not None and len(test):
        scores: dict[str, Any] = (
            _label_scores(classifier, test) if several else {"test_accuracy": _score_test(classifier, test)}
        )
        scores["test_n"] = len(test)
        result |= scores
        for callback in callbacks:
            callback.scores(scores)
    if (facts := classifier.about_.get("abstention")) is not None:
        result["abstention"] = facts
    if (facts := classifier.about_.get("calibration")) is not None:
        result["calibration"] = facts
        result["dev_accuracy"] = facts.get("on_dev", {}).get("accuracy_after", result["dev_accuracy"])
    classifier.about_ |= {
        **result,
        "text": dataset.text,
        "label": dataset.label,
        **({"label_separator": dataset.label_separator} if several else {}),
        "dataset_fingerprint": dataset.fingerprint,
        "notes": list(dataset.notes),
        "split": to_dict(dataset.split),
        **({} if dataset.label_bins is None else {"label_bins": dataset.label_bins.to_dict()}),
    }
    return result


def _score_test(classifier: TextClassifier, test: Split) -> float:
    """The accuracy on the test split; what the calibration changes there is noted in the model too."""
    predictor = classifier.predictor_
    logits = predictor.logits(predictor.ids_of(test.texts))
    probabilities = predictor.output(torch.from_numpy(logits))
    predicted = probabilities.argmax(1)
    if predictor.calibration is not None:
        code = {label: number for number, label in enumerate(classifier.classes_.tolist())}
        rows = [row for row, label in enumerate(test.labels) if label in code]
        if rows:
            classes = np.array([code[test.labels[row]] for row in rows], np.int64)
            classifier.about_["calibration"]["on_test"] = calibration_effect(
                predictor.calibration, logits[rows], classes
            )
    given = zip(classifier.classes_[predicted.numpy()].tolist(), test.labels, strict=True)
    right = np.array([one == other for one, other in given])
    if predictor.abstain_below is not None:
        sure = probabilities.max(1).values.numpy()
        classifier.about_["abstention"]["on_test"] = selective(sure, right, predictor.abstain_below)
    return float(right.mean())


def _label_scores(classifier: TextClassifier, test: Split) -> dict[str, float]:
    """Accuracy and F1 on texts that may have several labels."""
    names = [*classifier.classes_.tolist(), *sorted(set(flat_labels(test.labels)) - set(classifier.classes_.tolist()))]
    true, predicted = indicators(test.labels, names), indicators(classifier.predict(test.texts), names)
    return {
        "test_accuracy": accuracy(true, predicted),
        "test_micro_f1": micro_f1(true, predicted),
        "test_macro_f1": macro_f1(true, predicted),
    }
