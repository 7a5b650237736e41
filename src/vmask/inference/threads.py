"""Computation by one thread, whose last digits do not depend on the number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let torch and the libraries of numpy compute by one thread.

    Several threads divide sums among themselves, so that the last digit of a number depends on how many they are.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn needs it too

    before = torch.get_num_threads()
    with threadpool_limits(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
