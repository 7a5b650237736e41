"""Schedules of the learning rate and of beta, the weight of the mask penalty."""

from __future__ import annotations

from vmask.config import TrainConfig

RELEASED_STEPS = 10


def beta_at(config: TrainConfig, progress: float) -> float:
    """Beta at `progress`, the finished share of the training from 0 to 1; never below 0.

    It moves from `beta` to `beta_end` until `anneal_until`, and stays there. `linear` goes straight, down or up.
    `constant` stays at `beta`. `cyclic` is linear in each of `beta_cycles` equal parts. `steps` goes in ten equal
    steps, as the released code does every tenth of its epochs.
    """
    progress = annealing_at(config, progress)
    start = config.beta
    end = config.beta if config.beta_end is None or config.beta_schedule == "constant" else config.beta_end
    if config.beta_schedule == "cyclic":
        progress = progress * config.beta_cycles % 1.0 if progress < 1 else 1.0
    elif config.beta_schedule == "steps":
        progress = min(int(progress * RELEASED_STEPS), RELEASED_STEPS - 1) / (RELEASED_STEPS - 1)
    return max(start + (end - start) * progress, 0.0)


def annealing_at(config: TrainConfig, progress: float) -> float:
    """Finished share of the annealing, from 0 to 1, at a finished share of the training."""
    return min(progress / config.anneal_until, 1.0)


def beta_moves_until(config: TrainConfig) -> float:
    """Share of the training after which beta stays as it is; 0 if it never moves."""
    if config.beta_schedule == "constant" or config.beta_end in (None, config.beta):
        return 0.0
    last_step = (RELEASED_STEPS - 1) / RELEASED_STEPS
    return config.anneal_until * (last_step if config.beta_schedule == "steps" else 1.0)


def rate_at(config: TrainConfig, progress: float) -> float:
    """Factor of the learning rate at `progress`, the finished share of the training from 0 to 1.

    It rises from 0 to 1 in the first `warmup` of the training and then, with `linear`, falls to 0 at the end.
    """
    if progress < config.warmup:
        return progress / config.warmup
    return (1 - progress) / (1 - config.warmup) if config.learning_rate_schedule == "linear" else 1.0
