"""Which epochs compete for the best dev score, and when a training has waited long enough.

While beta falls, the objective changes: a mask at a high beta is near the prior everywhere and acts as word dropout,
which scores well on dev but ranks no words. So no epoch competes, and patience does not count, until the annealing is
over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vmask.config import TrainConfig
from vmask.masks.contract import WordMask
from vmask.training.schedules import beta_moves_until


@dataclass(frozen=True)
class Selection:
    """The rule by which an epoch is chosen.

    Attributes:
        score: key of the dev score in a row of the history.
        first: number of the first epoch that competes, from 1.
        patience: number of epochs without a better score after which training stops; 0 never stops.
        last_of_equals: whether the last of several best epochs is chosen, rather than the first.
    """

    score: str
    first: int = 1
    patience: int = 0
    last_of_equals: bool = False

    @classmethod
    def of(cls, config: TrainConfig, mask: WordMask) -> Selection:
        """The rule for a mask: of `select_from`, by default of the epochs after the annealing."""
        annealed = objective_moves_until(config, mask)
        start = annealed if config.select_from is None else config.select_from
        last_of_equals = config.select_from is None and annealed > 0
        return cls(f"dev_{config.select}", first_epoch(config, start), config.patience, last_of_equals)

    def competes(self, epoch: int) -> bool:
        """Whether the epoch of this number, from 1, may be chosen."""
        return epoch >= self.first

    def best(self, history: Sequence[dict[str, Any]]) -> int:
        """The number of the best epoch, from 1; of the last one while none competes; 0 for an empty history.

        Of epochs that miss a constraint of the mask on dev, the one that comes closest; of those that meet it, the one
        with the best score.
        """
        scores = [(-row.get("excess", 0.0), row[self.score]) for row in history[self.first - 1 :]]
        if not scores:
            return len(history)
        if self.last_of_equals:
            return len(history) - scores[::-1].index(max(scores))
        return self.first + scores.index(max(scores))

    def is_over(self, history: Sequence[dict[str, Any]]) -> bool:
        """Whether no epoch was better for as long as the patience lasts."""
        return bool(self.patience) and len(history) - self.best(history) >= self.patience


def first_epoch(config: TrainConfig, share: float) -> int:
    """Number of the first epoch, from 1, that begins after this share of the training; the last one if none does."""
    # The tolerance keeps rounding from leaving out an epoch that starts where the annealing ends.
    return min(math.ceil(share * config.epochs - 1e-9), config.epochs - 1) + 1


def restart_epoch(config: TrainConfig, mask: WordMask) -> int | None:
    """Number of the epoch, from 1, at which the classifier starts anew; None if it never does.

    There must be an epoch that begins after the annealing.
    """
    annealed = objective_moves_until(config, mask)
    starts = mask.restarts and math.ceil(annealed * config.epochs - 1e-9) < config.epochs
    return first_epoch(config, annealed) if starts else None


def objective_moves_until(config: TrainConfig, mask: WordMask) -> float:
    """Share of the training in which the objective changes, by the weight of a penalty or a schedule of the mask."""
    return max(beta_moves_until(config) if mask.penalised else 0.0, config.anneal_until if mask.anneals else 0.0)


def with_enough_epochs(config: TrainConfig, mask: WordMask, texts: int) -> TrainConfig:
    """The options with as many epochs as `min_steps` needs on this many texts, if the objective moves."""
    if not objective_moves_until(config, mask):
        return config
    steps = math.ceil(texts / config.batch_size)
    return replace(config, epochs=max(config.epochs, math.ceil(config.min_steps / steps)))
