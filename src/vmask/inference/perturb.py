"""Texts with some of their words hidden, as ids: many perturbations of many texts at once.

Equal perturbations of a text are predicted once, and at most `MAX_SPELT` ids are in memory at a time, so memory depends
on neither the number of texts nor of perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.inference.contract import Doc

MAX_SPELT = 1_000_000
"""Maximum number of ids in memory: rows times the longest text."""
MANY = 256
"""Minimum number of perturbations for which preparing a single text pays off."""


@dataclass(frozen=True)
class Spelling:
    """How hidden words are represented in ids.

    Attributes:
        pad: id of padding.
        closes_gap: whether a hidden word is removed, so that the following words move up.
        stand_in: id that replaces a hidden word; None if the word stays and is scaled.
    """

    pad: int
    closes_gap: bool = False
    stand_in: int | None = None


@dataclass(frozen=True)
class Rows:
    """Perturbed texts as ids. Rows of a text with the same prefix are adjacent.

    Attributes:
        ids: (R, T) left-justified, then padding.
        lengths: (R,) number of ids of each.
        keep: (R, T) factor of each position if words are scaled; else None.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    keep: NDArray[np.float32] | None = None


def as_kept(keep: NDArray[Any], scaled: bool) -> NDArray[Any]:
    """Rows of `keep` as booleans, or as numbers if words are `scaled` and some value is between 0 and 1."""
    if keep.dtype == np.bool_:
        return keep
    whole = keep > 0
    return np.asarray(keep, np.float32) if scaled and not np.array_equal(keep, whole) else whole


def answers(
    docs: Sequence[Doc],
    keep: Sequence[NDArray[Any]],
    spelling: Spelling,
    classes: int,
    answer: Callable[[Rows], NDArray[np.float32]],
    answer_alone: Callable[[Doc, NDArray[np.bool_]], NDArray[np.float32]] | None = None,
) -> list[NDArray[np.float32]]:
    """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i).

    Args:
        docs: the texts.
        keep: for each text which words are kept, one row per perturbation.
        spelling: how words are hidden.
        classes: C.
        answer: (R, C) probabilities of some rows.
        answer_alone: (R, C) probabilities of one text under many rows of `keep` (R, W), if there is a faster way.
    """
    results = [np.zeros((len(rows), classes), np.float32) for rows in keep]
    for part in _parts(docs, keep):
        spelt, places = [], []
        for number, start, stop in part:
            distinct, inverse = distinct_rows(keep[number][start:stop])
            words = docs[number].owners is None
            if answer_alone is not None and words and len(distinct) >= MANY and distinct.shape[1]:
                results[number][start:stop] = answer_alone(docs[number], distinct)[inverse]
                continue
            spelt.append(spell(docs[number], distinct, spelling))
            places.append((number, start, stop, inverse))
        if not spelt:
            continue
        probabilities = answer(joined(spelt, spelling.pad))
        at = 0
        for rows, (number, start, stop, inverse) in zip(spelt, places, strict=True):
            results[number][start:stop] = probabilities[at : at + len(rows.ids)][inverse]
            at += len(rows.ids)
    return results


def distinct_rows(keep: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows of `keep` (S, W) in ascending order, and for each row (S,) which of them it is."""
    rows, words = keep.shape
    if not words:
        return keep[:1], np.zeros(rows, np.int64)
    if keep.dtype != np.bool_:
        distinct, inverse = np.unique(keep, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    packed = np.ascontiguousarray(np.packbits(keep, axis=1))
    if packed.shape[1] <= 8:  # numbers sort much faster than bytes
        eight = np.zeros((rows, 8), np.uint8)
        eight[:, : packed.shape[1]] = packed
        codes: NDArray[Any] = eight.view(">u8").astype(np.uint64).ravel()
    else:
        codes = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return keep[first], inverse.reshape(-1)


def spell(doc: Doc, keep: NDArray[Any], spelling: Spelling) -> Rows:
    """The ids of a text under each of the rows of `keep` (R, W)."""
    pieces = kept_pieces(doc, keep)
    rows, size = pieces.shape
    if not spelling.closes_gap and spelling.stand_in is None:
        lengths = np.full(rows, size, np.int64)
        return Rows(np.broadcast_to(doc.ids, (rows, size)), lengths, pieces.astype(np.float32))
    whole = pieces > 0
    if not spelling.closes_gap:
        return Rows(np.where(whole, doc.ids, np.int32(spelling.stand_in or 0)), np.full(rows, size, np.int64))
    lengths = whole.sum(1)
    row, position = whole.nonzero()
    place = np.arange(len(row)) - np.repeat(lengths.cumsum() - lengths, lengths)
    ids = np.full((rows, size), spelling.pad, np.int32)
    ids[row, place] = doc.ids[position]
    return Rows(ids, lengths)


def kept_pieces(doc: Doc, keep: NDArray[Any]) -> NDArray[Any]:
    """(R, T) factor of each id, given the factor `keep` (R, W) of each word.

    A piece of several words gets their minimum; a piece that belongs to no word stays.
    """
    if doc.owners is None:
        return keep
    pieces = np.ones((len(keep), len(doc.ids)), keep.dtype)
    np.minimum.at(pieces.T, doc.owners[:, 0], keep.T[doc.owners[:, 1]])
    return pieces


def joined(parts: Sequence[Rows], pad: int) -> Rows:
    """The rows of all parts, padded to the longest."""
    longest = max(max((part.ids.shape[1] for part in parts), default=0), 1)
    ids = np.full((sum(len(part.ids) for part in parts), longest), pad, np.int32)
    keep = np.ones(ids.shape, np.float32) if parts[0].keep is not None else None
    at = 0
    for part in parts:
        rows, size = part.ids.shape
        ids[at : at + rows, :size] = part.ids
        if keep is not None and part.keep is not None:
            keep[at : at + rows, :size] = part.keep
        at += rows
    return Rows(ids, np.concatenate([part.lengths for part in parts]), keep)


def _parts(docs: Sequence[Doc], keep: Sequence[NDArray[Any]]) -> Iterator[list[tuple[int, int, int]]]:
    """Batches of (text, start, stop): ranges of rows that together fit in `MAX_SPELT` ids."""
    part: list[tuple[int, int, int]] = []
    rows, longest = 0, 1
    for number, (doc, wanted) in enumerate(zip(docs, keep, strict=True)):
        size = max(len(doc.ids), 1)
        step = max(MAX_SPELT // size, 1)
        for start in range(0, len(wanted), step):
            count = min(step, len(wanted) - start)
            if part and (rows + count) * max(longest, size) > MAX_SPELT:
                yield part
                part, rows, longest = [], 0, 1
            part.append((number, start, start + count))
            rows, longest = rows + count, max(longest, size)
    if part:
        yield part
