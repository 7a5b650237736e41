"""What one would try first."""

from __future__ import annotations

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from toy import toy_texts
from vmask.data.datasets import Split
from vmask.report.model.test_scores import linear_predictions, most_common, sampled, some_rows


def split(texts, labels):
    return Split(list(texts), list(labels), list(map(str, range(len(texts)))))


def test_it_is_tfidf_and_logistic_regression():
    train, test = split(*toy_texts(80, 0)), split(*toy_texts(40, 3))
    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10.0))
    pipeline.fit(train.texts, train.labels)
    assert linear_predictions(train, test) == list(pipeline.predict(test.texts)) == test.labels


def test_of_many_or_long_texts_some_are_drawn():
    train = split([f"word {at:03}" for at in range(100)], ["a", "b"] * 50)
    assert sampled(train, 100, 800) is train
    few = sampled(train, 20)
    assert few == sampled(train, 20)
    assert len(few) == 20
    assert few.texts == sorted(few.texts)  # in their order
    assert few.texts != train.texts[:20]
    assert all(
        train.labels[train.texts.index(text)] == label for text, label in zip(few.texts, few.labels, strict=True)
    )
    assert len(sampled(train, 100, 80)) == 10  # of 8 characters each
    assert len(sampled(train, 100, 1)) == 1
    assert sorted(some_rows(5, 9)) == [0, 1, 2, 3, 4]


def test_texts_without_a_word_are_said_to_have_none():
    with pytest.raises(ValueError, match="empty vocabulary"):
        linear_predictions(split(["a", "b"], ["x", "y"]), split(["a"], ["x"]))


def test_the_most_common_class():
    assert most_common(["b", "a", "b"]) == "b"
    assert most_common(["b", "a"]) == "a"  # by the alphabet
