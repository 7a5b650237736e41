"""Weighted linear models of 0/1 features with a ridge penalty, from sums over the perturbations alone.

The size of the sums is the square of the number of features, for any number of perturbations, and they suffice to fit
a model of any subset of the features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
NO_PENALTY = 1e-12
"""Penalty, relative to the largest sum, below which it is lost in rounding errors."""


class Moments:
    """Weighted sums of products of features, answers and 1.

    All are relative to the first perturbation, the whole text. This keeps the precision of answers that hardly differ
    and of perturbations with small weights.

    Args:
        features: d.
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self._origin: Array | None = None
        self._sums = np.zeros((features + 2, features + 2))

    def add(self, keep: NDArray[np.bool_], answers: NDArray[np.float32], weights: Array) -> None:
        """Add perturbations: features kept (S, d), answers (S,), weights (S,)."""
        rows = np.empty((len(keep), self.features + 2))
        rows[:, :-2], rows[:, -2], rows[:, -1] = keep, answers, 1.0
        if self._origin is None:
            self._origin = rows[0, :-1].copy()
        rows[:, :-1] -= self._origin
        # With torch: numpy's threads keep spinning for a while, which slows down the threads that run the model.
        self._sums += (torch.from_numpy(rows * weights[:, None]).t() @ torch.from_numpy(rows)).numpy()

    def centred(self) -> Array:
        """(d + 1, d + 1) sums of products of deviations from the weighted means; the last row is the answer."""
        last = self._sums[-1]
        centred: Array = self._sums[:-1, :-1] - np.outer(last[:-1], last[:-1]) / last[-1]
        return centred

    @property
    def means(self) -> Array:
        """(d + 1,) weighted means of features and answer."""
        assert self._origin is not None
        means: Array = self._origin + self._sums[-1, :-1] / self._sums[-1, -1]
        return means

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self._sums[-1, -1])


def ridge(systems: Sequence[Array], used: Sequence[NDArray[np.int64]], alpha: float) -> list[Array]:
    """Coefficients (d_i,) of a ridge regression of each text; those of the same size are solved together.

    Args:
        systems: (d_i + 1, d_i + 1) what `Moments.centred` gives.
        used: the features that each model may use; the coefficients of others are 0.
        alpha: strength of the penalty; the intercept is not penalised.
    """
    coefficients = [np.zeros(len(system) - 1) for system in systems]
    same_size: dict[int, list[int]] = {}
    for number, (system, features) in enumerate(zip(systems, used, strict=True)):
        left = system[np.ix_(features, features)]
        if alpha > NO_PENALTY * np.abs(left).max(initial=0.0):
            same_size.setdefault(len(features), []).append(number)
        else:  # features that are always hidden together have no unique solution: take the smallest
            inverse = np.linalg.pinv(left, rcond=NO_PENALTY, hermitian=True)
            coefficients[number][features] = inverse @ system[features, -1]
    for size, numbers in same_size.items():
        lefts = np.stack([systems[i][np.ix_(used[i], used[i])] for i in numbers]) + alpha * np.eye(size)
        rights = np.stack([systems[i][used[i], -1] for i in numbers])
        for i, solved in zip(numbers, np.linalg.solve(lefts, rights[..., None])[..., 0], strict=True):
            coefficients[i][used[i]] = solved
    return coefficients


def explained(system: Array, coefficients: Array, weight: float) -> float:
    """Weighted R²: the share of the answers' variance that a model explains; 1 where there is none to explain.

    Args:
        system: (d + 1, d + 1) what `Moments.centred` gives.
        coefficients: (d,).
        weight: sum of the weights. Variance below the rounding of single precision counts as none.
    """
    total = system[-1, -1]
    if total <= 1e-13 * weight:
        return 1.0
    missed = total - 2 * coefficients @ system[:-1, -1] + coefficients @ system[:-1, :-1] @ coefficients
    return float(1.0 - missed / total)


def forward_selection(system: Array, count: int) -> NDArray[np.int64]:
    """(count,) features, each the one that helps an unpenalised model most beside those before it; ties to the first.

    Every step takes out of all other features and the answer what the new feature explains of them, so that the gain of
    a feature is read off instead of fitting a model for each.
    """
    left = system.copy()
    size = np.diag(system)[:-1].copy()
    chosen: list[int] = []
    for _ in range(min(count, len(size))):
        free = np.diag(left)[:-1]
        new = free > 1e-10 * np.maximum(size, 1e-300)  # otherwise it is a linear combination of others
        gain = np.divide(left[:-1, -1] ** 2, free, out=np.zeros(len(size)), where=new)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        if new[best]:
            left -= np.outer(left[:, best], left[best]) / left[best, best]
    return np.array(chosen, np.int64)
