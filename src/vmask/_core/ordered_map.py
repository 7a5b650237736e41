"""Results in the order of their jobs, which are done side by side, a bounded number at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from vmask.errors import VmaskError

J = TypeVar("J")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Pending(Protocol[R_co]):
    """The result of a job that may not be done yet, such as a `concurrent.futures.Future`."""

    def result(self) -> R_co:
        """Wait for the result; raise what the job raised."""

    def cancel(self) -> bool:
        """Do not begin the job, if that is still possible."""


def map_in_order(submit: Callable[[J], Pending[R]], jobs: Iterable[J], most: int) -> Iterator[R]:
    """Yield the results of jobs in their order.

    If no further job can be had (VmaskError, e.g. for an unreadable row), the results of those before it come first.

    Args:
        submit: begins a job.
        jobs: any number of them; each is taken only when it can be submitted.
        most: maximum number of jobs that were submitted and whose results were not yet asked for.
    """
    source, failed, ended = iter(jobs), None, False
    waiting: deque[Pending[R]] = deque()
    try:
        while True:
            while len(waiting) < most and not ended:
                try:
                    job = next(source)
                except StopIteration:
                    ended = True
                except VmaskError as error:
                    failed, ended = error, True
                else:
                    waiting.append(submit(job))
            if not waiting:
                break
            yield waiting.popleft().result()
    finally:
        for pending in waiting:  # the caller has stopped early, or a job failed
            pending.cancel()
    if failed is not None:
        raise failed
