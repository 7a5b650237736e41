"""What is no class is not trained on as such, many classes are; and classes that are made of numbers."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from toy import write_csv
from vmask.data.datasets import load_dataset, load_table
from vmask.data.targets import FEW, LabelBins, check_classes, to_number
from vmask.errors import ConfigError, DataError

ROWS = 2000


def stream():
    return random.Random(0)


NO_CLASSES = {
    "prices": ([f"{stream().uniform(i, i + 90):.2f}" for i in range(ROWS)], "different numbers.*a quantity"),
    "money": ([f"${i % 300},{i % 7:03}.99" for i in range(ROWS)], "different numbers.*a quantity"),
    "ratings in tenths": ([f"{i % 1001 / 10:.1f}" for i in range(ROWS)], "1,001 different numbers.*a quantity"),
    "ratings to 100": ([str(i % 101) for i in range(ROWS)], "101 different numbers in 2,000 rows.*a quantity"),
    "percent": ([f"{i % 60}%" for i in range(ROWS)][:55] * 4, "55 different numbers"),
    "300 seldom": ([str(i % 300) for i in range(600)], "300 different numbers in 600 rows.*--label-bins 3"),
    "counts with gaps": ([str(i % 40 * (i % 40)) for i in range(ROWS)], "a quantity"),
    "years": ([str(1950 + i % 60) for i in range(ROWS)], "a quantity"),
    "signed": ([str(i % 41 - 20) for i in range(ROWS)], "a quantity"),
    "ids": ([str(100000 + i) for i in range(ROWS)], "a quantity or ids"),
    "days": ([f"2026-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)], "different dates.*dates"),
    "American days": ([f"{1 + i % 12:02}/{1 + i % 28:02}/2026" for i in range(ROWS)], "different dates.*dates"),
    "days as numbers": ([f"2026{1 + i % 12:02}{1 + i % 28:02}" for i in range(ROWS)], "looks like dates"),
    "names": ([f"user-{i}" for i in range(ROWS)], "ids or names"),
    "text": ([f"this is what customer number {i} wrote to us" for i in range(ROWS)], "looks like text"),
    "text that repeats": (
        [f"a longer comment of some customer number {i} as it came" for i in range(900)]
        + [f"the answer that we gave to many of them, number {i % 60}" for i in range(1100)],
        "looks like text",
    ),
}  # fmt: skip
CLASSES = {
    "two": ["pos", "neg"] * 50,
    "stars": [str(i % 5 + 1) for i in range(60)],
    "half stars": [str(i % 10 / 2) for i in range(60)],
    "nought to twenty": [str(i % 21) for i in range(210)],
    "150 intents": [f"intent_{i % 150}" for i in range(15000)],
    "150 intents, few rows": [f"intent {i % 150}" for i in range(600)],
    "150 codes": [str(i % 150) for i in range(1500)],
    "codes from 1, uneven": [str(1 + code) for code in range(77) for _ in range(code + 1)],
    "long names": [f"a question about the delivery of order kind {i % 40}" for i in range(800)],
    "long tail": [f"category {i}" for i in range(100)] * 5 + [f"rare {i}" for i in range(120)],
    "mixed": [str(i % 30) for i in range(300)] + ["other"] * 20,
}  # fmt: skip


@pytest.mark.parametrize("name", NO_CLASSES)
def test_what_is_no_class_is_refused_with_a_way_out(name):
    labels, message = NO_CLASSES[name]
    with pytest.raises(DataError, match=message) as caught:
        check_classes(labels, "price", "a.csv")
    assert f"in {len(labels):,} rows" in str(caught.value)
    assert "--label-bins" in str(caught.value)


@pytest.mark.parametrize("name", CLASSES)
def test_many_classes_are_fine(name):
    check_classes(CLASSES[name], "label", "a.csv")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=FEW, unique=True))
@settings(max_examples=examples(30))
def test_few_values_are_classes_whatever_they_are(values):
    check_classes([str(value) for value in values] * 3, "label", "a.csv")


@pytest.mark.parametrize("text", ["1_000", "0x10", "nan", "inf", "1,00", "12 apples", "1.2.3", "--3"])
def test_what_is_no_number(text):
    assert to_number(text) is None


@given(st.lists(st.integers(-1000, 1000).map(lambda n: n / 4), min_size=2, max_size=200), st.integers(2, 6))
@settings(max_examples=examples(60))
def test_bins_are_in_order_and_hold_what_their_names_say(numbers, count):
    labels = [str(number) for number in numbers]
    rows = [f"r{i}" for i in range(len(labels))]
    if len(set(numbers)) == 1:
        with pytest.raises(DataError, match="All labels are"):
            LabelBins.learn(labels, rows, count)
        return
    bins = LabelBins.learn(labels, rows, count)
    assert 2 <= len(bins.names) == len(set(bins.names)) <= max(count, 2)
    assert list(bins.edges) == sorted(set(bins.edges))
    given_to = bins.apply(labels, rows)
    assert set(given_to) == set(bins.names)
    for number, name in zip(numbers, given_to, strict=True):
        at = bins.names.index(name)
        assert at == 0 or number > bins.edges[at - 1]
        assert at == len(bins.edges) or number <= bins.edges[at]
    assert bins.apply(given_to, rows) == given_to
    assert LabelBins.from_dict(bins.to_dict()) == bins


def test_bins_of_different_numbers_are_of_equal_size():
    labels = [str(i) for i in stream().sample(range(900), 900)]
    bins = LabelBins.learn(labels, labels, 3)
    assert bins.names == ("up to 299", "299 to 599", "above 599")
    assert set(Counter(bins.apply(labels, labels)).values()) == {300}


@pytest.mark.parametrize("edges", [None, [2, 1], [1, 1], ["1"], [float("nan")], [True], list(range(200)), {}])
def test_edges_of_a_stranger_are_checked(edges):
    with pytest.raises(DataError, match="damaged"):
        LabelBins.from_dict({"edges": edges})


@pytest.mark.parametrize("count", [-1, 1000, "3", None, True])
def test_the_number_of_bins_of_a_stranger_is_checked(count):
    with pytest.raises(DataError, match="damaged"):
        LabelBins.from_dict({"edges": [1.0], "count": count})


def prices(path, count=200, change=0.0):
    texts = [f"lot {i} of {i * 7919 % 1000}" for i in range(count)]
    return write_csv(path, texts, [f"{i / 2 + change:.1f}" for i in range(count)], header=("text", "price"))


def test_a_file_of_numbers_gets_classes_whose_edges_train_alone_decides(tmp_path):
    path = prices(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"'price' of a\.csv has 200 different numbers in 200 rows"):
        load_dataset(path)
    dataset = load_dataset(path, label_bins=3)
    raw = load_dataset(path, label_bins=0)
    assert dataset.labels == dataset.label_bins.names
    train = [raw.splits["train"].labels[i] for i in range(len(raw.splits["train"]))]
    assert len(train) == len(dataset.splits["train"])
    own = dict(zip(load_table(path).ids, load_table(path).labels, strict=True))
    learnt = [own[id] for id in dataset.splits["train"].ids]
    assert LabelBins.learn(learnt, learnt, 3) == dataset.label_bins
    for split in dataset.splits.values():
        assert split.labels == dataset.label_bins.apply([own[id] for id in split.ids], split.ids)
        assert min(Counter(split.labels).values()) >= len(split) // 3 - 2
    assert any(note.startswith("Classes were made of the numbers in 'price': up to") for note in dataset.notes)
    again = load_dataset(path, label_bins=LabelBins.from_dict(dataset.label_bins.to_dict()))
    assert again.fingerprint == dataset.fingerprint  # as the model folder records them
    assert again.splits == dataset.splits
    whole = load_table(path, label_bins=dataset.label_bins)
    assert set(whole.labels) == set(dataset.labels)


def test_bins_of_what_is_no_number_name_the_row(tmp_path):
    path = write_csv(tmp_path / "a.csv", [f"t{i}" for i in range(30)], [*map(str, range(29)), "many"])
    with pytest.raises(DataError, match=r"row row-29 is 'many'"):
        load_dataset(path, label_bins=3)


def test_one_bin_is_none():
    from vmask.config import LabelConfig, make

    with pytest.raises(ConfigError, match="at least two"):
        make(LabelConfig, {"label_bins": 1})
