"""Work on many texts that can be shared by several processes: each begins it with its own models, then does jobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmask._core.ordered_map import map_in_order

J = TypeVar("J")
R = TypeVar("R")
J_contra = TypeVar("J_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Work(Protocol[J_contra, R_co]):
    """What is done with every job. It is sent to other processes, so it holds options, and no model."""

    def begin(self, models: Sequence[Any]) -> Callable[[J_contra], R_co]:
        """The function that does a job by these models, the predictors of a process; called once in each."""


class Map(Protocol):
    """Does jobs, here or in other processes."""

    def __call__(self, work: Work[J, R], jobs: Iterable[J]) -> Iterator[R]:
        """The results in the order of the jobs."""


@dataclass(frozen=True)
class Here:
    """Does jobs in this process, by threads if there are several: a `Map`.

    Attributes:
        models: the predictors.
        threads: number of threads.
    """

    models: Sequence[Any]
    threads: int = 1

    def __call__(self, work: Work[J, R], jobs: Iterable[J]) -> Iterator[R]:
        """The results in the order of the jobs."""
        do = work.begin(self.models)
        if self.threads == 1:
            yield from map(do, jobs)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from map_in_order(lambda job: pool.submit(do, job), jobs, self.threads + 1)


@dataclass(frozen=True)
class Shard:
    """Some texts in a row.

    Attributes:
        first: number of the first, counted from 0.
        texts: the texts.
    """

    first: int
    texts: Sequence[str]

    def __str__(self) -> str:
        """For messages, where texts are counted from 1."""
        return f"texts {self.first + 1:,} to {self.first + len(self.texts):,}"


def numbered(parts: Iterable[Sequence[str]], first: int = 0) -> Iterator[Shard]:
    """Shards from lists of texts, of which the first begins with text number `first`."""
    for texts in parts:
        yield Shard(first, texts)
        first += len(texts)


def with_jobs(share: Map, work: Work[J, R], jobs: Iterable[J]) -> Iterator[tuple[J, R]]:
    """Each job with its result, in order."""
    taken: deque[J] = deque()

    def noted() -> Iterator[J]:
        for job in jobs:
            taken.append(job)
            yield job

    for result in share(work, noted()):
        yield taken.popleft(), result


@dataclass(frozen=True)
class PredictWork:
    """Predict the (N, C) probabilities of shards.

    Attributes:
        model: number of the model.
    """

    model: int = 0

    def begin(self, models: Sequence[Any]) -> Callable[[Shard], NDArray[np.float32]]:
        """Predict by the model."""
        predictor = models[self.model]

        def predict(shard: Shard) -> NDArray[np.float32]:
            probabilities: NDArray[np.float32] = predictor.predict_texts(shard.texts)
            return probabilities

        return predict
