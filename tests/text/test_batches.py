"""Batches: nothing lost, nothing twice, little padding."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from vmask.text.batches import TIGHT_ROWS, collate, shuffled_buckets, sorted_buckets

LENGTHS = st.lists(st.integers(0, 60), min_size=1, max_size=300).map(lambda v: np.array(v, dtype=np.int64))


@given(LENGTHS, st.integers(1, 40), st.integers(0, 9))
def test_an_epoch_has_every_text_once(lengths, size, seed):
    batches = shuffled_buckets(lengths, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(rows) <= size for rows in batches)
    assert sum(len(rows) < size for rows in batches) <= 1


@given(LENGTHS, st.integers(1, 500))
def test_inference_batches_have_every_text_once_and_a_bounded_size(lengths, most):
    batches = list(sorted_buckets(lengths, max_tokens=most, max_rows=7))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) <= 7
        assert len(rows) == 1 or len(rows) * lengths[rows].max() <= most


def test_buckets_hold_texts_of_like_length():
    lengths = np.random.default_rng(0).integers(1, 50, 2000)
    padded = sum(len(rows) * lengths[rows].max() for rows in shuffled_buckets(lengths, 50, np.random.default_rng(1)))
    assert padded < 1.1 * lengths.sum()


def test_collate_pads_behind_and_lists_distinct_words_once():
    batch = collate([np.array([5, 7, 5], np.int32), np.array([9], np.int32)], [1, 0])
    assert batch.ids.tolist() == [[5, 7, 5], [9, 0, 0]]
    assert batch.attend.tolist() == [[True, True, True], [True, False, False]]
    assert batch.distinct.tolist() == [0, 5, 7, 9]
    assert torch.equal(batch.distinct[batch.index], batch.ids)
    assert batch.lengths.tolist() == [3, 1]
    assert batch.labels is not None
    assert batch.labels.tolist() == [1, 0]


def test_a_batch_of_empty_texts_has_one_column_of_padding():
    assert collate([np.array([], np.int32)] * 2).ids.tolist() == [[0], [0]]


def test_tight_batches_pad_by_an_eighth_at_most_unless_they_are_small():
    lengths = np.random.default_rng(0).integers(1, 60, 5000)
    batches = list(sorted_buckets(lengths, max_rows=512, tight=True))
    assert sorted(np.concatenate(batches).tolist()) == list(range(5000))
    for rows in batches:
        assert len(rows) <= TIGHT_ROWS or lengths[rows].max() * 8 <= lengths[rows].min() * 9
    loose = list(sorted_buckets(lengths, max_rows=512))
    padded = [sum(lengths[rows].max() * len(rows) for rows in some) for some in (batches, loose)]
    assert lengths.sum() <= padded[0] < padded[1]
