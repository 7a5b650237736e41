"""Probabilities made sharper or flatter: a temperature, the one that gives a mean confidence, a second softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmask.errors import DataError

COLDEST, HOTTEST = 1e-2, 1e3
"""Range in which a temperature is searched."""


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """(N, C) `p^(1/T)`, normalised: the softmax of the logits divided by T. T = 1 changes nothing."""
    logs = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny)) / temperature
    return _softmax(logs)


def second_softmax(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N, C) softmax of the probabilities (N, C), as if they were logits."""
    return _softmax(probabilities)


def temperature_for(probabilities: NDArray[np.float64], confidence: float) -> float:
    """The temperature at which the mean confidence of predictions (N, C) is the given one.

    Mean confidence falls with the temperature, from 1 to 1 / C, so there is one such temperature.

    Raises:
        DataError: if no temperature gives it.
    """
    from scipy.optimize import brentq

    def excess(log_temperature: float) -> float:
        return float(tempered(probabilities, np.exp(log_temperature)).max(1).mean()) - confidence

    low, high = np.log(COLDEST), np.log(HOTTEST)
    if not len(probabilities) or excess(low) < 0 or excess(high) > 0:
        raise DataError(f"No temperature gives these predictions a mean confidence of {confidence:.3f}.")
    return float(np.exp(brentq(excess, low, high, xtol=1e-10)))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    softmax: NDArray[np.float64] = powers / powers.sum(-1, keepdims=True)
    return softmax
