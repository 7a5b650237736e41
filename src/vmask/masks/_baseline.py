"""The baseline vector, which takes the place of what a mask hides of a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from vmask.config import option

Baseline: TypeAlias = Literal["auto", "zero", "mean", "mask_token", "learnt"]


@dataclass(frozen=True)
class BaselineOptions:
    """Options of masks that scale words: `z = m x + (1 - m) b`, with b the baseline.

    A LayerNorm right behind the word vectors undoes a scaling towards zero, but not one towards another vector.
    """

    baseline: Baseline = option(
        "auto",
        "vector in place of a hidden word: zeros, the mean of the word vectors, that of the tokenizer's mask token, or "
        "a learnt one; `auto`: zeros where a scaling acts, else the mask token, else the mean",
    )
