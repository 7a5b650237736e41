"""What one would try first: a linear model of words and pairs of words, and the most common class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from vmask._core.random_streams import numpy_stream
from vmask.data.datasets import Split

MOST_TEXTS, MOST_CHARACTERS = 50_000, 30_000_000
"""Training texts, and characters of them, that a report looks at, at most: more would take minutes and gigabytes."""
WHAT = "TF-IDF over words and pairs of words, logistic regression"


@dataclass(frozen=True)
class Linear:
    """A linear model's answers.

    Attributes:
        predicted: the class that it gives each text.
        trained_on: training texts that it saw.
    """

    predicted: tuple[str, ...]
    trained_on: int


def linear_baseline(train: Split, test: Split) -> float:
    """Test accuracy of TF-IDF over words and pairs of words and logistic regression, what one would try first."""
    predicted = linear_predictions(train, test).predicted
    return sum(one == true for one, true in zip(predicted, test.labels, strict=True)) / len(test)


def linear_predictions(train: Split, test: Split) -> Linear:
    """What that model says of the test texts.

    Raises:
        ValueError: where the training texts have no word that it knows, or are of one class.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10.0, max_iter=1000)
    )
    pipeline.fit(train.texts, train.labels)
    return Linear(tuple(str(label) for label in pipeline.predict(test.texts)), len(train))


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


def most_common(labels: Sequence[str]) -> str:
    """The most common label; of equally common ones the first by the alphabet."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))
