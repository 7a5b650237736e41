"""The dev set that `fit` holds out: the same in whatever order the rows come."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.errors import DataError
from vmask.training.inputs import split


def held_out(rows, fraction=0.2, seed=0):
    """The rows of training and of dev, in their order."""
    data = split([text for text, _ in rows], [label for _, label in rows], None, fraction, seed)
    return list(zip(data.texts, data.labels, strict=True)), list(zip(data.dev_texts, data.dev_labels, strict=True))


@pytest.mark.parametrize("label", [str, int, float, lambda number: number == 1])
@pytest.mark.parametrize("rare", [False, True])
def test_the_same_rows_in_another_order_give_the_same_dev_set(label, rare):
    rows = [(f"text {i % 30}", label(i % 2)) for i in range(60)]  # every row stands there twice
    if rare:
        rows.append(("the only one", label(1)))
        rows = [row for row in rows if row[1] != label(0)] + [("another", label(0))]
    train, dev = held_out(rows)
    assert Counter(train + dev) == Counter(rows)
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        other_train, other_dev = held_out(shuffled)
        assert Counter(other_dev) == Counter(dev)
        assert Counter(other_train) == Counter(train)


def test_another_seed_gives_another_dev_set():
    rows = [(f"text {i}", i % 2) for i in range(60)]
    assert len({tuple(held_out(rows, seed=seed)[1]) for seed in range(5)}) == 5


def test_rows_keep_their_order():
    rows = [(f"text {i:02}", i % 2) for i in range(60)]
    train, dev = held_out(rows)
    assert train == sorted(train)
    assert dev == sorted(dev)
    assert Counter(label for _, label in dev) == {0: 6, 1: 6}


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3)), min_size=2, max_size=40),
    st.floats(0.01, 0.99),
    st.integers(0, 3),
)
def test_every_class_stays_in_training(rows, fraction, seed):
    classes = {label for _, label in rows}
    if len(classes) < 2 or len(rows) == len(classes):
        with pytest.raises(DataError, match=r"All labels are|too few to hold any out"):
            held_out(rows, fraction, seed)
        return
    train, dev = held_out(rows, fraction, seed)
    assert {label for _, label in train} == classes
    assert Counter(train + dev) == Counter(rows)
    assert dev
    assert len(dev) <= max(round(fraction * len(rows)), 1)
    assert Counter(held_out(rows[::-1], fraction, seed)[1]) == Counter(dev)
