"""Random streams derived from (seed, purpose, epoch), so that no generator state has to be saved."""

from __future__ import annotations

import zlib

import numpy as np


def derive(seed: int, *keys: str | int) -> int:
    """A 63-bit seed for one purpose: the same keys give the same stream, other keys an unrelated one."""
    words = [seed, *(zlib.crc32(str(key).encode(errors="surrogatepass")) for key in keys)]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0]) >> 1


def numpy_stream(seed: int, *keys: str | int) -> np.random.Generator:
    """A numpy generator for one purpose."""
    return np.random.default_rng(derive(seed, *keys))
