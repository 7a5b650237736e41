"""Masks folded into the vectors: what the classifier sees of each word, computed once."""

from __future__ import annotations

import torch
from torch import Tensor

from vmask.masks.contract import Embedded, Masked, WordMask

CHUNK = 16_384
"""Words at a time, which bounds the memory of the mask's network."""


@torch.no_grad()
def fold(mask: WordMask, vectors: Tensor, words: Tensor, edits: Tensor | None = None) -> Tensor:
    """(V, D) what a classifier sees of each word at inference; a classifier over these vectors needs no mask.

    Every word is masked as a text of its own, which is exact if `mask.word_level()`: VMASK gives `E[R] * x`, IBA
    `lambda * x + (1 - lambda) * mu`.

    Args:
        mask: a mask whose effect on a word does not depend on the rest of the text.
        vectors: (V, D) the vectors at the seam.
        words: (V,) True at words; padding and special tokens are not changed.
        edits: (V,) words that a person hid or showed, see `MaskedClassifier`; None without.

    Raises:
        ValueError: if the mask is not word-level.
    """
    if not mask.word_level():
        raise ValueError("What this mask does to a word depends on the rest of its text. Keep the mask in the graph.")
    was_training = mask.training
    mask.eval()
    try:
        seen = []
        for start in range(0, len(vectors), CHUNK):
            table, is_word = vectors[start : start + CHUNK], words[start : start + CHUNK].view(-1, 1)
            x = Embedded(table, torch.arange(len(table), device=table.device).view(-1, 1), is_word)
            masked: Masked = mask(x)
            if edits is not None:
                masked = masked.edited(edits[start : start + CHUNK].view(-1, 1), mask.hidden_vector)
            seen.append(masked.apply(x.dense()).squeeze(1))
        return torch.cat(seen)
    finally:
        mask.train(was_training)
