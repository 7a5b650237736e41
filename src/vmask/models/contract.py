"""The seam: one place in any model where the word vectors can be edited, by a mask or by anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask.config import SINGLE_LABEL
from vmask.masks.contract import Embedded, Masked, WordMask
from vmask.text.batches import Batch
from vmask.text.words import PAD

Edit: TypeAlias = Callable[[Embedded], Masked]
"""An edit at the seam: maps the word vectors to a scale and optionally a shift for each position."""


Reader: TypeAlias = Callable[[NDArray[np.int32], NDArray[np.int64], int], Tensor]
"""(R, C) logits of many texts that consist of a few words, from (R, T) the word at each position, 0 after the end; (R,)
number of words of each text; and the maximum number of texts at a time. Texts with the same prefix are adjacent."""


ZeroReader: TypeAlias = Callable[[NDArray[np.int32], NDArray[np.bool_], int], Tensor]
"""(R, C) logits of one text with words zeroed, from (T,) its words; (R, T) which are kept; and the maximum number of
rows at a time."""


class Encoder(nn.Module):
    """From a batch of texts to logits, with a seam behind the word vectors.

    Attributes:
        Options: dataclass of the model's own options (`model__…` in Python, `--model.…` on the command line).
        dim: D, the size of a vector at the seam.
        recipe: training defaults of the model; the mask's recipe and the user's options override them.
        paper_code: options that reproduce the paper's released code, by what they belong to (`model`, `mask`,
            `data`, `train`).
        version: version of its numbers; raised when they change on purpose, to distinguish older results.
        scale_matters: whether it makes a difference how large a vector is at the seam; see `Transformer`.
        reads: units of its texts: `words` of a vocabulary with vectors, or `pieces` of its own tokenizer.
        reads_many: whether `reader` is quicker than `encode` also for many different texts.
    """

    Options: ClassVar[type[Any]]
    reads: ClassVar[Literal["words", "pieces"]] = "words"
    reads_many: ClassVar[bool] = False
    recipe: ClassVar[Mapping[str, Any]] = {}
    paper_code: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    version: ClassVar[int] = 1
    dim: int
    scale_matters: bool = True

    @classmethod
    def recipe_for(cls, options: Any) -> Mapping[str, Any]:
        """Training defaults of the model with these options; by default `recipe`."""
        return cls.recipe

    @classmethod
    def title_for(cls, name: str, options: Any) -> str:
        """Display name of the model with these options; by default the name in capitals."""
        return name.upper()

    def forward(self, batch: Batch, edit: Edit | None = None) -> Tensor:
        """(B, C) logits of the texts, with `edit` applied at the seam."""
        raise NotImplementedError

    def vectors(self, ids: Tensor) -> Tensor:
        """(U, D) vectors of the ids (U,) at the seam."""
        raise NotImplementedError

    @property
    def by_word(self) -> bool:
        """Whether a word has the same vector at the seam wherever it stands, that of `vectors`."""
        return True

    @property
    def table_size(self) -> int:
        """V, the number of ids."""
        raise NotImplementedError

    def words(self, ids: Tensor) -> Tensor:
        """True at words, False at padding and special tokens; by id alone, so that a mask can be folded."""
        return ids != PAD

    def embedded(self, batch: Batch) -> Embedded:
        """The input of an edit for a batch, without dropout."""
        return Embedded(self.vectors(batch.distinct), batch.index, self.words(batch.ids))

    @property
    def embeddings(self) -> nn.Module:
        """The module of the word vectors; where positions and types are added to them in a block, that block."""
        raise NotImplementedError

    def freeze_embeddings(self) -> None:
        """Exclude the vectors from training."""
        self.embeddings.requires_grad_(False)

    def reader(self, seen: Tensor) -> Reader | None:
        """A faster way than `encode` to read many texts with few distinct words; None if the model has none.

        Args:
            seen: (U, D) what is seen of each word behind the mask; the first is padding, all zeros.
        """
        return None

    def zero_reader(self, seen: Tensor) -> ZeroReader | None:
        """A faster way than `reader` to read one text with many patterns of zeroed words; None if there is none.

        Args:
            seen: as in `reader`.
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

    @property
    def table_size(self) -> int:
        """V, the number of words."""
        return self.embedding.num_embeddings

    @property
    def embeddings(self) -> nn.Module:
        """The table of word vectors."""
        return self.embedding

    def dropped(self, x: Embedded) -> Embedded:
        """The vectors after dropout before the seam; by default without dropout."""
        return x

    def encode(self, x: Embedded, lengths: Tensor, masked: Masked | None) -> Tensor:
        """(B, C) logits; `lengths` (B,) is the number of words of each text."""
        raise NotImplementedError


@dataclass(frozen=True)
class Output:
    """Output of a masked classifier.

    Attributes:
        logits: (B, C).
        masked: output of the mask.
        words: (B, T) True at words.
    """

    logits: Tensor
    masked: Masked
    words: Tensor


class MaskedClassifier(nn.Module):
    """An encoder with a word mask at its seam: `p(y | R, x)` with `R` from the mask.

    Attributes:
        edits: (V,) what a person decided about each id, whatever the mask learnt: -1 hidden, 1 seen, 0 as learnt; None
            without any edit.
        task: how many labels a text has, of which `to_probabilities` makes probabilities.
    """

    def __init__(self, encoder: Encoder, mask: WordMask, task: str = SINGLE_LABEL) -> None:
        super().__init__()
        self.task = task
        self.encoder = encoder
        self.mask = mask
        self.edits: Tensor | None
        self.register_buffer("edits", None)  # None is no part of the state

    def masked(self, x: Embedded, ids: Tensor) -> Masked:
        """Mask the words of a batch with these ids (B, T), and apply the edits."""
        return masked_and_edited(self.mask, x, self.edits, ids)

    def forward(self, batch: Batch, keep: Tensor | None = None) -> Output:
        """Mask and classify a batch; `keep` (B, T) is how much is kept of each position, the rest is the baseline."""
        seen: list[Masked] = []

        def edit(x: Embedded) -> Masked:
            seen.append(self.masked(x, batch.ids))
            return seen[-1] if keep is None else seen[-1].times(keep, self.mask.baseline)

        logits = self.encoder(batch, edit)
        return Output(logits, seen[0], self.encoder.words(batch.ids))


def masked_and_edited(mask: WordMask, x: Embedded, edits: Tensor | None, ids: Tensor) -> Masked:
    """What a mask does to the words of a batch with these ids (B, T), after the edits (V,) of a person.

    In training it learns nothing from words that a person has hidden.
    """
    decided = None if edits is None else edits[ids]
    if mask.training and decided is not None:
        x = replace(x, words=x.words & (decided >= 0))
    masked: Masked = mask(x)
    return masked if decided is None else masked.edited(decided, mask.hidden_vector)


def max_over_time(states: Tensor, counted: Tensor) -> Tensor:
    """(B, H) largest value of `states` (B, T, H) over the steps where `counted` (B, T); 0 for a row without steps."""
    hidden = states.masked_fill(~counted.unsqueeze(-1), torch.finfo(states.dtype).min)
    return torch.where(counted.any(1, keepdim=True), hidden.amax(1), 0.0)
