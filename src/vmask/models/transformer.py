"""Any encoder that `transformers` can load for sequence classification: a folder, a hub name, or `minilm`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from vmask.config import option
from vmask.errors import ConfigError, VmaskError
from vmask.masks.contract import Embedded, Masked
from vmask.models import MODELS
from vmask.models.contract import Edit, Encoder
from vmask.pretrained.encoders import public_name
from vmask.text.batches import Batch, collate

_AT_SEAM: ContextVar[tuple[nn.Module, Callable[[Tensor], Tensor]] | None] = ContextVar("at_seam", default=None)
"""The module at whose output the seam is and what happens there, in this thread. The hook that reads it stays in place
for good: hooks that are added for a call and taken away again mix up the answers of threads that share a model."""


SCALE_MATTERS = 0.005
"""Halving the vectors must move an answer by this share of what hiding them does. With random weights it is 0.2 and
more for most encoders, and 0.0001 and less where a LayerNorm follows at once."""


@dataclass(frozen=True)
class TransformerOptions:
    """Options of `transformer`."""

    encoder: str = option("minilm", "a folder, a hub name, or `minilm`; `--model NAME` is short for this")
    placement: Literal["word", "block"] = option(
        "word",
        "where the mask acts: on the word vectors, or behind position, type and LayerNorm as released (never foldable)",
    )
    mask_special_tokens: bool = option(False, "mask the tokens that the tokenizer adds too, as released")


@MODELS.register("transformer")
class Transformer(Encoder):
    """A pretrained encoder with its classification head, its seam behind the word vectors.

    Args:
        network: a `transformers` model for sequence classification.
        special: ids that are never words.
        options: an instance of `TransformerOptions`.

    Attributes:
        scale_matters: whether it makes a difference how large a vector is at the seam. Where a LayerNorm stands right
            behind the word vectors, as in ModernBERT, it hardly does: a word can be hidden there, but not be halved.
    """

    Options = TransformerOptions
    reads = "pieces"
    recipe = {
        "stages": 2,
        "epochs": 5,
        "patience": 0,
        "batch_size": 32,
        "optimizer": "adamw",
        "weight_decay": 0.01,
        "learning_rate_schedule": "linear",
        "warmup": 0.1,
        "precision": "auto",
        "clip": 1.0,
        "learning_rate": 3e-5,
        "min_steps": 300,
        "mask_learning_rate": 5e-3,  # fresh weights beside pretrained ones; of 1e-4, 1e-3, 5e-3 the best on TREC's dev
    }
    paper_code = {
        "model": {"placement": "block", "mask_special_tokens": True},
        "mask": {"hidden": 100},
        "train": {
            "epochs": 10,
            "batch_size": 8,
            "learning_rate": 1e-5,
            "mask_learning_rate": 1e-5,
            "warmup": 0.0,
            "clip": 10.0,
        },
    }

    @classmethod
    def title_for(cls, name: str, options: Any) -> str:
        """The name of the encoder, without the folders of this machine."""
        return public_name(options.encoder)

    def __init__(self, network: Any, special: Sequence[int], options: TransformerOptions) -> None:
        super().__init__()
        self.network = network
        self.options = options
        size = network.get_input_embeddings().weight.shape[0]
        is_word = torch.ones(size, dtype=torch.bool)
        pad = network.config.pad_token_id
        never = [pad] if options.mask_special_tokens else [*special, pad]
        is_word[[id for id in never if id is not None and id < size]] = False
        self.is_word: Tensor
        self.register_buffer("is_word", is_word, persistent=False)
        if _edit_output not in self._seam()._forward_hooks.values():
            self._seam().register_forward_hook(_edit_output)
        self.dim = self._probe()

    @classmethod
    def recipe_for(cls, options: TransformerOptions) -> Mapping[str, Any]:
        """Training defaults; the small MiniLM encoders learn best in larger steps."""
        small = "minilm" in options.encoder.lower()
        return {**cls.recipe, "learning_rate": 1e-4} if small else cls.recipe

    @property
    def head(self) -> nn.Module:
        """The last layer."""
        for name in ("classifier", "score", "classification_head"):
            if isinstance(head := getattr(self.network, name, None), nn.Module):
                return head
        raise ConfigError(f"{type(self.network).__name__} has no head that we know. Use --clip-scope all.")

    def forward(self, batch: Batch, edit: Edit | None = None) -> Tensor:
        """(B, C) logits of the texts, with `edit` applied at the seam."""
        if edit is None:
            return self.run(batch.ids, batch.attend)

        def at_seam(x: Tensor) -> Tensor:
            with torch.autocast(x.device.type, enabled=False):  # a mask is small: in float32, whatever the rest is in
                return edit(self._embedded(batch, x.float())).apply(x.float()).to(x.dtype)

        return self.run(batch.ids, batch.attend, at_seam)

    def run(self, ids: Tensor, attend: Tensor, at_seam: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """(B, C) logits of ids (B, T) where `attend` (B, T).

        Args:
            ids: token ids.
            attend: True inside the texts.
            at_seam: turns the vectors (B, T, D) at the seam into what is seen of them.
        """
        with _context(None if at_seam is None else (self._seam(), at_seam)):
            logits: Tensor = self.network(input_ids=ids, attention_mask=attend.long()).logits
        return logits

    def vectors(self, ids: Tensor) -> Tensor:
        """(U, D) what the encoder's table of vectors has for the ids."""
        with _context(None):
            vectors: Tensor = self.network.get_input_embeddings()(ids)
        return vectors

    @property
    def by_word(self) -> bool:
        """Behind the block a word has another vector at every place."""
        return self.options.placement == "word"

    @property
    def table_size(self) -> int:
        """V, the number of tokens."""
        return len(self.is_word)

    def words(self, ids: Tensor) -> Tensor:
        """True at ids that are no special token."""
        return self.is_word[ids]

    def embedded(self, batch: Batch) -> Embedded:
        """The input of an edit for a batch; behind the block this needs a run of the network up to there."""
        if self.options.placement == "word":
            return super().embedded(batch)
        seen: list[Embedded] = []

        def stop(x: Embedded) -> Masked:
            seen.append(x)
            raise _Enough

        was_training = self.training
        self.eval()
        try:
            self.forward(batch, stop)
        except _Enough:
            pass
        finally:
            self.train(was_training)
        return seen[0]

    @property
    def embeddings(self) -> nn.Module:
        """The word vectors and their block (positions, types, LayerNorm)."""
        return self._block()

    def _seam(self) -> nn.Module:
        """The module whose output is edited."""
        table: nn.Module = self.network.get_input_embeddings()
        return self._block() if self.options.placement == "block" else table

    def _block(self) -> nn.Module:
        """The module that adds positions and types to the word vectors; where there is none, the table of vectors.

        Raises:
            ConfigError: where the mask shall act behind the block and there is none.
        """
        table: nn.Module = self.network.get_input_embeddings()
        base = self.network.base_model
        path = next((name for name, module in base.named_modules() if module is table), "")
        parent, dot, _ = path.rpartition(".")
        if dot:
            block: nn.Module = base.get_submodule(parent)
            return block
        if self.options.placement == "block":
            raise ConfigError(
                f"{type(self.network).__name__} has no embedding block of its own. Use --model.placement word."
            )
        return table

    def _embedded(self, batch: Batch, vectors: Tensor) -> Embedded:
        words = self.words(batch.ids)
        if self.options.placement == "word":
            return Embedded(self.vectors(batch.distinct), batch.index, words)
        index = torch.arange(words.numel(), device=words.device).view_as(words)
        return Embedded(vectors.flatten(0, 1), index, words)

    @torch.no_grad()
    def _probe(self) -> int:
        """D at the seam, after a check that the seam works."""
        config = self.network.config
        last = [] if config.eos_token_id is None else [config.eos_token_id]  # some need the end of a text
        ids = np.array([*self.is_word.nonzero().flatten()[-3:].tolist(), *last], np.int32)
        batch = collate([ids], pad=config.pad_token_id or 0)
        seen: list[Embedded] = []

        def times(factor: float) -> Edit:
            def edit(x: Embedded) -> Masked:
                seen.append(x)
                scale = torch.where(x.words, factor, 1.0)
                return Masked(scale, None, torch.zeros_like(scale), scale.new_zeros(()))

            return edit

        name = type(self.network).__name__
        was_training = self.training
        self.eval()
        try:
            plain, edited, hidden = (self.forward(batch, edit) for edit in (None, times(0.5), times(0.0)))
        except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise VmaskError(f"{name} cannot read a plain text: {error}. Choose another encoder.") from error
        self.train(was_training)
        if len(seen) != 2:
            raise VmaskError(
                f"{name} looks up its word vectors {len(seen)} times in two texts, not twice, so a word mask cannot be "
                "put there. Choose an encoder such as BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT or DeBERTa."
            )
        if torch.equal(plain, hidden):
            raise VmaskError(f"{name} does not mind a change of its word vectors. Choose another encoder.")
        by_halving, by_hiding = (float((logits - plain).abs().max()) for logits in (edited, hidden))
        self.scale_matters = by_halving > SCALE_MATTERS * by_hiding
        return int(seen[0].table.shape[1])


class _Enough(Exception):
    """The network has run as far as the seam."""


def _edit_output(module: nn.Module, inputs: Any, output: Tensor) -> Tensor | None:
    """The permanent hook; its effect is set by the context, not by adding and removing it."""
    context = _AT_SEAM.get()
    return context[1](output) if context is not None and context[0] is module else None


@contextmanager
def _context(seam: tuple[nn.Module, Callable[[Tensor], Tensor]] | None) -> Iterator[None]:
    token = _AT_SEAM.set(seam)
    try:
        yield
    finally:
        _AT_SEAM.reset(token)
