"""Our convolution and max pooling, held to `Conv1d`."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from thoroughness import examples
from vmask.models._window_max import window_max


def reference(table, index, scale, weight, bias, windows, pads):
    x = (table[index] * scale.unsqueeze(-1)).transpose(1, 2)
    h = functional.conv1d(functional.pad(x, pads), weight, bias)  # (B, F, W)
    counted = torch.arange(h.shape[2]) < windows.unsqueeze(1)
    return h.masked_fill(~counted.unsqueeze(1), -torch.inf).amax(2)


def case(seed, texts=3, positions=7, words=5, dim=4, filters=6, width=3, pads=(2, 2)):
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(words, dim, generator=generator, dtype=torch.float64)
    index = torch.randint(0, words, (texts, positions), generator=generator)
    scale = torch.rand(texts, positions, generator=generator, dtype=torch.float64)
    weight = torch.randn(filters, dim, width, generator=generator, dtype=torch.float64)
    bias = torch.randn(filters, generator=generator, dtype=torch.float64)
    available = positions + sum(pads) - width + 1
    windows = torch.randint(1, available + 1, (texts,), generator=generator)
    return [table, index, scale, weight, bias, windows, pads]


@settings(deadline=None, max_examples=examples(40))
@given(
    seed=st.integers(0, 10_000),
    texts=st.integers(1, 4),
    positions=st.integers(1, 9),
    width=st.integers(1, 5),
    wide=st.booleans(),
)
def test_values_and_gradients_are_those_of_conv1d(seed, texts, positions, width, wide):
    pads = (width - 1, width - 1) if wide else (0, max(0, width - positions))
    ours = case(seed, texts=texts, positions=positions, width=width, pads=pads)
    theirs = [t.clone() if isinstance(t, torch.Tensor) else t for t in ours]
    leaves = (0, 2, 3, 4)
    for arguments in (ours, theirs):
        for i in leaves:
            arguments[i].requires_grad_()
    one, two = window_max(*ours), reference(*theirs)
    torch.testing.assert_close(one, two)
    weights = torch.randn(one.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    (one * weights).sum().backward()
    (two * weights).sum().backward()
    for i in leaves:
        torch.testing.assert_close(ours[i].grad, theirs[i].grad)


def test_gradcheck():
    table, index, scale, weight, bias, windows, pads = case(3)
    leaves = [t.requires_grad_() for t in (table, scale, weight, bias)]
    assert torch.autograd.gradcheck(lambda t, s, w, b: window_max(t, index, s, w, b, windows, pads), leaves)


def test_no_gradient_is_computed_for_frozen_vectors():
    table, index, scale, weight, bias, windows, pads = case(0)
    weight.requires_grad_()
    window_max(table, index, scale, weight, bias, windows, pads).sum().backward()
    assert table.grad is None
    assert weight.grad is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_keeps_the_type(dtype):
    arguments = [t.to(dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in case(1)]
    assert window_max(*arguments).dtype == dtype
