"""Beginnings that texts share: each is read once, and every text finds its own way through them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vmask.explain.lime import sample
from vmask.inference.perturb import distinct_rows
from vmask.models._prefixes import steps

TEXTS = st.lists(st.lists(st.integers(1, 3), max_size=5), min_size=1, max_size=12)


def padded(texts):
    lengths = np.array([len(text) for text in texts], np.int64)
    index = np.zeros((len(texts), max(lengths.max(), 1)), np.int32)
    for row, text in zip(index, texts, strict=True):
        row[: len(text)] = text
    return index, lengths


def read(texts):
    """Every text as it is found at the end of its way, and the number of beginnings of each step."""
    index, lengths = padded(texts)
    beginnings, found, counts = [()], {}, []
    for step in steps(index, lengths):
        beginnings = [(*beginnings[parent], int(word)) for word, parent in zip(step.words, step.parents, strict=True)]
        counts.append(len(beginnings))
        for row, end in zip(step.ended.tolist(), step.ends.tolist(), strict=True):
            assert row not in found
            found[row] = beginnings[end]
    return found, counts


@given(TEXTS)
def test_every_text_with_words_is_read_to_its_end_once(texts):
    found, counts = read(texts)
    assert found == {row: tuple(text) for row, text in enumerate(texts) if text}
    assert len(counts) == max(map(len, texts))


@given(TEXTS)
def test_of_sorted_texts_every_beginning_is_read_once(texts):
    ordered = sorted(texts)
    _, counts = read(ordered)
    for at, count in enumerate(counts, 1):
        assert count == len({tuple(text[:at]) for text in ordered if len(text) >= at})


def test_of_perturbations_about_half_of_the_steps_are_saved():
    keep, _ = distinct_rows(sample(20, 1000, np.random.default_rng(0), first=True))
    texts = [(np.flatnonzero(row) + 1).tolist() for row in keep]
    _, counts = read(texts)
    assert 0.4 < sum(counts) / sum(map(len, texts)) < 0.6


def test_texts_without_words_take_no_step():
    assert read([[], []]) == ({}, [])
