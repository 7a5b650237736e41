"""What every word mask gives: a scale for each word, perhaps noise, an importance score and a penalty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.errors import NoWordScores


@dataclass(frozen=True)
class Embedded:
    """The word vectors of a batch, each distinct word once: equal words are masked and projected once.

    Attributes:
        table: (U, D) vectors of the distinct words of the batch.
        index: (B, T) row of `table` at every position.
        words: (B, T) True at words, False at padding and special tokens.
    """

    table: Tensor
    index: Tensor
    words: Tensor

    def dense(self) -> Tensor:
        """(B, T, D) the vector at every position."""
        return functional.embedding(self.index, self.table)

    def counts(self) -> Tensor:
        """(U,) how often each distinct word stands in the batch as a word."""
        return torch.bincount(self.index[self.words], minlength=len(self.table)).to(self.table.dtype)


@dataclass(frozen=True)
class Masked:
    """What a mask did to a batch: the classifier sees `z = scale * x + shift` (eq. 1 of the paper).

    Attributes:
        scale: (B, T) 1 at padding and special tokens.
        shift: (B, T, D) noise that was mixed in, 0 at padding and special tokens; None where there is none.
        scores: (B, T) importance in [0, 1]; 0 where `words` is False.
        penalty: () added to the loss, weighted by the beta schedule.
        untouched: nothing was done, so the classifier may skip the arithmetic.
    """

    scale: Tensor
    shift: Tensor | None
    scores: Tensor
    penalty: Tensor
    untouched: bool = False

    def apply(self, x: Tensor) -> Tensor:
        """(B, T, D) what the classifier sees of the vectors `x` (B, T, D)."""
        if self.untouched:
            return x
        z = self.scale.unsqueeze(-1) * x
        return z if self.shift is None else z + self.shift

    def times(self, keep: Tensor) -> Masked:
        """The same with only `keep` (B, T) left of what is seen at each position."""
        shift = None if self.shift is None else self.shift * keep.unsqueeze(-1)
        return replace(self, scale=self.scale * keep, shift=shift, untouched=False)


class WordMask(nn.Module):
    """A training method: how much of each word the classifier sees.

    Args:
        dim: D, the size of a word vector.
        options: an instance of the method's `Options`.

    Attributes:
        Options: dataclass of the method's own options (`mask__…` in Python, `--mask.…` on the command line).
        recipe: training defaults of the method; the user's options override them.
        paper_code: options that reproduce the paper's released code, by what they belong to (`mask`, `train`).
        ranks: whether the scores rank words; a method without a ranking says so instead of giving constants.
        version: of its numbers; raised when they change on purpose, so that older results can be told apart.
        progress: share of the training that is done, from 0 to 1; set by the training loop, read by schedules.
    """

    Options: ClassVar[type[Any]]
    recipe: ClassVar[Mapping[str, Any]] = {}
    paper_code: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    ranks: ClassVar[bool] = True
    version: ClassVar[int] = 1

    def __init__(self, dim: int, options: Any) -> None:
        super().__init__()
        self.dim = dim
        self.options = options
        self.progress = 0.0

    def word_level(self) -> bool:
        """Whether what happens to a word depends on that word alone, so that the mask can be folded into its vector."""
        return True

    def prepare(self, batches: Iterable[Embedded]) -> None:
        """Look once over the training texts before training, where a method needs to. The default does nothing."""

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) importance of the words whose vectors are `table` (U, D), each between 0 and 1.

        Raises:
            NoWordScores: where the method learns no ranking.
        """
        raise NoWordScores

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch. In training a random draw; in eval deterministic."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Show the options in the printed module."""
        return f"dim={self.dim}, options={self.options}"


def at_words(values: Tensor, x: Embedded, elsewhere: float) -> Tensor:
    """(B, T) `values` (B, T) at words and a constant elsewhere, without a gradient there."""
    return torch.where(x.words, values, elsewhere)


def spread(values: Tensor, x: Embedded) -> Tensor:
    """(B, T) values of the distinct words (U,) put at every position of the batch."""
    return values.index_select(0, x.index.reshape(-1)).view(x.index.shape)


def mean_over_words(values: Tensor, x: Embedded) -> Tensor:
    """() mean over the real words of a batch of what each distinct word (U,) has; 0 for a batch without words."""
    counts = x.counts()
    return torch.dot(values, counts) / counts.sum().clamp_min(1)
