"""Copies of a model with weights drawn anew, from the head down: what an explanation of it must not survive."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress

import torch
from torch import Tensor, nn

from vmask._core.random_streams import derive
from vmask.errors import ConfigError
from vmask.models.contract import Encoder, MaskedClassifier

DEPTHS = ("head", "encoder", "mask", "all")
"""Depths in their order; each has all before it randomized too. The last adds the word vectors."""


def cascade(model: MaskedClassifier, seed: int) -> Iterator[tuple[str, MaskedClassifier]]:
    """Copies of the model with ever more of its weights randomized, with the name of the depth.

    Depths are the head, the rest of the encoder, the mask's network and the word vectors; one without weights is left
    out. Every tensor becomes normal draws with its own mean and standard deviation, so that the scale of all layers
    stays what it was. The draws depend on the seed and the name of the tensor. Copies share the tensors in which they
    do not differ, so all of them together need the memory of one more model.
    """
    names = _names_by_depth(model)
    for depth in DEPTHS:
        if not names[depth]:
            continue
        shared = {id(tensor): tensor for name, tensor in model.named_parameters() if name not in names[depth]}
        model = copy.deepcopy(model, shared)
        for name in names[depth]:
            _draw_anew(model.get_parameter(name), derive(seed, "randomized", name), _padding(model, name))
        yield depth, model


def _names_by_depth(model: MaskedClassifier) -> dict[str, list[str]]:
    """Names of the parameters that are randomized first at each depth."""
    head = {id(tensor) for tensor in _head(model.encoder)}
    vectors = {id(tensor) for tensor in model.encoder.embeddings.parameters()}
    names: dict[str, list[str]] = {depth: [] for depth in DEPTHS}
    for name, tensor in model.named_parameters():
        if name.startswith("mask."):
            depth = "mask"
        elif id(tensor) in vectors:
            depth = "all"
        else:
            depth = "head" if id(tensor) in head else "encoder"
        names[depth].append(name)
    return names


def _head(encoder: Encoder) -> list[nn.Parameter]:
    """Parameters of the last layer; none if it is not known, so that they are randomized with the encoder."""
    with suppress(ConfigError):
        return list(encoder.head.parameters())
    return []


def _padding(model: MaskedClassifier, name: str) -> int | None:
    """Row of a table of vectors that stands for padding and stays as it is."""
    module = model.get_submodule(name.rpartition(".")[0])
    return module.padding_idx if isinstance(module, nn.Embedding) else None


@torch.no_grad()
def _draw_anew(tensor: Tensor, seed: int, padding: int | None) -> None:
    """Replace a tensor by normal draws with its mean and standard deviation, but for the row of padding."""
    noise = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(seed))
    values = noise.to(tensor.device) * tensor.float().std(correction=0) + tensor.float().mean()
    if padding is not None:
        values[padding] = tensor[padding].float()
    tensor.copy_(values)
