"""Tabulated windows answer as the convolution over zeroed words does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vmask.models import _window_tables
from vmask.models._window_max import project, window_max
from vmask.models._window_tables import WindowTables

DIM, FILTERS, WORDS = 4, 3, 6


def both_ways(length, width, wide, rows, seed):
    """What the tables and the convolution make of one text with words zeroed."""
    random = torch.Generator().manual_seed(seed)
    seen = torch.randn(WORDS, DIM, generator=random)
    seen[0] = 0
    weight = torch.randn(FILTERS, DIM, width, generator=random)
    words = torch.randint(1, WORDS, (length,), generator=random)
    keep = torch.randint(0, 2, (rows, length), generator=random).float()
    reach = width - 1 if wide else 0
    pads = (reach, max(reach, width - length))
    tables = WindowTables(project(seen, weight), words, width, pads)
    windows = torch.full((rows,), length + sum(pads) - width + 1)
    index = words.expand(rows, -1)
    expected = window_max(seen, index, keep, weight, torch.zeros(FILTERS), windows, pads)
    return tables.pooled(keep.bool()), expected


@given(
    length=st.integers(1, 20),
    width=st.integers(1, 8),
    wide=st.booleans(),
    rows=st.integers(1, 9),
    seed=st.integers(0, 1000),
)
def test_tables_equal_the_convolution(length, width, wide, rows, seed):
    found, expected = both_ways(length, width, wide, rows, seed)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("bits", [1, 3, 10])
def test_the_size_of_a_group_makes_no_difference(monkeypatch, bits):
    monkeypatch.setattr(_window_tables, "BITS", bits)
    found, expected = both_ways(length=13, width=3, wide=True, rows=40, seed=1)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-5)
