"""From a classifier and its dataset to all that stands on the report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.progress import shown
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.data.label_sets import as_label, label_text
from vmask.errors import DataError
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.decisions import leading, thresholds_of
from vmask.inference.visible_words import visible_share, visible_words
from vmask.persistence.model_folder import CONFIG, WEIGHTS, read_config
from vmask.report.model.content import Content, Example, Level, Texts, Training, Visible
from vmask.report.model.headline import headline, lead, model_name, report_warnings
from vmask.report.model.provenance import facts, options
from vmask.report.model.suspects import conflicting, suspects
from vmask.report.model.test_scores import (
    Predicted,
    calibration,
    classes,
    confused,
    confusion,
    predict,
    scores,
    some_rows,
)
from vmask.report.model.usage_snippets import uses
from vmask.report.model.word_table import words_of
from vmask.training.trained_model import NO_TEXTS
from vmask.training.visibility import describe_visibility

NAMES = {"lime": "LIME", "shapley": "Shapley values"}
PRIVATE = "The texts of the data are left out of this page, as they may have to stay private."
MASK, LOCAL = "mask", tuple(NAMES)
"""What explains texts: the model's own mask, and methods that ask it about texts with words hidden."""
KINDS = {"right": 7, "wrong": 7, "unsure": 6}
"""How many texts of each kind are shown, where there are so many."""
RULE = (
    "The texts are chosen by a fixed rule. All {texts} {split} texts are put in a random order (seed 0). Shown are the "
    "first {right} that the model classifies correctly, the first {wrong} that it gets wrong and, of all others, the "
    "{unsure} whose predicted class has the lowest probability. No text is shown twice."
)

RULE_OF_SEVERAL = RULE.replace(
    "whose predicted class has the lowest probability", "with a label whose probability is nearest to its threshold"
).replace("classifies correctly", "gives exactly their labels")


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
    predictions = predict(classifier.predictor_, dataset)
    if predictions.unknown == predictions.measured.texts:
        known = ", ".join(str(label) for label in classifier.classes_[:5])
        raise DataError(
            f"The model knows none of the labels of {dataset.name}; it knows {known}. Name the data that it was "
            "trained on, or more of that kind."
        )
    measured = predictions.measured
    table = confusion(predictions)
    private = bool(classifier.about_.get(NO_TEXTS))
    texts = Texts("", (), PRIVATE, ()) if private else _texts(classifier, predictions, level, str(folder), progress)
    right = int(predictions.right.sum())
    return Content(
        name=f"{plan.title} on {dataset.name}",
        headline=headline(
            plan, dataset, right, measured.texts, measured.split, len(classifier.classes_), predictions.subject.several
        ),
        lead=lead(classifier, dataset),
        level=level,
        warnings=tuple(report_warnings(classifier, dataset, predictions)),
        labels=predictions.names,
        measured=measured,
        scores=scores(predictions, train, model_name(plan)),
        classes=classes(predictions),
        confusion=table,
        confused=confused(predictions.names, table),
        training=Training(tuple(classifier.history_), classifier.best_epoch_, plan.train.select),
        words=words_of(predictions.subject, train),
        visible=_visible(classifier),
        ranking=_ranking(classifier),
        texts=texts,
        calibration=calibration(predictions, classifier.about_),
        uses=tuple(uses(classifier, str(folder), [example.text for example in texts.examples])),
        facts=facts(classifier, dataset, level, time.perf_counter() - started, _digest(Path(folder))),
        options=options(classifier),
        private=private,
        suspects=suspects(classifier.predictor_, dataset, predictions, private),
        conflicting=conflicting(dataset, private),
        several=predictions.subject.several,
    )


def _visible(classifier: TextClassifier) -> Visible | None:
    predictor = classifier.predictor_
    if predictor.visible is None:
        return None
    words = visible_words(predictor)
    labels = [str(as_label(label)) for label in predictor.labels]
    by_class = {
        name: tuple(word for word in words if word.label == label)
        for name, label in zip(labels, predictor.labels, strict=True)
    }
    edits = classifier.about_.get("edits")
    edited = {
        name: tuple(map(str, edits[name]))
        for name in ("only", "hidden", "shown")
        if isinstance(edits, dict) and isinstance(edits.get(name), list) and edits[name]
    }
    return Visible(len(predictor.word_counts()), visible_share(predictor), by_class, edited)


def _ranking(classifier: TextClassifier) -> str:
    """How much of the texts the mask shows, as a sentence."""
    if not classifier.predictor_.ranks_words:
        return ""
    mask, kept = classifier.predictor_.model.mask, classifier.history_[classifier.best_epoch_ - 1]
    visible = sum(word.score >= 0.5 for word in classifier.predictor_.word_importance())
    return describe_visibility(classifier.plan_.mask, mask, kept, visible)


def methods_of(classifier: TextClassifier, level: Level) -> tuple[str, ...]:
    """What explains the texts of a report, in the order of the views."""
    predictor = classifier.predictor_
    own = (MASK,) if predictor.ranks_words else ()
    if level == "full":
        return (*own, *LOCAL)
    return own or (LOCAL[:1] if predictor.quick else ())


def rule(split: str, texts: int, several: bool = False) -> str:
    """How texts are chosen, in words; `several` where they may have several labels."""
    return (RULE_OF_SEVERAL if several else RULE).format(split=split, texts=f"{texts:,}", **KINDS)


def choose(texts: Sequence[str], right: NDArray[np.bool_], sure: NDArray[Any]) -> list[tuple[str, int]]:
    """Kind and number of the texts that are shown, see `RULE`; fewer where there are fewer.

    Args:
        texts: all texts.
        right: (N,) whether the predicted class of each is right.
        sure: (N,) probability of the predicted class.
    """
    order = some_rows(len(texts), len(texts))
    by_doubt = sorted(range(len(texts)), key=lambda row: (float(sure[row]), row))
    rows = {
        "right": [row for row in order if right[row]],
        "wrong": [row for row in order if not right[row]],
        "unsure": by_doubt,
    }
    chosen: list[tuple[str, int]] = []
    taken: set[str] = set()
    for kind, most in KINDS.items():
        count = 0
        for row in rows[kind]:
            if count < most and texts[row] not in taken:
                chosen.append((kind, row))
                taken.add(texts[row])
                count += 1
    return chosen


def _texts(classifier: TextClassifier, predictions: Predicted, level: Level, folder: str, progress: bool) -> Texts:
    chosen = choose(predictions.split.texts, predictions.right, predictions.sure)
    methods = methods_of(classifier, level)
    texts = [predictions.split.texts[row] for _, row in chosen]
    explained = _explained(classifier, texts, methods, progress)
    subject = predictions.subject
    predicted, labels = subject.predicted, subject.labels
    assert labels is not None
    leads = leading(subject.probabilities, thresholds_of(subject.predictor))
    examples = tuple(
        Example(
            kind=kind,
            text=predictions.split.texts[row],
            label=_true_name(predictions, row) if subject.several else predictions.names[labels[row]],
            predicted=_names(predictions, predicted[row]) if subject.several else predictions.names[predicted[row]],
            probability=float(subject.probabilities[row, leads[row]]),
            explanations=tuple(explained[at + len(texts) * number] for number in range(len(methods))),
        )
        for at, (kind, row) in enumerate(chosen)
    )
    left_out = [NAMES[method] for method in LOCAL if method not in methods]
    missing = (
        f"This is the quick report, without {' and '.join(left_out)}. To add them: vmask show {shlex.quote(folder)}"
        if left_out
        else ""
    )
    return Texts(
        rule(predictions.measured.split, predictions.measured.texts, subject.several), methods, missing, examples
    )


def _names(predictions: Predicted, reached: NDArray[np.bool_]) -> str:
    """The labels of a text as people read them."""
    return label_text(tuple(predictions.names[at] for at in np.flatnonzero(reached)))


def _true_name(predictions: Predicted, row: int) -> str:
    """The true labels of a text, in the order of the labels."""
    true = {str(as_label(one)) for one in predictions.split.labels[row]}
    return label_text(tuple(name for name in predictions.names if name in true))


def _explained(
    classifier: TextClassifier, texts: Sequence[str], methods: Sequence[str], progress: bool
) -> list[Explanation]:
    """All texts by the first method, then by the second, and so on."""
    if not methods:
        return []
    explanations = chain.from_iterable(explain_texts(classifier, texts, method) for method in methods)
    if progress:
        count = len(texts) * len(methods)
        return list(shown(explanations, count, f"explaining by {', '.join(methods)}"))
    return list(explanations)


def _digest(folder: Path) -> str:
    """The sha256 of the weights that are saved there."""
    return str(read_config(folder)["sha256"].get(WEIGHTS, "")) if (folder / CONFIG).is_file() else ""
