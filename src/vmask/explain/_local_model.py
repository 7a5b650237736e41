"""Weighted linear models of 0/1 features with a ridge penalty, from sums over the perturbations alone.

The sums take the square of the number of features, whatever the number of perturbations, and every model of any subset
of the features can be had from them. The models of many texts are solved together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Moments:
    """Weighted sums of products of features, answers and 1.

    Args:
        features: d.
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self._sums = np.zeros((features + 2, features + 2))

    def add(self, keep: NDArray[np.bool_], answers: NDArray[np.float32], weights: Array) -> None:
        """Add perturbations: features kept (S, d), answers (S,), weights (S,)."""
        rows = np.empty((len(keep), self.features + 2))
        rows[:, :-2], rows[:, -2], rows[:, -1] = keep, answers, 1.0
        self._sums += (rows * weights[:, None]).T @ rows

    def centred(self) -> Array:
        """(d + 1, d + 1) sums of products of deviations from the weighted means; the last is the answer."""
        last = self._sums[-1]
        centred: Array = self._sums[:-1, :-1] - np.outer(last[:-1], last[:-1]) / last[-1]
        return centred

    @property
    def means(self) -> Array:
        """(d + 1,) weighted means of features and answer."""
        means: Array = self._sums[-1, :-1] / self._sums[-1, -1]
        return means


def ridge(systems: Sequence[Array], used: Sequence[NDArray[np.int64]], alpha: float) -> list[Array]:
    """Coefficients (d_i,) of a ridge regression of each of the centred systems (d_i + 1, d_i + 1).

    Args:
        systems: what `Moments.centred` gives.
        used: for each the features that the model may use; the coefficients of others are 0.
        alpha: strength of the penalty; the intercept is not penalised.
    """
    longest = max((len(one) for one in used), default=0)
    left = np.broadcast_to(np.eye(longest), (len(systems), longest, longest)).copy()  # what is not there solves to 0
    right = np.zeros((len(systems), longest))
    for row, (system, features) in enumerate(zip(systems, used, strict=True)):
        count = len(features)
        left[row, :count, :count] = system[np.ix_(features, features)]
        left[row, range(count), range(count)] += alpha
        right[row, :count] = system[features, -1]
    if alpha:
        solved = np.linalg.solve(left, right[..., None])[..., 0]
    else:  # features that are always hidden together leave no unique answer
        solved = (np.linalg.pinv(left, hermitian=True) @ right[..., None])[..., 0]
    coefficients = []
    for system, features, values in zip(systems, used, solved, strict=True):
        coefficients.append(np.zeros(len(system) - 1))
        coefficients[-1][features] = values[: len(features)]
    return coefficients


def explained(system: Array, coefficients: Array) -> float:
    """Weighted R²: the share of the answers' variance that a model explains; 1 where there is none to explain."""
    total = system[-1, -1]
    if total <= 1e-12:
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
        new = free > 1e-10 * np.maximum(size, 1e-300)  # else it is a sum of others
        gain = np.divide(left[:-1, -1] ** 2, free, out=np.zeros(len(size)), where=new)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        if new[best]:
            left -= np.outer(left[:, best], left[best]) / left[best, best]
    return np.array(chosen, np.int64)
