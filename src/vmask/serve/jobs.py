"""Long work, one piece after the other in a thread of its own: a queue with a limit, and a way to stop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from vmask.serve.http_errors import ShuttingDown, TooBusy


class Stopped(Exception):
    """Raised inside work that nobody waits for any more."""


class Job:
    """A piece of work.

    Args:
        work: what to do; it is given `check`, and calls it often.

    Attributes:
        started: done when the work begins, or will never begin.
        result: what comes of it.
    """

    def __init__(self, work: Callable[[Callable[[], None]], Any]) -> None:
        self._work = work
        self._stop = threading.Event()
        self.started: Future[None] = Future()
        self.result: Future[Any] = Future()

    def check(self) -> None:
        """Go on.

        Raises:
            Stopped: where the work is to end.
        """
        if self._stop.is_set():
            raise Stopped

    def stop(self, reason: Exception | None = None) -> None:
        """End the work soon; `reason` is what who waits for the result gets to see."""
        self._stop.set()
        with suppress(InvalidStateError):
            self.result.set_exception(reason or Stopped())
        with suppress(InvalidStateError):
            self.started.set_result(None)

    def run(self) -> None:
        """Do the work, and keep what comes of it."""
        with suppress(InvalidStateError):
            self.started.set_result(None)
        try:
            self.check()
            outcome = self._work(self.check)
        except Stopped as stopped:
            self.stop(stopped)
        except Exception as error:
            self.stop(error)
        else:
            with suppress(InvalidStateError):  # stopped this very moment
                self.result.set_result(outcome)
        finally:
            del self._work  # and the texts with it


class JobQueue:
    """A thread that does one job after the other.

    Args:
        max_queue: jobs that may wait while one is worked on.
        what: what they are called.
    """

    def __init__(self, max_queue: int, what: str = "explanations") -> None:
        self._max_queue, self._what = max_queue, what
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._ready = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def submit(self, work: Callable[[Callable[[], None]], Any]) -> Job:
        """Put work into the queue.

        Raises:
            TooBusy: where the queue is full.
        """
        job = Job(work)
        with self._ready:
            if self._closed:
                raise ShuttingDown("The server is shutting down.")
            if (self._running is not None or self._waiting) and len(self._waiting) >= self._max_queue:
                raise TooBusy(f"{self._max_queue} {self._what} are waiting already, the limit. Try again soon.")
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"vmask-{self._what}", daemon=True)
                self._thread.start()
            self._ready.notify()
        return job

    def stop(self, job: Job, reason: Exception | None = None) -> None:
        """End a job soon; one that waits leaves the queue at once."""
        with self._ready, suppress(ValueError):
            self._waiting.remove(job)
        job.stop(reason)

    def close(self, seconds: float = 0.0) -> bool:
        """End all jobs; wait so long for the thread. Returns whether it has ended."""
        with self._ready:
            self._closed = True
            jobs = [*self._waiting, *([self._running] if self._running else [])]
            self._waiting.clear()
            self._ready.notify()
        for job in jobs:
            job.stop(ShuttingDown("The server is shutting down."))
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
