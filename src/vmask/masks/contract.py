"""The contract of word masks: a scale for each word, optional noise, an importance score and a penalty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.config import SINGLE_LABEL
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
        """(U,) number of occurrences of each distinct word in the batch."""
        return torch.bincount(self.index[self.words], minlength=len(self.table)).to(self.table.dtype)


@dataclass(frozen=True)
class Masked:
    """The output of a mask for a batch: the classifier sees `z = scale * x + shift` (eq. 1 of the paper).

    Attributes:
        scale: (B, T) 1 at padding and special tokens.
        shift: (B, T, D) added noise or baseline, 0 at padding and special tokens; None without.
        scores: (B, T) importance in [0, 1]; 0 where `words` is False.
        penalty: () added to the loss, weighted by the beta schedule.
        untouched: the vectors are not changed, so the classifier may skip the arithmetic.
        logits: (B, C) of a classifier of the mask's own, whose error is added to the loss; None without.
    """

    scale: Tensor
    shift: Tensor | None
    scores: Tensor
    penalty: Tensor
    untouched: bool = False
    logits: Tensor | None = None

    def apply(self, x: Tensor) -> Tensor:
        """(B, T, D) what the classifier sees of the vectors `x` (B, T, D)."""
        if self.untouched:
            return x
        z = self.scale.unsqueeze(-1) * x
        return z if self.shift is None else z + self.shift

    def times(self, keep: Tensor, baseline: Tensor | None = None) -> Masked:
        """The same with `keep * z + (1 - keep) * b` in place of z.

        Args:
            keep: (B, T) how much is kept at each position.
            baseline: (D,) b; None for zeros.
        """
        shift = None if self.shift is None else self.shift * keep.unsqueeze(-1)
        if baseline is not None:
            rest = (1 - keep).unsqueeze(-1) * baseline
            shift = rest if shift is None else shift + rest
        return replace(self, scale=self.scale * keep, shift=shift, untouched=False)

    def edited(self, decided: Tensor, hidden_vector: Tensor | None) -> Masked:
        """The same with words hidden or shown by decision of a person.

        Args:
            decided: (B, T) -1 where a word is hidden, 1 where all of it is seen, 0 where the mask decides.
            hidden_vector: (D,) vector in place of a hidden word; None for zeros.
        """
        open_ = decided == 0
        shift = self.shift
        if shift is not None or hidden_vector is not None:
            # Where the mask decides, its shift stays; a hidden word is the vector in its place, a shown one itself.
            in_place = (decided < 0).to(self.scale.dtype).unsqueeze(-1)
            own = None if shift is None else torch.where(open_.unsqueeze(-1), shift, 0.0)
            put = None if hidden_vector is None else in_place * hidden_vector
            shift = put if own is None else own if put is None else own + put
        return replace(
            self,
            scale=torch.where(open_, self.scale, (decided > 0).to(self.scale.dtype)),
            shift=shift,
            scores=torch.where(open_, self.scores, (decided > 0).to(self.scores.dtype)),
            untouched=False,
        )


class WordMask(nn.Module):
    """A training method: how much of each word the classifier sees.

    Args:
        dim: D, the size of a word vector.
        options: an instance of the method's `Options`.

    Attributes:
        Options: dataclass of the method's own options (`mask__…` in Python, `--mask.…` on the command line).
        recipe: training defaults of the method; the user's options override them.
        paper_code: options that reproduce the paper's released code, by what they belong to (`mask`, `train`).
        penalised: whether it adds a penalty to the loss, which beta weighs.
        restarts: whether the classifier is trained from its first weights, once the annealing is over.
        ranks: whether the scores rank words; a method without a ranking raises an error instead of giving constants.
        version: version of its numbers; raised when they change on purpose, to distinguish older results.
        task: how many labels a text has; set before `set_classes`.
        progress: progress of the annealing, from 0 to 1; set by the training loop, read by schedules.
        baseline: (D,) vector in place of what is hidden of a word; None for zeros.
    """

    Options: ClassVar[type[Any]]
    recipe: ClassVar[Mapping[str, Any]] = {}
    paper_code: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    penalised: ClassVar[bool] = True
    restarts: ClassVar[bool] = False
    ranks: ClassVar[bool] = True
    version: ClassVar[int] = 1

    def __init__(self, dim: int, options: Any) -> None:
        super().__init__()
        self.dim = dim
        self.options = options
        self.task = SINGLE_LABEL
        self.progress = 0.0
        self.baseline: Tensor | None
        kind = getattr(options, "baseline", "zero")
        if kind == "learnt":
            self.baseline = nn.Parameter(torch.zeros(dim))
        else:  # None is no part of the state; what `auto` takes is set by the training or the stored model
            self.register_buffer("baseline", torch.zeros(dim) if kind in ("mean", "mask_token") else None)

    @classmethod
    def is_soft(cls, options: Any) -> bool:
        """Whether with these options a word is scaled by other numbers than 0 and 1 at inference."""
        return True

    @property
    def hidden_vector(self) -> Tensor | None:
        """(D,) what stands in place of a word that is hidden as a whole; None for zeros."""
        return self.baseline

    @property
    def anneals(self) -> bool:
        """Whether it has a schedule of its own, by `progress`."""
        return False

    def word_level(self) -> bool:
        """Whether the mask of a word depends only on that word, so that it can be folded into its vector."""
        return True

    def set_classes(self, classes: int) -> None:
        """Create the weights whose shape depends on the number of classes C. The default does nothing."""

    def prepare(self, batches: Iterable[Embedded]) -> None:
        """Read the training texts once before training, if a method needs it. The default does nothing."""

    def calibrate(self, table: Tensor, counts: Tensor) -> None:
        """Set what depends on all words of the training texts, after every epoch. The default does nothing.

        Args:
            table: (U, D) vectors of the distinct words.
            counts: (U,) number of occurrences of each.
        """

    def excess(self, visible: float) -> float:
        """How far a constraint of the method is missed if this share of running words is visible; 0 without one."""
        return 0.0

    def scores_of(self, table: Tensor) -> Tensor:
        """(U,) importance of the words whose vectors are `table` (U, D), each between 0 and 1.

        Raises:
            NoWordScores: if the method learns no ranking.
        """
        raise NoWordScores

    def forward(self, x: Embedded) -> Masked:
        """Mask a batch: random in training, deterministic in eval."""
        raise NotImplementedError

    def seen(self, scale: Tensor, x: Embedded, scores: Tensor, penalty: Tensor) -> Masked:
        """The output `z = m x + (1 - m) b` for a scale m of words, with the baseline b.

        Args:
            scale: (B, T) m at words; what stands elsewhere is ignored.
            x: the batch.
            scores: (B, T) importance of words, likewise.
            penalty: ().
        """
        scale = at_words(scale, x, 1.0)
        shift = None if self.baseline is None else (1 - scale).unsqueeze(-1) * self.baseline
        return Masked(scale, shift, at_words(scores, x, 0.0), penalty)

    def extra_repr(self) -> str:
        """Show the options in the printed module."""
        return f"dim={self.dim}, options={self.options}"


def at_words(values: Tensor, x: Embedded, elsewhere: float) -> Tensor:
    """(B, T) `values` (B, T) at words and a constant elsewhere, without a gradient there."""
    return torch.where(x.words, values, elsewhere)


def spread(values: Tensor, x: Embedded) -> Tensor:
    """(B, T) values of the distinct words (U,) at every position of the batch."""
    return values.index_select(0, x.index.reshape(-1)).view(x.index.shape)


def over_processes(total: Tensor) -> Tensor:
    """The sum of a tensor over the processes that train together; in training alone, where each of them calls it."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(total)
    return total


def mean_over_words(values: Tensor, x: Embedded) -> Tensor:
    """() mean over the words of a batch of the values (U,) of distinct words; 0 for a batch without words."""
    counts = x.counts()
    return torch.dot(values, counts) / counts.sum().clamp_min(1)
