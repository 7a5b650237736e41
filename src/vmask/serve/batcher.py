"""Questions of many requests, joined into one call of the model by a single thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from vmask.serve.http_errors import ShuttingDown

Run = Callable[[list[Any]], Sequence[Any]]
"""Answers to some units, one each; an exception among them is the answer to its unit alone."""


@dataclass(frozen=True)
class Kind:
    """Questions that one call of the model can answer together.

    Attributes:
        key: what is asked, of which model, and how; equal for such questions.
        run: the call.
        budget: how much a call should compute, in the sizes of units, so that nobody waits long for the next.
    """

    key: tuple[str, ...]
    run: Run = field(compare=False)
    budget: int = field(compare=False)


Done = Callable[[Kind, int, float], None]


@dataclass(eq=False)
class Asked:
    """A request: what it asks, and as far as it is answered, the answers.

    Attributes:
        kind: what is asked.
        units: about what.
        sizes: how much work each unit is, in the measure of `kind.budget`.
        answers: to the first of the units.
        future: all answers; one who cancels it is not answered.
    """

    kind: Kind
    units: Sequence[Any]
    sizes: Sequence[int]
    answers: list[Any] = field(default_factory=list)
    future: Future[list[Any]] = field(default_factory=Future)

    @property
    def share_done(self) -> float:
        """How much is answered, from 0 to 1."""
        return len(self.answers) / max(len(self.units), 1)

    def take(self, budget: int) -> list[Any]:
        """The next units: at least one, and as many as fit."""
        start = stop = len(self.answers)
        while stop < len(self.units) and (stop == start or budget >= self.sizes[stop]):
            budget -= self.sizes[stop]
            stop += 1
        return list(self.units[start:stop])


class Batcher:
    """A thread that answers questions, those of one kind together.

    A request that is larger than a call goes behind all others after each, so that one of a few texts does not wait
    until one of thousands is done. A request whose future is cancelled is dropped.

    Args:
        done: told of every call: what was asked, of how many units, how many seconds it took.
    """

    def __init__(self, done: Done = lambda kind, units, seconds: None) -> None:
        self._done = done
        self._waiting: deque[Asked] = deque()
        self._ready = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    def ask(self, kind: Kind, units: Sequence[Any], sizes: Sequence[int]) -> Asked:
        """Put a question into the queue.

        Args:
            kind: what is asked.
            units: about what.
            sizes: how much work each unit is, in the measure of `kind.budget`.

        Raises:
            ShuttingDown: where nothing is answered any more.
        """
        asked = Asked(kind, units, sizes)
        with self._ready:
            if self._closed:
                raise ShuttingDown("The server is shutting down.")
            if not units:
                asked.future.set_result([])
                return asked
            self._waiting.append(asked)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="vmask-predict", daemon=True)
                self._thread.start()
            self._ready.notify()
        return asked

    def close(self, seconds: float = 0.0) -> bool:
        """Answer nothing more; wait so long for the thread. Returns whether it has ended."""
        with self._ready:
            self._closed = True
            for asked in self._waiting:
                _fail(asked, ShuttingDown("The server is shutting down."))
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
                chosen = self._next_round()
            if chosen:
                _answer(chosen, self._done)
                with self._ready:
                    for asked, _ in chosen:
                        self._settle(asked)
            del chosen  # nothing of a request is held while waiting for the next

    def _next_round(self) -> list[tuple[Asked, list[Any]]]:
        """The next units of all requests of the kind that waits longest."""
        self._waiting = deque(asked for asked in self._waiting if not asked.future.done())
        if not self._waiting:
            return []
        kind = self._waiting[0].kind
        chosen: list[tuple[Asked, list[Any]]] = []
        left = kind.budget
        for asked in self._waiting:
            if asked.kind == kind and (left > 0 or not chosen):
                start = len(asked.answers)
                units = asked.take(left)
                left -= sum(asked.sizes[start : start + len(units)])
                chosen.append((asked, units))
        return chosen

    def _settle(self, asked: Asked) -> None:
        """Hand out the answers of a request that is done; put one that is not behind all others."""
        with suppress(ValueError):
            self._waiting.remove(asked)
        if asked.future.done():
            return
        if len(asked.answers) < len(asked.units):
            self._waiting.append(asked)
        else:
            with suppress(InvalidStateError):  # cancelled this very moment
                asked.future.set_result(asked.answers)


def _answer(chosen: Sequence[tuple[Asked, list[Any]]], done: Done) -> None:
    """Answer the chosen units of several requests in one call; where that fails, each request in its own."""
    kind, began = chosen[0][0].kind, time.perf_counter()
    try:
        answers = list(kind.run([unit for _, units in chosen for unit in units]))
    except Exception as error:
        if len(chosen) == 1:
            _fail(chosen[0][0], error)
        else:
            for one in chosen:
                _answer([one], done)
        return
    done(kind, len(answers), time.perf_counter() - began)
    at = 0
    for asked, units in chosen:
        mine = answers[at : at + len(units)]
        at += len(units)
        if failed := next((one for one in mine if isinstance(one, Exception)), None):
            _fail(asked, failed)
        asked.answers.extend(mine)


def _fail(asked: Asked, error: Exception) -> None:
    with suppress(InvalidStateError):
        asked.future.set_exception(error)
