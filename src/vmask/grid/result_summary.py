"""What result files hold for tables and figures: numbers with few digits, words, a handful of explained texts."""

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
from vmask.grid.informative_words import telling_words
from vmask.metrics.contract import FLOORS
from vmask.text.words import count_words

DIGITS = 5
TOP = 50
SCATTERED = 1500
"""Words of a scatter plot, at most, drawn at random beside those at the top."""


def short(value: Any) -> Any:
    """JSON values with few digits; a number that is none becomes null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: short(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [short(one) for one in value]
    return value


def numbers(found: Evaluation) -> list[dict[str, Any]]:
    """All scores with their intervals over texts."""
    names = ("metric", "by", "hide", "part", "value", "low", "high", "n", "headline")
    return [short({name: getattr(score, name) for name in names}) for score in found.scores]


def kept_values(found: Evaluation) -> list[dict[str, Any]]:
    """The values of every text; 0 and 1 as a string of digits, with `.` where there is no value.

    Of floors the scores suffice. Metrics over words, such as correlations, have no values of texts.
    """
    kept = []
    for key in found.measured():
        series = found.found[0][key]
        if key[1] in FLOORS or series.values.ndim != 1 or not found.metric(key[0]).averaged:
            continue
        known = series.values[np.isfinite(series.values)]
        if np.isin(known, (0, 1)).all():
            values: Any = "".join("." if not isfinite(one) else str(int(one)) for one in series.values)
        else:
            values = [None if not isfinite(one) else float(f"{one:.4f}") for one in series.values]
        named = dict(zip(("metric", "by", "hide", "part"), key, strict=True))
        kept.append({**named, "over": series.over, "values": values})
    return kept


def importance(classifier: TextClassifier) -> dict[str, Any] | None:
    """The words of a model that ranks them: at the top, most frequent, and a draw of all for the scatter plot."""
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
        "drawn": [[word.count, short(float(word.score))] for word in (words[i] for i in sorted(drawn))],
    }


def _row(word: Any) -> list[Any]:
    return [word.word, short(float(word.score)), word.count]


def examples(folder: Path, wanted: int, long: int, dataset: Dataset) -> list[dict[str, Any]]:
    """The first explained texts that are not too long, with what each method says of their words."""
    if not wanted:
        return []
    test = dataset.splits["test"]
    truth = dict(zip(test.texts, test.labels, strict=True))
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem == "random":
            continue
        fitting = (one for one in read_explanations(path) if 3 <= len(one.spans) <= long)
        for one in islice(fitting, wanted):
            row = found.setdefault(
                one.text, {"text": one.text, "label": str(truth.get(one.text)), "predicted": str(one.target)}
            )
            row["spans"] = [list(span) for span in one.spans]
            row[path.stem] = [round(float(score), 4) for score in one.scores]
    return list(found.values())


def described(dataset: Dataset, name: str) -> dict[str, Any]:
    """What reports say about a dataset: sizes, classes, lengths, vocabulary, and what the test labels are."""
    card, defaults = dataset.card, dataset.defaults
    train, cleaning = dataset.splits["train"], defaults.get("cleaning") or "gentle"
    counts = count_words(train.texts, cleaning)
    known = counts  # what the paper's size of the vocabulary is of
    if card is not None and card.vocabulary_over == "all":
        known = sum((count_words(dataset.splits[one].texts, cleaning) for one in ("dev", "test")), counts)
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
        "telling": telling_words(train.texts, [str(label) for label in train.labels], cleaning),
        "test_labels": None if test is None else _joined([str(order[label]) for label in test.labels]),
    }


def _joined(numbers: list[str]) -> str | list[str]:
    """Numbers of one digit as a string, which is short; others as a list."""
    return "".join(numbers) if max(map(len, numbers), default=0) == 1 else numbers
