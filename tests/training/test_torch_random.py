"""Torch's global generators: seeded for a purpose, and left as they were."""

from __future__ import annotations

import torch

from vmask._core.random_streams import derive
from vmask.training.torch_random import own_randomness, reseed_torch


def drawn(*keys):
    with own_randomness():
        reseed_torch(*keys)
        return torch.rand(4)


def test_a_purpose_has_a_stream_of_its_own_which_depends_on_the_seed():
    assert torch.equal(drawn(1, "weights"), drawn(1, "weights"))
    streams = [drawn(seed, purpose) for seed in range(4) for purpose in ("weights", "mask")]
    assert len({tuple(stream.tolist()) for stream in streams}) == len(streams)
    expected = torch.rand(4, generator=torch.Generator().manual_seed(derive(3, "epoch", 7)))
    assert torch.equal(drawn(3, "epoch", 7), expected)


def test_the_callers_generator_is_left_as_it_was():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    drawn(1, "weights")
    assert torch.equal(torch.rand(3), expected)
