"""Torch's global generators: pointed at the stream of one purpose, and given back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from vmask._core.random_streams import derive


def reseed_torch(seed: int, *keys: str | int) -> None:
    """Point torch's global generators (dropout, draws of masks) at the stream of one purpose."""
    torch.manual_seed(derive(seed, *keys))


@contextmanager
def own_randomness() -> Iterator[None]:
    """Give back torch's global generators as they were: training must not disturb the caller's."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        yield
