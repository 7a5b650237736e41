"""From a classifier and its dataset to all that stands on the report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from vmask._core.progress import shown
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.errors import DataError
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.persistence.model_folder import CONFIG, WEIGHTS, read_config
from vmask.report.formatting import plural
from vmask.report.model.content import Content, Example, Level, Texts, Training
from vmask.report.model.headline import headline, lead, model_name
from vmask.report.model.pick_examples import choose, rule
from vmask.report.model.provenance import facts, options
from vmask.report.model.test_scores import (
    Predicted,
    calibration,
    classes,
    confused,
    confusion,
    predict,
    scores,
)
from vmask.report.model.usage_snippets import uses
from vmask.report.model.word_table import words_of

NAMES = {"lime": "LIME", "shapley": "Shapley values"}
MASK, LOCAL = "mask", tuple(NAMES)
"""What explains texts: the model's own mask, and methods that ask it about texts with words hidden."""
ALIKE = 0.02
"""Spread of the masks of words up to which their ranking means little, as training warns."""
KNOWN = 0.05
"""Share of texts that stand in train too from which on a reader is warned."""
FEW = 100
"""Texts below which a reader is warned that they are few."""


def default_level(classifier: TextClassifier) -> Level:
    """How much is explained where nobody says: an encoder is slow to ask, others are not."""
    return "full" if classifier.predictor_.quick else "quick"


def collect(
    classifier: TextClassifier,
    dataset: Dataset,
    level: Level | None = None,
    *,
    folder: str | Path = "path/to/this/folder",
    progress: bool = False,
) -> Content:
    """All that stands on the report of a model; texts go through it in batches, so that memory stays bounded.

    Args:
        classifier: a fitted classifier; it is not changed.
        dataset: the data that it was trained on, with its splits.
        level: how much to explain; by default all of a CNN or LSTM, and by the mask alone of an encoder.
        folder: where the model is saved, as the user calls it.
        progress: show a progress bar while texts are explained.

    Raises:
        DataError: where the model knows none of the labels.
    """
    started = time.perf_counter()
    level = level or default_level(classifier)
    plan, train = classifier.plan_, dataset.splits["train"]
    found = predict(classifier.predictor_, dataset)
    if found.unknown == found.measured.texts:
        known = ", ".join(str(label) for label in classifier.classes_[:5])
        raise DataError(
            f"The model knows none of the labels of {dataset.name}; it knows {known}. Name the data that it was "
            "trained on, or more of that kind."
        )
    measured = found.measured
    table = confusion(found)
    texts = _texts(classifier, found, level, str(folder), progress)
    right = int(found.right.sum())
    return Content(
        name=f"{plan.title} on {dataset.name}",
        headline=headline(plan, dataset, right, measured.texts, measured.split, len(classifier.classes_)),
        lead=lead(classifier, dataset),
        level=level,
        warnings=tuple(_warnings(classifier, dataset, found)),
        labels=found.names,
        measured=measured,
        scores=scores(found, train, model_name(plan)),
        classes=classes(found),
        confusion=table,
        confused=confused(found.names, table),
        training=Training(tuple(classifier.history_), classifier.best_epoch_, plan.train.select),
        words=words_of(found.subject, train),
        texts=texts,
        calibration=calibration(found),
        uses=uses(classifier, str(folder), [one.text for one in texts.examples]),
        facts=facts(classifier, dataset, level, time.perf_counter() - started, _digest(Path(folder))),
        options=options(classifier),
    )


def _warnings(classifier: TextClassifier, dataset: Dataset, found: Predicted) -> Iterator[str]:
    """What a reader must know before all else."""
    trained_on = classifier.about_.get("dataset_fingerprint")
    if trained_on and trained_on != dataset.fingerprint:
        yield other_data(dataset)
    if found.measured.instead:
        yield found.measured.instead
    if known := _known(dataset, found):
        yield known
    if found.unknown:
        strange = found.names[len(classifier.classes_) :]
        yield (
            f"{found.unknown:,} {found.measured.split} text{'s have' if found.unknown != 1 else ' has'} a label that "
            f"the model was not trained on ({', '.join(strange[:5])}); it cannot get these right."
        )
    spread = classifier.history_[classifier.best_epoch_ - 1].get("mask_std")
    if spread is not None and spread <= ALIKE:
        yield (
            f"The importance of all words came out nearly the same (spread {spread:.3f}): their ranking means little. "
            "Train for more epochs, or with another --beta."
        )
    if found.measured.texts < FEW:
        few = f"are only {found.measured.texts} {found.measured.split} texts"
        if found.measured.texts == 1:
            few = f"is only one {found.measured.split} text"
        yield f"There {few}: every number here is a rough one."


def _known(dataset: Dataset, found: Predicted) -> str:
    """What to say where many of the texts that the model is measured on are those it has learnt from."""
    train = set(dataset.splits["train"].texts)
    new = np.array([text not in train for text in found.split.texts])
    old = int((~new).sum())
    if old < KNOWN * len(new):
        return ""
    others, correct = int(new.sum()), int(found.right[new].sum())
    rest = ""
    if others:
        verb = "is" if correct == 1 else "are"
        rest = f" Of the other {plural(others, 'text')}, {correct:,} {verb} classified correctly."
    return (
        f"{old:,} of {len(new):,} {found.measured.split} texts also occur among the training texts, so the model may "
        f"be less accurate on new texts.{rest}"
    )


def other_data(dataset: Dataset) -> str:
    """What to say where the data is not what the model was trained on."""
    return (
        f"The texts of {dataset.name} are not those that the model was trained on: their fingerprints differ. Some of "
        "the texts that it is measured on here may have been among its training texts."
    )


def methods_of(classifier: TextClassifier, level: Level) -> tuple[str, ...]:
    """What explains the texts of a report, in the order of the views."""
    predictor = classifier.predictor_
    own = (MASK,) if predictor.ranks_words else ()
    if level == "full":
        return (*own, *LOCAL)
    return own or (LOCAL[:1] if predictor.quick else ())


def _texts(classifier: TextClassifier, found: Predicted, level: Level, folder: str, progress: bool) -> Texts:
    chosen = choose(found.split.texts, found.right, found.sure)
    methods = methods_of(classifier, level)
    texts = [found.split.texts[row] for _, row in chosen]
    explained = _explained(classifier, texts, methods, progress)
    predicted, labels = found.subject.predicted, found.subject.labels
    assert labels is not None
    examples = tuple(
        Example(
            kind=kind,
            text=found.split.texts[row],
            label=found.names[labels[row]],
            predicted=found.names[predicted[row]],
            probability=float(found.sure[row]),
            explanations=tuple(explained[at + len(texts) * number] for number in range(len(methods))),
        )
        for at, (kind, row) in enumerate(chosen)
    )
    left_out = [NAMES[one] for one in LOCAL if one not in methods]
    missing = (
        f"This is the quick report, without {' and '.join(left_out)}. To add them: vmask show {shlex.quote(folder)}"
        if left_out
        else ""
    )
    return Texts(rule(found.measured.split, found.measured.texts), methods, missing, examples)


def _explained(
    classifier: TextClassifier, texts: Sequence[str], methods: Sequence[str], progress: bool
) -> list[Explanation]:
    """All texts by the first method, then by the second, and so on."""
    found = chain.from_iterable(explain_texts(classifier, texts, method) for method in methods)
    if not methods:
        return []
    return list(shown(found, len(texts) * len(methods), f"explaining by {', '.join(methods)}") if progress else found)


def _digest(folder: Path) -> str:
    """The sha256 of the weights that are saved there."""
    return str(read_config(folder)["sha256"].get(WEIGHTS, "")) if (folder / CONFIG).is_file() else ""
