"""The content of result files for tables and figures: rounded numbers, words, a few explained texts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from vmask._core.random_streams import numpy_stream
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.evaluation.result import Evaluation
from vmask.explain.explanation_file import read_explanations
from vmask.grid.informative_words import informative_words
from vmask.metrics.contract import FLOORS
from vmask.text.segmenters import installed_segmenter
from vmask.text.words import count_words

DIGITS = 5
TOP = 50
SCATTERED = 1500
"""Maximum number of words in a scatter plot, drawn at random."""


def short(value: Any) -> Any:
    """JSON values rounded to few digits; NaN and infinity become null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: short(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [short(inner) for inner in value]
    return value


def numbers(evaluation: Evaluation) -> list[dict[str, Any]]:
    """All scores with their intervals over texts."""
    names = ("metric", "by", "hide", "part", "value", "low", "high", "n", "headline")
    return [short({name: getattr(score, name) for name in names}) for score in evaluation.scores]


def kept_values(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The values of every text; 0 and 1 as a string of digits, with `.` for a missing value.

    Left out are floors, whose scores suffice, and metrics over words, such as correlations.
    """
    kept = []
    for key in evaluation.measured():
        series = evaluation.found[0][key]
        if key[1] in FLOORS or series.values.ndim != 1 or not evaluation.metric(key[0]).averaged:
            continue
        known = series.values[np.isfinite(series.values)]
        if np.isin(known, (0, 1)).all():
            values: Any = "".join(str(int(value)) if isfinite(value) else "." for value in series.values)
        else:
            values = [float(f"{value:.4f}") if isfinite(value) else None for value in series.values]
        named = dict(zip(("metric", "by", "hide", "part"), key, strict=True))
        kept.append({**named, "over": series.over, "values": values})
    return kept


def importance(classifier: TextClassifier) -> dict[str, Any] | None:
    """The words of a model that ranks them: the top ones, the most frequent, and a random draw for the scatter plot."""
    if not classifier.predictor_.ranks_words:
        return None
    words = classifier.word_importance()
    frequent = sorted(words, key=lambda word: (-word.count, word.word))
    drawn = numpy_stream(0, "scatter").permutation(len(words))[:SCATTERED]
    return {
        "words": len(words),
        "top": [_row(word) for word in words[:TOP]],
        "top_seen_5": [_row(word) for word in words if word.count >= 5][:TOP],
        "frequent": [_row(word) for word in frequent[:TOP]],
        "drawn": [[words[i].count, short(float(words[i].score))] for i in sorted(drawn)],
    }


def _row(word: Any) -> list[Any]:
    return [word.word, short(float(word.score)), word.count]


def examples(folder: Path, wanted: int, long: int, dataset: Dataset) -> list[dict[str, Any]]:
    """The first explained texts that are not too long, with the scores of each method."""
    if not wanted:
        return []
    test = dataset.splits["test"]
    truth = dict(zip(test.texts, test.labels, strict=True))
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem == "random":
            continue
        fitting = (explanation for explanation in read_explanations(path) if 3 <= len(explanation.spans) <= long)
        for explanation in islice(fitting, wanted):
            text = explanation.text
            first = {"text": text, "label": str(truth.get(text)), "predicted": str(explanation.target)}
            row = rows.setdefault(text, first)
            row["spans"] = [list(span) for span in explanation.spans]
            row[path.stem] = [round(float(score), 4) for score in explanation.scores]
    return list(rows.values())


def describe_dataset(dataset: Dataset, name: str) -> dict[str, Any]:
    """The facts about a dataset for reports: sizes, classes, lengths, vocabulary and the test labels."""
    card, defaults = dataset.card, dataset.defaults
    train, cleaning = dataset.splits["train"], defaults.get("cleaning") or "gentle"
    segmenter = None if cleaning == "paper" else installed_segmenter(train.texts)
    counts = count_words(train.texts, cleaning, segmenter)
    known = counts  # the paper's size of the vocabulary is counted over these
    if card is not None and card.vocabulary_over == "all":
        known = sum(
            (count_words(dataset.splits[split].texts, cleaning, segmenter) for split in ("dev", "test")), counts
        )
    test = dataset.splits.get("test")
    order = {label: number for number, label in enumerate(dataset.labels)}
    return {
        "name": name,
        "title": dataset.name if card is None else card.title,
        "fingerprint": dataset.fingerprint,
        "notes": list(dataset.notes),
        "classes": len(dataset.labels),
        "labels": [str(label) for label in dataset.labels],
        "average_length": round(counts.total() / max(len(train), 1), 1),
        "rows": {split: len(part) for split, part in dataset.splits.items()},
        "threshold": None if card is None else card.threshold,
        "max_words": defaults.get("max_words"),
        "words_seen": len(counts),
        "words_kept": sum(count >= (defaults.get("min_count") or 1) for count in known.values()),
        "telling": informative_words(train.texts, [str(label) for label in train.labels], cleaning, segmenter),
        "test_labels": None if test is None else _joined([str(order[label]) for label in test.labels]),
    }


def _joined(numbers: list[str]) -> str | list[str]:
    """Numbers of one digit as a string, which is shorter; others as a list."""
    return "".join(numbers) if max(map(len, numbers), default=0) == 1 else numbers
