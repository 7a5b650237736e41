"""Random streams that derive from (seed, purpose, epoch), so that no generator state has to be saved."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derive(seed: int, *keys: str | int) -> int:
    """A 63-bit seed for one purpose: the same keys give the same stream, other keys an unrelated one."""
    words = [seed, *(zlib.crc32(str(key).encode(errors="surrogatepass")) for key in keys)]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0]) >> 1


def numpy_stream(seed: int, *keys: str | int) -> np.random.Generator:
    """A numpy generator for one purpose."""
    return np.random.default_rng(derive(seed, *keys))


def reseed_torch(seed: int, *keys: str | int) -> None:
    """Point torch's global generators (dropout, draws of masks) at the stream of one purpose."""
    torch.manual_seed(derive(seed, *keys))


@contextmanager
def own_randomness() -> Iterator[None]:
    """Give back torch's global generators as they were: training must not disturb the caller's."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        yield
