"""Rows whose label the model contradicts, and texts with several labels: which are listed, and the files."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from toy import toy_texts
from vmask.report.model.collect import collect
from vmask.report.model.page import render
from vmask.report.model.suspects import CONFLICTS, SUSPECTS, lists_beside, write_lists


@pytest.fixture(scope="module")
def content(train, toys):
    """The report of a model that learnt well, on data with three wrong labels."""
    model = train(toys, epochs=15)
    splits = dict(toys.splits)
    for name, rows in (("dev", (2,)), ("test", (3, 5))):
        labels = list(splits[name].labels)
        for row in rows:
            labels[row] = {"pos": "neg", "neg": "pos"}[labels[row]]
        splits[name] = replace(splits[name], labels=labels)
    return model, replace(toys, splits=splits), collect(model, replace(toys, splits=splits), "quick")


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_wrong_labels_are_listed_with_what_the_model_says(content):
    model, data, found = content
    by_row = {(one.split, one.id): one for one in found.suspects}
    assert {("dev", "dev-2"), ("test", "test-3"), ("test", "test-5")} <= set(by_row)
    for name in ("dev", "test"):
        split = data.splits[name]
        probabilities = model.predict_proba(split.texts)
        predicted = model.classes_[probabilities.argmax(1)]
        wrong = {id for id, label, other in zip(split.ids, split.labels, predicted, strict=True) if label != other}
        assert {row for where, row in by_row if where == name} == wrong
        for at, id in enumerate(split.ids):
            if (name, id) in by_row:
                one = by_row[name, id]
                assert one.text == split.texts[at]
                assert one.confidence == pytest.approx(float(probabilities[at].max()))
                assert (one.label, one.predicted) == (split.labels[at], predicted[at])
    surest = [one.confidence for one in found.suspects]
    assert surest == sorted(surest, reverse=True)


def test_a_file_to_correct_lies_beside_the_page(content, tmp_path):
    _, _, found = content
    write_lists(found, tmp_path / "report.html")
    rows = read(tmp_path / SUSPECTS)
    assert [row["row"] for row in rows] == [one.id for one in found.suspects]
    assert list(rows[0]) == ["row", "split", "text", "label", "model_label", "confidence"]
    assert rows[0]["text"] == found.suspects[0].text
    write_lists(replace(found, suspects=()), tmp_path / "report.html")
    assert not (tmp_path / SUSPECTS).exists()


def test_texts_with_two_labels_are_listed_together(content, tmp_path):
    _, _, found = content
    assert found.conflicting  # the wrong labels are of texts that other rows have too
    numbers = [row.number for row in found.conflicting]
    assert numbers == sorted(numbers)
    for number in set(numbers):
        assert len({row.label for row in found.conflicting if row.number == number}) > 1
    write_lists(found, tmp_path / "report.html")
    assert [row["row"] for row in read(tmp_path / CONFLICTS)] == [row.id for row in found.conflicting]


def test_odd_texts_survive_the_file(content, tmp_path):
    _, _, found = content
    odd = replace(found.suspects[0], text='a "quoted", text\nof two lines; =1+1 é')
    write_lists(replace(found, suspects=(odd,)), tmp_path / "report.html")
    assert read(tmp_path / SUSPECTS)[0]["text"] == odd.text


def test_another_page_has_lists_of_its_own(tmp_path):
    assert [path.name for path in lists_beside(tmp_path / "mine.html")] == [f"mine-{SUSPECTS}", f"mine-{CONFLICTS}"]


def test_the_page_shows_the_first(content):
    _, _, found = content
    html = render(found)
    assert SUSPECTS in html
    assert CONFLICTS in html
    many = replace(found, suspects=tuple(replace(found.suspects[0], id=f"odd-{i}") for i in range(50)))
    html = render(many)
    assert "odd-19<" in html
    assert "odd-20<" not in html
    assert "50 dev or test texts" in html
    assert len(many.to_dict()["suspects"]) == 20


def test_a_label_that_the_model_does_not_know_is_none_that_it_contradicts(content):
    model, data, _ = content
    test = data.splits["test"]
    labels = ["meh", *test.labels[1:]]
    odd = replace(data, splits={**data.splits, "test": replace(test, labels=labels)})
    assert "test-0" not in {one.id for one in collect(model, odd, "quick").suspects}
    assert np.unique(toy_texts(10)[1]).size == 2
