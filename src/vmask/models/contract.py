"""The seam: one place in any model where the word vectors can be edited, by a mask or by anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask.masks.contract import Embedded, Masked, WordMask
from vmask.text.batches import Batch
from vmask.text.words import PAD

Edit: TypeAlias = Callable[[Embedded], Masked]
"""What may be done at the seam: look at the word vectors, answer with a scale and perhaps a shift for each position."""


Reader: TypeAlias = Callable[[NDArray[np.int32], NDArray[np.int64], int], Tensor]
"""(R, C) logits of many texts that are made of a few words: (R, T) which word stands at every position, 0 behind the
end; (R,) words of each text; how many texts to compute at a time, at most. Texts that begin alike stand together."""


ZeroReader: TypeAlias = Callable[[NDArray[np.int32], NDArray[np.bool_], int], Tensor]
"""(R, C) logits of one text, (T,) its words, with words zeroed: (R, T) which are kept; and how many rows to compute
together, at most."""


class Encoder(nn.Module):
    """From a batch of texts to logits, with a seam behind the word vectors.

    Attributes:
        Options: dataclass of the model's own options (`model__…` in Python, `--model.…` on the command line).
        dim: D, the size of a vector at the seam.
        recipe: training defaults of the model; the mask's recipe and the user's options override them.
        paper_code: options that reproduce the paper's released code, by what they belong to (`model`, `mask`,
            `train`).
        version: of its numbers; raised when they change on purpose, so that older results can be told apart.
        reads: what its texts are cut into: `words` of a vocabulary with vectors, or `pieces` of a tokenizer of its own.
    """

    Options: ClassVar[type[Any]]
    reads: ClassVar[Literal["words", "pieces"]] = "words"
    recipe: ClassVar[Mapping[str, Any]] = {}
    paper_code: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    version: ClassVar[int] = 1
    dim: int

    @classmethod
    def recipe_for(cls, options: Any) -> Mapping[str, Any]:
        """Training defaults of the model with these options of its own; by default `recipe`."""
        return cls.recipe

    @classmethod
    def title_for(cls, name: str, options: Any) -> str:
        """What people call the model of this name with these options; by default the name in capitals."""
        return name.upper()

    def forward(self, batch: Batch, edit: Edit | None = None) -> Tensor:
        """(B, C) logits of the texts, with `edit` applied at the seam."""
        raise NotImplementedError

    def vectors(self, ids: Tensor) -> Tensor:
        """(U, D) vectors of the ids (U,), as they stand at the seam."""
        raise NotImplementedError

    def words(self, ids: Tensor) -> Tensor:
        """True at words, False at padding and special tokens; by id alone, so that a mask can be folded."""
        return ids != PAD

    def embedded(self, batch: Batch) -> Embedded:
        """What an edit gets to see of a batch, without dropout."""
        return Embedded(self.vectors(batch.distinct), batch.index, self.words(batch.ids))

    def freeze_embeddings(self) -> None:
        """Train the vectors no further."""
        raise NotImplementedError

    def reader(self, seen: Tensor) -> Reader | None:
        """A faster way than `encode` to read many texts over few words; None where the model has none.

        Args:
            seen: (U, D) what is seen of each of the words behind the mask; the first is padding, all zeros.
        """
        return None

    def zero_reader(self, seen: Tensor) -> ZeroReader | None:
        """A faster way than `reader` to read one text with many patterns of zeroed words; None where there is none.

        Args:
            seen: as of `reader`.
        """
        return None

    @property
    def head(self) -> nn.Module:
        """The last layer."""
        raise NotImplementedError


class WordEncoder(Encoder):
    """An encoder over a table of word vectors.

    Args:
        embedding: (V, D) word vectors; row 0 is padding and zero.
        classes: C.
        options: an instance of the model's `Options`.
    """

    def __init__(self, embedding: nn.Embedding, classes: int, options: Any) -> None:
        super().__init__()
        self.embedding = embedding
        self.dim = embedding.embedding_dim
        self.options = options

    def forward(self, batch: Batch, edit: Edit | None = None) -> Tensor:
        """(B, C) logits; the vectors of the batch's distinct words are looked up once."""
        x = self.embedded(batch)
        if self.training:
            x = self.dropped(x)
        return self.encode(x, batch.lengths, None if edit is None else edit(x))

    def vectors(self, ids: Tensor) -> Tensor:
        """(U, D) rows of the table."""
        vectors: Tensor = self.embedding(ids)
        return vectors

    def freeze_embeddings(self) -> None:
        """Train the word vectors no further."""
        self.embedding.requires_grad_(False)

    def dropped(self, x: Embedded) -> Embedded:
        """The vectors after dropout in front of the seam; by default there is none."""
        return x

    def encode(self, x: Embedded, lengths: Tensor, masked: Masked | None) -> Tensor:
        """(B, C) logits of what is seen of the words; `lengths` (B,) words of each text."""
        raise NotImplementedError


@dataclass(frozen=True)
class Output:
    """What a masked classifier answers.

    Attributes:
        logits: (B, C).
        masked: what the mask did.
        words: (B, T) where the words are.
    """

    logits: Tensor
    masked: Masked
    words: Tensor


class MaskedClassifier(nn.Module):
    """An encoder with a word mask at its seam: `p(y | R, x)` with `R` from the mask."""

    def __init__(self, encoder: Encoder, mask: WordMask) -> None:
        super().__init__()
        self.encoder = encoder
        self.mask = mask

    def forward(self, batch: Batch, keep: Tensor | None = None) -> Output:
        """Mask and classify a batch; `keep` (B, T) is how much is left of what the mask shows of each position."""
        seen: list[Masked] = []

        def edit(x: Embedded) -> Masked:
            seen.append(self.mask(x))
            return seen[-1] if keep is None else seen[-1].times(keep)

        logits = self.encoder(batch, edit)
        return Output(logits, seen[0], self.encoder.words(batch.ids))


def max_over_time(states: Tensor, counted: Tensor) -> Tensor:
    """(B, H) largest value of `states` (B, T, H) over the steps where `counted` (B, T); 0 for a row without any."""
    hidden = states.masked_fill(~counted.unsqueeze(-1), torch.finfo(states.dtype).min)
    return torch.where(counted.any(1, keepdim=True), hidden.amax(1), 0.0)
