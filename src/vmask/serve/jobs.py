"""Work in threads: a thread with its line of work, jobs that can be cancelled, and requests that wait for a result."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from starlette.requests import Request

from vmask.serve.http_errors import ClientDisconnected, RequestTimeout, ShuttingDown, TooManyRequests

Check = Callable[[], None]
"""Called often by a computation; raises an exception if the computation is cancelled."""


class Cancellable(Protocol):
    """What stands in the line of a worker."""

    def cancel(self, reason: Exception) -> None:
        """End the work; `reason` becomes the exception of its result."""


Work = TypeVar("Work", bound=Cancellable)
Task = TypeVar("Task")
T = TypeVar("T")


class Worker(Generic[Work, Task]):
    """A thread that takes tasks from a line. It is started by the first piece of work.

    `ThreadPoolExecutor` has no limit and no length for its line, and the interpreter waits for its threads at exit.

    Args:
        name: what the work is called in messages.
        max_queue: pieces of work that may wait while one is done; None for no limit.
    """

    def __init__(self, name: str, max_queue: int | None = None) -> None:
        self._name, self._max_queue = name, max_queue
        self._waiting: deque[Work] = deque()
        self._ready = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        """Return the length of the line."""
        return len(self._waiting)

    def _append(self, work: Work) -> None:
        """Add work to the end of the line.

        Raises:
            ShuttingDown: if the worker is closed.
            TooManyRequests: if the line is full.
        """
        with self._ready:
            if self._closed:
                raise ShuttingDown
            if self._max_queue is not None and self._unfinished() and len(self) >= self._max_queue:
                raise TooManyRequests(f"{self._max_queue} {self._name} are waiting already, the limit. Try again soon.")
            self._waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"vmask-{self._name}", daemon=True)
                self._thread.start()
            self._ready.notify()

    def close(self, seconds: float = 0.0) -> bool:
        """Cancel all work, wait up to `seconds` for the thread, and return whether it has ended."""
        with self._ready:
            self._closed = True
            for work in self._unfinished():
                work.cancel(ShuttingDown())
            self._waiting.clear()
            self._ready.notify()
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                task = self._next_task()
            self._run(task)
            del task  # keep nothing of a request while waiting for the next

    def _unfinished(self) -> list[Work]:
        return list(self._waiting)

    def _next_task(self) -> Task:
        """Return what to do next; the line is not empty."""
        raise NotImplementedError

    def _run(self, task: Task) -> None:
        raise NotImplementedError


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
        """Raise `JobCancelled` if the job is cancelled."""
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


class JobQueue(Worker[Job, Job]):
    """A thread that runs one job after the other."""

    def __init__(self, max_queue: int, name: str = "explanations") -> None:
        super().__init__(name, max_queue)
        self._running: Job | None = None

    def submit(self, function: Callable[[Check], Any]) -> Job:
        """Add a job to the queue; a full one raises `TooManyRequests`, a closed one `ShuttingDown`."""
        job = Job(function)
        self._append(job)
        return job

    def cancel(self, job: Job, reason: Exception | None = None) -> None:
        """Cancel a job; one that waits leaves the queue at once."""
        with self._ready, suppress(ValueError):
            self._waiting.remove(job)
        job.cancel(reason)

    async def run(
        self, request: Request, function: Callable[[Check], T], timeout: float | None = None, timeout_message: str = ""
    ) -> T:
        """Run a job, and cancel it when the request stops waiting. The time in the queue does not count."""
        job = self.submit(function)
        try:
            await await_result(request, job.started)
            result: T = await await_result(request, job.result, timeout, timeout_message)
            return result
        finally:
            self.cancel(job, RequestTimeout(timeout_message))  # does nothing to a job that has ended

    def _unfinished(self) -> list[Job]:
        return [*self._waiting, *([self._running] if self._running else [])]

    def _next_task(self) -> Job:
        self._running = self._waiting.popleft()
        return self._running

    def _run(self, task: Job) -> None:
        task.run()
        with self._ready:
            self._running = None


async def await_result(
    request: Request,
    future: Future[T],
    timeout: float | None = None,
    timeout_message: str = "",
    *,
    cancel: bool = True,
) -> T:
    """Wait for the result of a future that another thread sets, but no longer than the client does.

    Args:
        request: the request that waits; its body must have been read.
        future: the result.
        timeout: seconds to wait at most.
        timeout_message: message of the error after that time.
        cancel: cancel the future when this request stops waiting. Choose False if other requests wait for it too.

    Raises:
        ClientDisconnected: as soon as the client closes the connection.
        RequestTimeout: after `timeout` seconds.
    """
    result: asyncio.Future[T] = asyncio.wrap_future(future)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
    either: set[asyncio.Future[Any]] = {result, disconnect}
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if result.done():
            return result.result()
        disconnected = disconnect.done()
    finally:
        disconnect.cancel()
        if cancel and not result.done():
            result.cancel()  # and `future` with it
    raise ClientDisconnected if disconnected else RequestTimeout(timeout_message)


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has closed the connection. `Request.is_disconnected` only polls."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
