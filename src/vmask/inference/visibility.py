"""Which words a model sees at all. Hidden words become one id before any arithmetic, so they change no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.inference.contract import Doc
from vmask.inference.folding import CHUNK
from vmask.masks.contract import Embedded
from vmask.models.contract import MaskedClassifier


def may_hide(model: MaskedClassifier) -> bool:
    """Whether the model can hide a word as a whole: by a mask of zeros and ones, or by an edit."""
    return model.edits is not None or binds(model)


def binds(model: MaskedClassifier) -> bool:
    """Whether the mask shows a word or hides it, wherever it stands: then a score below 0.5 means hidden."""
    mask = model.mask
    return mask.ranks and mask.word_level() and not mask.is_soft(mask.options) and model.encoder.by_word


@torch.no_grad()
def visible_ids(model: MaskedClassifier) -> NDArray[np.bool_] | None:
    """(V,) whether anything is seen of each id, by what the mask does to its vector; None if of all of them."""
    if not may_hide(model):
        return None
    encoder, mask = model.encoder, model.mask
    device = next(encoder.parameters()).device
    ids = torch.arange(encoder.table_size, device=device)
    words = encoder.words(ids)
    visible = torch.ones_like(words)
    if binds(model):
        parts = []
        for chunk in torch.split(ids, CHUNK):
            x = Embedded(
                encoder.vectors(chunk), torch.arange(len(chunk), device=device).view(-1, 1), words[chunk, None]
            )
            parts.append(mask(x).scale.view(-1) != 0)
        visible = torch.cat(parts)
    if model.edits is not None:
        visible = torch.where(model.edits == 0, visible, model.edits > 0)
    visible = visible | ~words
    return None if bool(visible.all()) else visible.cpu().numpy()


@torch.no_grad()
def claimed_ids(model: MaskedClassifier) -> NDArray[np.bool_] | None:
    """(V,) whether the model says that it sees an id, by its scores and edits; None if it hides none by its word.

    What it says and what it does (`visible_ids`) are the same, unless a mask leaks.
    """
    if not may_hide(model):
        return None
    encoder = model.encoder
    ids = torch.arange(encoder.table_size, device=next(encoder.parameters()).device)
    seen = torch.ones_like(encoder.words(ids))
    if binds(model):
        seen = torch.cat([model.mask.scores_of(encoder.vectors(chunk)) >= 0.5 for chunk in torch.split(ids, CHUNK)])
    if model.edits is not None:
        seen = torch.where(model.edits == 0, seen, model.edits > 0)
    claimed: NDArray[np.bool_] = (seen | ~encoder.words(ids)).cpu().numpy()
    return claimed


def hidden_words(doc: Doc, visible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(W,) whether each word of a text is hidden, all pieces of it, if these ids (V,) are visible."""
    seen = visible[doc.ids if doc.text_ids is None else doc.text_ids]
    if doc.owners is None:
        return ~seen
    position, word = doc.owners.T
    hidden = np.ones(len(doc.spans), np.bool_)
    np.logical_and.at(hidden, word, ~seen[position])
    return hidden


def one_hidden_id(edits: Tensor) -> Tensor:
    """(V,) each id, and for those that edits (V,) hide the first of them, as in `with_hidden`."""
    ids = torch.arange(len(edits), device=edits.device)
    hidden = edits < 0
    return torch.where(hidden, ids[hidden][0], ids) if bool(hidden.any()) else ids


def with_hidden(docs: Sequence[Doc], visible: NDArray[np.bool_] | None) -> list[Doc]:
    """The texts with all hidden ids replaced by the same one, the first of them.

    Args:
        docs: the texts.
        visible: (V,) from `visible_ids`.
    """
    if visible is None:
        return list(docs)
    same = np.int32(np.flatnonzero(~visible)[0])
    return [_with_hidden(doc, visible, same) for doc in docs]


def _with_hidden(doc: Doc, visible: NDArray[np.bool_], same: np.int32) -> Doc:
    seen = visible[doc.ids]
    if seen.all():
        return doc
    hidden = hidden_words(doc, visible)
    return replace(doc, ids=np.where(seen, doc.ids, same), hidden=hidden if hidden.any() else None, text_ids=doc.ids)
