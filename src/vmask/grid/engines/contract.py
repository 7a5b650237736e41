"""The contract of an engine: it takes jobs, does them somewhere, and hands over what came out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from vmask.grid.job import Job, Product


@dataclass(frozen=True)
class Started:
    """A worker has begun with a job.

    Attributes:
        job: the job.
        where: machine and process of the worker, for messages; empty if that is this machine.
    """

    job: Job
    where: str


@dataclass(frozen=True)
class Finished:
    """A job has ended.

    Attributes:
        job: the job.
        product: what came out.
    """

    job: Job
    product: Product


@dataclass(frozen=True)
class Waiting:
    """Nothing happens.

    Attributes:
        message: why.
    """

    message: str


Event = Started | Finished | Waiting


class Engine(Protocol):
    """Does jobs side by side. A worker that dies takes only its own job along."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *_: object) -> None:
        """End all workers, also in the middle of a job."""
        ...

    @property
    def running(self) -> Collection[Job]:
        """The jobs that were started and have not ended."""
        ...

    @property
    def free(self) -> bool:
        """Whether another job can be started."""
        ...

    def start(self, job: Job) -> None:
        """Start a job."""
        ...

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """Wait until something happens, at most this many seconds, and tell what."""
        ...
