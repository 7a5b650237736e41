"""Schedules of the learning rate and of beta, the weight of the mask penalty."""

from __future__ import annotations

from vmask.config import TrainConfig

RELEASED_STEPS = 10


def beta_at(config: TrainConfig, progress: float) -> float:
    """Beta at `progress`, the finished share of the training from 0 to 1; never below 0.

    `linear` goes from `beta` to `beta_end`, down or up. `constant` stays at `beta`. `cyclic` is linear in each of
    `beta_cycles` equal parts. `steps` goes in ten equal steps, as the released code does every tenth of its epochs.
    """
    start = config.beta
    end = config.beta if config.beta_end is None or config.beta_schedule == "constant" else config.beta_end
    if config.beta_schedule == "cyclic":
        progress = progress * config.beta_cycles % 1.0
    elif config.beta_schedule == "steps":
        progress = min(int(progress * RELEASED_STEPS), RELEASED_STEPS - 1) / (RELEASED_STEPS - 1)
    return max(start + (end - start) * progress, 0.0)


def rate_at(config: TrainConfig, progress: float) -> float:
    """Factor of the learning rate at `progress`, the finished share of the training from 0 to 1.

    It rises from 0 to 1 in the first `warmup` of the training and then, with `linear`, falls to 0 at the end.
    """
    if progress < config.warmup:
        return progress / config.warmup
    return (1 - progress) / (1 - config.warmup) if config.learning_rate_schedule == "linear" else 1.0
