"""The baseline vector of a mask: which one it is for an encoder, and what stands in it."""

from __future__ import annotations

import torch
from torch import Tensor

from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.masks.contract import WordMask
from vmask.models.contract import Encoder
from vmask.training.run_config import Plan

NAMES = {
    "zero": "a vector of zeros",
    "mean": "the mean of the word vectors",
    "mask_token": "the vector of the mask token",
    "learnt": "a learnt vector",
}


def baseline_of(plan: Plan, encoder: Encoder, mask_token: int | None) -> str:
    """The baseline that a training takes: the one that is asked for, or what `auto` stands for.

    Args:
        plan: the options.
        encoder: the model.
        mask_token: id of its mask token, if it has one.

    Raises:
        ConfigError: if it cannot work with this model.
    """
    kind: str | None = getattr(plan.mask_options, "baseline", None)
    default = _default(encoder, mask_token)
    if kind in (None, "auto"):
        return "zero" if kind is None else default
    if kind == "mask_token" and mask_token is None:
        raise ConfigError("baseline is mask_token, but the model has no mask token. Use --mask.baseline mean.")
    if kind in ("mean", "mask_token") and not encoder.by_word:
        raise ConfigError(
            f"baseline is {kind}, but behind the block (placement=block) a word has another vector at every place. "
            "Use --mask.baseline zero or learnt."
        )
    if kind == "zero" and default != "zero" and MASKS.get(plan.mask).is_soft(plan.mask_options):
        raise ConfigError(
            "baseline is zero, but this encoder puts a LayerNorm right behind its word vectors, which undoes a scaling "
            f"towards zero: {plan.mask} would do nothing at inference. Use --mask.baseline {default}."
        )
    return str(kind)


@torch.no_grad()
def set_baseline(mask: WordMask, kind: str, encoder: Encoder, mask_token: int | None) -> None:
    """Put the vector of a baseline into a mask, where it is not zero. A learnt one starts where `auto` would stay."""
    if kind == "learnt":
        kind = _default(encoder, mask_token)
    if kind == "zero":
        return
    vector = _vector(kind, encoder, mask_token)
    if mask.baseline is None:
        mask.baseline = vector.clone()
    else:
        mask.baseline.copy_(vector)


def _default(encoder: Encoder, mask_token: int | None) -> str:
    """What `auto` stands for."""
    if encoder.scale_matters:
        return "zero"
    return "mean" if mask_token is None else "mask_token"


def _vector(kind: str, encoder: Encoder, mask_token: int | None) -> Tensor:
    """(D,) the mean over the words of the encoder's table, or the vector of its mask token."""
    device = next(encoder.parameters()).device
    if kind == "mask_token":
        return encoder.vectors(torch.tensor([mask_token], device=device))[0].float()
    ids = torch.arange(encoder.table_size, device=device)
    ids = ids[encoder.words(ids)]
    total = torch.zeros(encoder.dim, dtype=torch.float64)
    for chunk in torch.split(ids, 16_384):
        total += encoder.vectors(chunk).cpu().double().sum(0)  # not every device has float64
    return (total / len(ids)).to(device, torch.float32)
