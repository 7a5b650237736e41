"""Texts that are nearly the same, found by MinHash.

Two texts are nearly the same if they share at least `SIMILAR` of their runs of five characters (the Jaccard index).
Candidates are texts whose MinHash signatures agree in all numbers of a band (Broder 1997; Leskovec et al., Mining of
Massive Datasets, chapter 3); each candidate is then compared exactly. With 16 bands of 5 numbers, a pair with an index
of 0.8 is missed with a probability of 0.2%, one with 0.9 practically never.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream

SIMILAR = 0.8
"""Share of runs of characters from which two texts count as nearly the same."""
BANDS, ROWS = 16, 5
RUN = 5
"""Characters of a run."""
CHUNK = 1 << 20
"""Characters that are hashed at a time."""
NEIGHBOURS = 8
"""Texts before it in a bucket that a text is compared with."""

_EMPTY = np.iinfo(np.uint32).max


def near_groups(texts: Sequence[str]) -> list[int]:
    """(N,) a number for each text; texts that are nearly the same, directly or through others, have the same number.

    Memory is a signature of 320 bytes for each text. Texts that are compared are chosen by their signatures alone, so
    that their order does not matter.

    Args:
        texts: different texts, in lower case and with single spaces.
    """
    groups = list(range(len(texts)))

    def root(i: int) -> int:
        while groups[i] != i:
            groups[i] = groups[groups[i]]
            i = groups[i]
        return i

    signatures = _signatures(texts)
    order = np.array(sorted(range(len(texts)), key=lambda i: texts[i]), np.int64)
    for band in range(BANDS):
        part = np.ascontiguousarray(signatures[order, band * ROWS : (band + 1) * ROWS])
        keys = part.view(np.dtype((np.void, part.itemsize * ROWS))).ravel()
        by_key = np.argsort(keys, kind="stable")
        sorted_keys = keys[by_key]
        starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
        sizes = np.diff(np.r_[starts, len(texts)])
        for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            bucket = order[by_key[start : start + size]].tolist()
            for at, one in enumerate(bucket):
                for other in bucket[max(0, at - NEIGHBOURS) : at]:
                    if root(one) != root(other) and similarity(texts[one], texts[other]) >= SIMILAR:
                        groups[root(one)] = root(other)
    return [root(i) for i in range(len(texts))]


def similarity(one: str, other: str) -> float:
    """Share of the runs of five characters of two texts that both have; of shorter texts, of the whole text.

    >>> round(similarity("a fine film about a town", "a fine film about a tower"), 2)
    0.86
    """
    first, second = ({text[i : i + RUN] for i in range(max(1, len(text) - RUN + 1))} for text in (one, other))
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def _signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """(N, BANDS * ROWS) MinHash signatures."""
    signatures = np.full((len(texts), BANDS * ROWS), _EMPTY, np.uint32)
    stream = numpy_stream(0, "near_duplicates")
    factors = stream.integers(0, 1 << 63, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    offsets = stream.integers(0, 1 << 63, BANDS * ROWS, dtype=np.uint64)
    for first, hashes, starts in _hashed(texts):
        # Multiply-add-shift on numbers that are mixed before: the high bits of the product are the hash.
        for number, (factor, offset) in enumerate(zip(factors, offsets, strict=True)):
            values = ((hashes * factor + offset) >> np.uint64(32)).astype(np.uint32)
            signatures[first : first + len(starts), number] = np.minimum.reduceat(values, starts)
    return signatures


def _hashed(texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.int64]]]:
    """Chunks of texts: number of the first, hashes of the runs of all, and where those of each text start."""
    first = 0
    while first < len(texts):
        last, size = first, 0
        while last < len(texts) and (last == first or size + len(texts[last]) <= CHUNK):
            size += len(texts[last])
            last += 1
        padded = [text.ljust(RUN) for text in texts[first:last]]
        lengths = np.array([len(text) for text in padded], np.int64)
        codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
        hashes = codes[: len(codes) - RUN + 1].copy()
        for step in range(1, RUN):
            hashes = _mixed(hashes) + codes[step : len(codes) - RUN + 1 + step]
        ends = np.cumsum(lengths)
        inside = np.ones(len(codes), bool)
        for step in range(1, RUN):  # runs that would reach into the next text
            inside[ends - step] = False
        starts = np.concatenate([[0], np.cumsum(lengths - RUN + 1)[:-1]]).astype(np.int64)
        yield first, _mixed(hashes[inside[: len(hashes)]]), starts
        first = last


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: spreads every bit over all 64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
