"""What a classifier sees of its words at the seam, as tensors that a gradient can be taken at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask.inference.contract import Doc
from vmask.inference.output import to_probabilities
from vmask.masks.contract import Embedded, Masked
from vmask.models.contract import MaskedClassifier
from vmask.text.batches import Batch

MAX_POSITIONS = 4096
"""Padded positions that a gradient is taken at in one go. A network keeps all its layers until the gradient is there,
so this is a quarter of what a prediction computes at a time."""

Answer: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From vectors (S, T, D), index (S, T) and lengths (S,) to probabilities (S, C), differentiable in the vectors."""

_CUDNN = Lock()


@dataclass(frozen=True)
class AtSeam:
    """Texts of like length as the classifier sees them, behind the word mask.

    Attributes:
        rows: (B,) which of the texts they are.
        z: (B, T, D) what is seen at every position, `scale * x + shift` of the mask; without a gradient.
        words: (B, T) True where a word of the text stands, or a piece of one.
        index: (B, T) and
        lengths: (B,) what `answer` wants beside the vectors, a row a text; they may be repeated like the vectors.
        probabilities: (B, C) of the texts as they are.
        answer: what the classifier would say if it saw other vectors.
        most: rows that `answer` should be given at a time, at most; never fewer than B.
    """

    rows: NDArray[np.int64]
    z: Tensor
    words: Tensor
    index: Tensor
    lengths: Tensor
    probabilities: Tensor
    answer: Answer
    most: int


def look(model: MaskedClassifier, batch: Batch, rows: NDArray[np.int64], docs: Sequence[Doc], most: int) -> AtSeam:
    """Run a batch and keep what stood at the seam.

    Args:
        model: the classifier.
        batch: the texts as tensors, where the model is.
        rows: (B,) their numbers.
        docs: the B texts themselves.
        most: rows that may be computed at a time.
    """
    seen: list[Tensor] = []

    def edit(x: Embedded) -> Masked:
        masked = model.mask(x)
        seen.append(masked.apply(x.dense()).float())
        return masked  # type: ignore[no-any-return]

    with torch.no_grad():
        probabilities = to_probabilities(model.encoder(batch, edit).float())
    words = torch.from_numpy(word_positions(docs, batch.ids.shape[1])).to(batch.ids.device)
    answer = answering(model, batch.distinct)
    return AtSeam(rows, seen[0].detach(), words, batch.index, batch.lengths, probabilities, answer, most)


def answering(model: MaskedClassifier, distinct: Tensor) -> Answer:
    """What the classifier says to given vectors in the place of those that its mask would show it.

    Args:
        model: the classifier.
        distinct: (U,) the ids that `index` counts; a model may look at them for what is no word.
    """
    has_rnn = any(isinstance(module, nn.RNNBase) for module in model.modules())

    def answer(z: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        def edit(x: Embedded) -> Masked:
            nothing = torch.zeros_like(z[..., 0])
            return Masked(nothing, z, nothing, nothing.new_zeros(()))

        with _no_cudnn() if has_rnn and z.is_cuda else nullcontext():
            logits = model.encoder(Batch(distinct[index], lengths, distinct, index), edit)
        return to_probabilities(logits.float())

    return answer


def word_positions(docs: Sequence[Doc], width: int) -> NDArray[np.bool_]:
    """(B, T) where the words of texts stand, padded to `width`: the positions that hiding all words empties.

    Special tokens that the tokenizer added and pieces that belong to no word are not among them.
    """
    found = np.zeros((len(docs), width), np.bool_)
    for row, doc in zip(found, docs, strict=True):
        row[slice(len(doc.ids)) if doc.owners is None else doc.owners[:, 0]] = True
    return found


@contextmanager
def _no_cudnn() -> Iterator[None]:
    """Recurrent layers without cuDNN, which has no gradient for them in eval mode.

    It is a switch for the whole process, so one thread at a time.
    """
    with _CUDNN, torch.backends.cudnn.flags(enabled=False):
        yield
