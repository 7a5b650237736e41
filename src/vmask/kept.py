"""Answers of a model to texts with some words hidden: many perturbations of many texts at once.

Rows of all texts share batches of like length, equal rows of a text are computed once, and no more rows are spelt out
at a time than `MAX_CELLS` allows, so memory depends on neither the number of texts nor of perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.data.batches import Batch, distinct_of, sorted_buckets
from vmask.explain.contract import Doc

MAX_CELLS = 4_000_000
"""Ids that are spelt out at a time: rows times the longest text."""


@dataclass(frozen=True)
class Spelling:
    """How a way of hiding words is spelt out in ids.

    Attributes:
        hide: `remove`, `zero`, `unk` or `mask`.
        pad: id of padding.
        stand_in: id that takes the place of a hidden word, for `unk` and `mask`.
    """

    hide: str
    pad: int
    stand_in: int | None = None


@dataclass(frozen=True)
class Rows:
    """Perturbed texts as numbers.

    Attributes:
        ids: (R, T) left-justified, padding behind.
        lengths: (R,) ids of each.
        keep: (R, T) how much is kept of each position, for `zero`; else None.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    keep: NDArray[np.float32] | None


def spell(doc: Doc, keep: NDArray[np.float32], spelling: Spelling) -> Rows:
    """The ids of a text under each of the rows of `keep` (R, W)."""
    pieces = kept_pieces(doc, keep)
    rows, size = pieces.shape
    if spelling.hide == "zero":
        return Rows(np.broadcast_to(doc.ids, (rows, size)), np.full(rows, size, np.int64), pieces)
    whole = pieces > 0
    if spelling.hide != "remove":
        ids = np.where(whole, doc.ids, np.int32(spelling.stand_in or 0))
        return Rows(ids, np.full(rows, size, np.int64), None)
    order = np.argsort(~whole, axis=1, kind="stable")  # what is kept, in its order, then the rest
    lengths = whole.sum(1)
    ids = np.where(np.arange(size) < lengths[:, None], doc.ids[order], np.int32(spelling.pad))
    return Rows(ids, lengths, None)


def kept_pieces(doc: Doc, keep: NDArray[np.float32]) -> NDArray[np.float32]:
    """(R, T) how much is kept of each id when `keep` (R, W) is kept of each word.

    A piece that belongs to several words is kept as far as all of them are; one that belongs to none stays.
    """
    if doc.owners is None:
        return keep
    pieces = np.ones((len(keep), len(doc.ids)), np.float32)
    np.minimum.at(pieces.T, doc.owners[:, 0], keep.T[doc.owners[:, 1]])
    return pieces


def answers(
    docs: Sequence[Doc],
    keep: Sequence[NDArray[np.float32]],
    spelling: Spelling,
    classes: int,
    run: Callable[[Batch, Tensor | None], NDArray[np.float32]],
    batch_rows: int = 512,
) -> list[NDArray[np.float32]]:
    """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i).

    Args:
        docs: the texts.
        keep: for each text what is kept of its words, a row a perturbation.
        spelling: how words are hidden.
        classes: C.
        run: answers a batch, with what is kept of each position for `zero`.
        batch_rows: rows of a batch, at most.
    """
    found = [np.zeros((len(rows), classes), np.float32) for rows in keep]
    for part in _parts(docs, keep):
        spelt, places = [], []
        for number, start, stop in part:
            unique, inverse = np.unique(keep[number][start:stop], axis=0, return_inverse=True)
            spelt.append(spell(docs[number], unique, spelling))
            places.append((number, start, stop, inverse.reshape(-1)))
        probabilities = _answer(spelt, spelling.pad, classes, run, batch_rows)
        at = 0
        for rows, (number, start, stop, inverse) in zip(spelt, places, strict=True):
            found[number][start:stop] = probabilities[at : at + len(rows.ids)][inverse]
            at += len(rows.ids)
    return found


def _parts(docs: Sequence[Doc], keep: Sequence[NDArray[np.float32]]) -> Iterator[list[tuple[int, int, int]]]:
    """Texts with ranges of their rows, together small enough to be spelt out."""
    part: list[tuple[int, int, int]] = []
    rows, longest = 0, 1
    for number, (doc, wanted) in enumerate(zip(docs, keep, strict=True)):
        size = max(len(doc.ids), 1)
        step = max(MAX_CELLS // size, 1)
        for start in range(0, len(wanted), step):
            count = min(step, len(wanted) - start)
            if part and (rows + count) * max(longest, size) > MAX_CELLS:
                yield part
                part, rows, longest = [], 0, 1
            part.append((number, start, start + count))
            rows, longest = rows + count, max(longest, size)
    if part:
        yield part


def _answer(
    spelt: Sequence[Rows],
    pad: int,
    classes: int,
    run: Callable[[Batch, Tensor | None], NDArray[np.float32]],
    batch_rows: int,
) -> NDArray[np.float32]:
    """(R, C) probabilities of all rows, in their order."""
    longest = max(max(rows.ids.shape[1] for rows in spelt), 1)
    ids = np.full((sum(len(rows.ids) for rows in spelt), longest), pad, np.int32)
    keep = np.ones(ids.shape, np.float32) if spelt[0].keep is not None else None
    at = 0
    for rows in spelt:
        ids[at : at + len(rows.ids), : rows.ids.shape[1]] = rows.ids
        if keep is not None and rows.keep is not None:
            keep[at : at + len(rows.ids), : rows.ids.shape[1]] = rows.keep
        at += len(rows.ids)
    lengths = np.concatenate([rows.lengths for rows in spelt])
    probabilities = np.zeros((len(ids), classes), np.float32)
    for chosen in sorted_buckets(lengths, max_rows=batch_rows):
        width = max(int(lengths[chosen].max(initial=0)), 1)
        batch = distinct_of(ids[chosen, :width].astype(np.int64), lengths[chosen])
        kept = None if keep is None else torch.from_numpy(keep[chosen, :width])
        probabilities[chosen] = run(batch, kept)
    return probabilities
