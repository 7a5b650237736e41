"""Long computations, one after the other in a thread of their own. They can be cancelled, and the queue is bounded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from vmask.serve.http_errors import ShuttingDown, TooManyRequests

Check = Callable[[], None]
"""Called often by a computation; raises an exception if the computation is cancelled."""


class JobCancelled(Exception):
    """Raised inside a computation that is cancelled."""


class Job:
    """A computation that can be cancelled while it runs, which a plain `Future` cannot.

    Args:
        function: the computation; it gets `check` as its argument and calls it often.

    Attributes:
        started: resolved when the job starts, or if it never will.
        result: the result.
    """

    def __init__(self, function: Callable[[Check], Any]) -> None:
        self._function = function
        self._cancelled = threading.Event()
        self.started: Future[None] = Future()
        self.result: Future[Any] = Future()

    def check(self) -> None:
        """Do nothing, unless the job is cancelled.

        Raises:
            JobCancelled: if it is.
        """
        if self._cancelled.is_set():
            raise JobCancelled

    def cancel(self, reason: Exception | None = None) -> None:
        """End the job at its next check; `reason` becomes the exception of the result."""
        self._cancelled.set()
        with suppress(InvalidStateError):
            self.result.set_exception(reason or JobCancelled())
        with suppress(InvalidStateError):
            self.started.set_result(None)

    def run(self) -> None:
        """Compute the result."""
        with suppress(InvalidStateError):
            self.started.set_result(None)
        try:
            self.check()
            result = self._function(self.check)
        except Exception as error:
            self.cancel(error)
        else:
            with suppress(InvalidStateError):  # cancelled this very moment
                self.result.set_result(result)
        finally:
            del self._function  # and the texts with it


class JobQueue:
    """A thread that runs one job after the other.

    Args:
        max_queue: jobs that may wait while one runs.
        name: what the jobs are called in messages.
    """

    def __init__(self, max_queue: int, name: str = "explanations") -> None:
        self._max_queue, self._name = max_queue, name
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._ready = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        """Return the number of jobs that wait."""
        return len(self._waiting)

    def submit(self, function: Callable[[Check], Any]) -> Job:
        """Add a job to the queue.

        Raises:
            TooManyRequests: if the queue is full.
            ShuttingDown: if it is closed.
        """
        job = Job(function)
        with self._ready:
            if self._closed:
                raise ShuttingDown("The server is shutting down.")
            if (self._running is not None or self._waiting) and len(self._waiting) >= self._max_queue:
                raise TooManyRequests(f"{self._max_queue} {self._name} are waiting already, the limit. Try again soon.")
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"vmask-{self._name}", daemon=True)
                self._thread.start()
            self._ready.notify()
        return job

    def cancel(self, job: Job, reason: Exception | None = None) -> None:
        """Cancel a job; one that waits leaves the queue at once."""
        with self._ready, suppress(ValueError):
            self._waiting.remove(job)
        job.cancel(reason)

    def close(self, seconds: float = 0.0) -> bool:
        """Cancel all jobs, wait up to `seconds` for the thread, and return whether it has ended."""
        with self._ready:
            self._closed = True
            jobs = [*self._waiting, *([self._running] if self._running else [])]
            self._waiting.clear()
            self._ready.notify()
        for job in jobs:
            job.cancel(ShuttingDown("The server is shutting down."))
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._ready:
                self._running = None
                self._ready.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                job = self._running = self._waiting.popleft()
            job.run()
            del job
