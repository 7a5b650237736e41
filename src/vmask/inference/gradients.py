"""What a classifier sees of the words at the seam, as tensors for gradients."""

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
from vmask.inference.output import ToProbabilities
from vmask.masks.contract import Embedded, Masked
from vmask.models.contract import MaskedClassifier
from vmask.text.batches import Batch

MAX_POSITIONS = 4096
"""Padded positions per gradient computation. It keeps the activations of all layers, so this is a quarter of what a
prediction computes at a time."""

Answer: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps vectors (S, T, D), index (S, T) and lengths (S,) to probabilities (S, C), differentiable in the vectors."""

_CUDNN = Lock()


@dataclass(frozen=True)
class AtSeam:
    """Texts of similar length as the classifier sees them, behind the word mask.

    Attributes:
        rows: (B,) numbers of the texts.
        z: (B, T, D) what is seen at every position, `scale * x + shift` of the mask; without a gradient.
        words: (B, T) True at words of the text, or pieces of them.
        index: (B, T) further input of `answer`, one row per text; it may be repeated like the vectors.
        lengths: (B,) likewise.
        probabilities: (B, C) predictions for the texts.
        answer: prediction of the classifier for other vectors at the seam.
        most: maximum number of rows per call of `answer`; never fewer than B.
        baseline: (D,) vector in place of a hidden word.
    """

    rows: NDArray[np.int64]
    z: Tensor
    words: Tensor
    index: Tensor
    lengths: Tensor
    probabilities: Tensor
    answer: Answer
    most: int
    baseline: Tensor


def look(
    model: MaskedClassifier,
    output: ToProbabilities,
    batch: Batch,
    rows: NDArray[np.int64],
    docs: Sequence[Doc],
    most: int,
) -> AtSeam:
    """Run a batch and keep the vectors at the seam.

    Args:
        model: the classifier.
        output: maps logits to probabilities.
        batch: the texts as tensors, on the device of the model.
        rows: (B,) their numbers.
        docs: the B texts.
        most: maximum number of rows computed at a time.
    """
    seen: list[Tensor] = []

    def edit(x: Embedded) -> Masked:
        masked = model.masked(x, batch.ids)
        seen.append(masked.apply(x.dense()).float())
        return masked

    with torch.no_grad():
        probabilities = output(model.encoder(batch, edit).float())
    words = torch.from_numpy(word_positions(docs, batch.ids.shape[1])).to(batch.ids.device)
    answer = answering(model, output, batch.distinct)
    z = seen[0].detach()
    baseline = z.new_zeros(z.shape[-1]) if model.mask.baseline is None else model.mask.baseline.detach()
    return AtSeam(rows, z, words, batch.index, batch.lengths, probabilities, answer, most, baseline)


def answering(model: MaskedClassifier, output: ToProbabilities, distinct: Tensor) -> Answer:
    """A function that predicts from given vectors instead of those behind the mask.

    Args:
        model: the classifier.
        output: maps logits to probabilities.
        distinct: (U,) the ids that `index` refers to; a model may need them to recognize special tokens.
    """
    has_rnn = any(isinstance(module, nn.RNNBase) for module in model.modules())

    def answer(z: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        def edit(x: Embedded) -> Masked:
            nothing = torch.zeros_like(z[..., 0])
            return Masked(nothing, z, nothing, nothing.new_zeros(()))

        with _no_cudnn() if has_rnn and z.is_cuda else nullcontext():
            logits = model.encoder(Batch(distinct[index], lengths, distinct, index), edit)
        return output(logits.float())

    return answer


def word_positions(docs: Sequence[Doc], width: int) -> NDArray[np.bool_]:
    """(B, T) True at words of the texts, padded to `width`: the positions that are hidden with all words.

    Special tokens of the tokenizer and pieces that belong to no word are not included.
    """
    positions = np.zeros((len(docs), width), np.bool_)
    for row, doc in zip(positions, docs, strict=True):
        row[slice(len(doc.ids)) if doc.owners is None else doc.owners[:, 0]] = True
    return positions


@contextmanager
def _no_cudnn() -> Iterator[None]:
    """Disable cuDNN, which has no gradient of recurrent layers in eval mode.

    The switch is global, so only one thread at a time.
    """
    with _CUDNN, torch.backends.cudnn.flags(enabled=False):
        yield
