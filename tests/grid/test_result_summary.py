"""What result files hold for tables and figures."""

from __future__ import annotations

from math import inf, nan

import pytest

from toy import toy_texts, write_csv
from vmask import evaluate
from vmask.data.datasets import load_dataset
from vmask.grid.result_summary import describe_dataset, importance, kept_values, numbers, short

TEXTS, LABELS = toy_texts(30, seed=4)


@pytest.fixture(scope="module")
def found(fitted):
    metrics = ["accuracy", "aopc", "post_hoc_accuracy", "frequency_correlation"]
    return evaluate(fitted, (TEXTS, LABELS), metrics, {"lime": {"samples": 20}}, n=6, hide="remove")


def test_numbers_have_few_digits_and_none_that_is_no_number():
    value = {"a": [1 / 3, 2, "x", None, True], "b": (nan, inf, -inf), "c": 123456.789}
    assert short(value) == {"a": [0.33333, 2, "x", None, True], "b": [None, None, None], "c": 123460.0}


def test_all_scores_are_kept_with_their_intervals(found):
    kept = numbers(found)
    assert len(kept) == len(found.scores)
    assert set(kept[0]) == {"metric", "by", "hide", "part", "value", "low", "high", "n", "headline"}
    assert {one["by"] for one in kept if one["metric"] == "aopc"} == {"lime", "random"}


def test_values_of_texts_are_kept_but_not_those_of_floors_or_words(found):
    def value(metric, by=""):
        return next(score.value for score in found.scores if (score.metric, score.by) == (metric, by))

    kept = {(one["metric"], one["by"], one["part"]): one for one in kept_values(found)}
    assert not [key for key in kept if key[1] == "random" or key[0] == "frequency_correlation"]
    accuracy = kept["accuracy", "", ""]["values"]
    assert len(accuracy) == 30
    assert set(accuracy) <= {"0", "1"}
    assert accuracy.count("1") / 30 == pytest.approx(value("accuracy"))
    aopc = kept["aopc", "lime", ""]["values"]
    assert len(aopc) == 6
    assert sum(aopc) / 6 == pytest.approx(value("aopc", "lime"), abs=1e-4)


def test_words_are_kept_at_the_top_and_the_frequent_ones(fitted):
    kept = importance(fitted)
    words = fitted.word_importance()
    assert kept["words"] == len(words)
    assert [row[0] for row in kept["top"]] == [word.word for word in words[:50]]
    counts = [row[2] for row in kept["frequent"]]
    assert counts == sorted(counts, reverse=True)
    assert all(row[2] >= 5 for row in kept["top_seen_5"])
    assert len(kept["drawn"]) == len(words)
    assert kept == importance(fitted)


def test_a_dataset_is_described(tmp_path):
    dataset = load_dataset(write_csv(tmp_path / "reviews.csv", *toy_texts(60)))
    facts = describe_dataset(dataset, "reviews")
    assert (facts["name"], facts["title"], facts["classes"]) == ("reviews", "reviews.csv", 2)
    assert facts["rows"] == {"train": 48, "dev": 6, "test": 6}
    labels = [facts["labels"][int(digit)] for digit in facts["test_labels"]]
    assert labels == dataset.splits["test"].labels
    assert facts["words_kept"] == facts["words_seen"] > 10


def test_labels_of_more_than_ten_classes_are_told_apart(tmp_path):
    texts = [f"word{i % 12} and more of word{i % 12}, number {i}" for i in range(240)]
    dataset = load_dataset(write_csv(tmp_path / "many.csv", texts, [f"class {i % 12}" for i in range(240)]))
    facts = describe_dataset(dataset, "many")
    assert [facts["labels"][int(one)] for one in facts["test_labels"]] == dataset.splits["test"].labels
