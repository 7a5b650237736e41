"""Torch's global random generators: seeded for one purpose, and restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from vmask._core.random_streams import derive


def reseed_torch(seed: int, *keys: str | int) -> None:
    """Seed torch's global generators (dropout, samples of masks) with the stream of one purpose."""
    value = derive(seed, *keys)
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        torch.manual_seed(value)
    else:  # the above would also write down the caller's stack, for a GPU that could come: as long as a small step
        torch.default_generator.manual_seed(value)


@contextmanager
def own_randomness() -> Iterator[None]:
    """Restore torch's global generators at the end: training must not disturb the caller's."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        yield
