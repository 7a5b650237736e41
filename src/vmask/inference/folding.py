"""Masks folded into the vectors: what the classifier sees of each word, computed once."""

from __future__ import annotations

import torch
from torch import Tensor

from vmask.masks.contract import Embedded, WordMask

CHUNK = 16_384
"""Words at a time, which bounds the memory of the mask's network."""


@torch.no_grad()
def fold(mask: WordMask, vectors: Tensor, words: Tensor) -> Tensor:
    """(V, D) what a classifier sees of each word at inference; a classifier over these vectors needs no mask.

    Every word is masked as a text of its own, which is exact if `mask.word_level()`: VMASK gives `E[R] * x`, IBA
    `lambda * x + (1 - lambda) * mu`.

    Args:
        mask: a mask whose effect on a word does not depend on the rest of the text.
        vectors: (V, D) the vectors at the seam.
        words: (V,) True at words; padding and special tokens are not changed.

    Raises:
        ValueError: if the mask is not word-level.
    """
    if not mask.word_level():
        raise ValueError("What this mask does to a word depends on the rest of its text. Keep the mask in the graph.")
    was_training = mask.training
    mask.eval()
    try:
        seen = []
        for table, is_word in zip(torch.split(vectors, CHUNK), torch.split(words, CHUNK), strict=True):
            x = Embedded(table, torch.arange(len(table), device=table.device).view(-1, 1), is_word.view(-1, 1))
            seen.append(mask(x).apply(x.dense()).squeeze(1))
        return torch.cat(seen)
    finally:
        mask.train(was_training)
