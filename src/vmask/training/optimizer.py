"""Adam or AdamW over the trained parameters, in groups of learning rate and weight decay."""

from __future__ import annotations

from typing import Any

import torch

from vmask.config import TrainConfig
from vmask.models.contract import MaskedClassifier

OF_MASK = "of_mask"
"""Key of a group of parameters: whether they are those of a mask that is fixed in the end, or vectors that it reads."""


def make_optimizer(model: MaskedClassifier, config: TrainConfig, device: torch.device) -> torch.optim.Optimizer:
    """The optimiser of a training run.

    With `adamw` biases and the scales of LayerNorm are not decayed, as is usual for encoders. The mask may have its
    own learning rate, and groups of its own if it is fixed at some time.
    """
    vectors = {id(parameter) for parameter in model.encoder.embeddings.parameters()} if model.mask.restarts else set()
    groups: dict[tuple[float, float, bool], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            rate = config.learning_rate
            if name.startswith("mask.") and config.mask_learning_rate is not None:
                rate = config.mask_learning_rate
            decayed = config.optimizer == "adam" or parameter.ndim > 1
            of_mask = model.mask.restarts and (name.startswith("mask.") or id(parameter) in vectors)
            groups.setdefault((rate, config.weight_decay if decayed else 0.0, of_mask), []).append(parameter)
    listed: list[dict[str, Any]] = [
        {"params": params, "lr": rate, "weight_decay": decay, OF_MASK: of_mask}
        for (rate, decay, of_mask), params in groups.items()
    ]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(listed, lr=config.learning_rate, fused=device.type in ("cpu", "cuda"))  # one kernel for all parameters
