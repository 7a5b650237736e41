"""Dynamic batching: one thread joins the queries of many requests into calls of the model.

FastAPI would call a model for every request, which is much slower than a call for many.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from vmask.serve.jobs import Worker

Run = Callable[[list[Any]], Sequence[Any]]
"""Computes one answer for each item. An exception among the answers is the error of that item alone."""


@dataclass(frozen=True)
class ModelQuery:
    """A kind of query. Queries with equal keys can be answered by one call of the model.

    Attributes:
        key: name of the query, name of the model, and parameters.
        run: the call.
        budget: total size of the items of a call, at most; it bounds how long the next call has to wait.
    """

    key: tuple[str, ...]
    run: Run = field(compare=False)
    budget: int = field(compare=False)


OnBatch = Callable[[ModelQuery, int, float], None]
"""Called after each call of a model with the query, the number of items and the seconds it took."""


@dataclass(eq=False)
class PendingQuery:
    """A query of one request, with the answers so far.

    Attributes:
        query: what to compute.
        items: inputs, e.g. texts.
        sizes: size of each item, in the unit of `query.budget`.
        answers: answers to the first items.
        future: all answers; cancel it to drop the query.
    """

    query: ModelQuery
    items: Sequence[Any]
    sizes: Sequence[int]
    answers: list[Any] = field(default_factory=list)
    future: Future[list[Any]] = field(default_factory=Future)

    @property
    def progress(self) -> float:
        """Share of the items that are answered, from 0 to 1."""
        return len(self.answers) / max(len(self.items), 1)

    def cancel(self, reason: Exception) -> None:
        """Drop the query; `reason` becomes the exception of its future."""
        with suppress(InvalidStateError):
            self.future.set_exception(reason)

    def next_items(self, budget: int) -> list[Any]:
        """Return the next items: at least one, and as many as fit into the budget."""
        start = stop = len(self.answers)
        while stop < len(self.items) and (stop == start or budget >= self.sizes[stop]):
            budget -= self.sizes[stop]
            stop += 1
        return list(self.items[start:stop])


Batch = list[tuple[PendingQuery, list[Any]]]
"""Queries with equal keys, and the items of each that are computed together."""


class Batcher(Worker[PendingQuery, Batch]):
    """A thread that answers queries, those with equal keys together.

    A query that does not fit into one call goes to the end of the line after each call, so that a request of a few
    texts does not wait for one of thousands. A query whose future is cancelled is dropped.

    Args:
        on_batch: called after each call of a model.
    """

    def __init__(self, on_batch: OnBatch = lambda query, items, seconds: None) -> None:
        super().__init__("predictions")
        self._on_batch = on_batch

    def submit(self, query: ModelQuery, items: Sequence[Any], sizes: Sequence[int]) -> PendingQuery:
        """Add a query to the line, see `PendingQuery`; a closed batcher raises `ShuttingDown`."""
        pending = PendingQuery(query, items, sizes)
        if items:
            self._append(pending)
        else:
            pending.future.set_result([])
        return pending

    def _next_task(self) -> Batch:
        """Return the next items of all queries whose key equals that of the first in line."""
        self._waiting = deque(pending for pending in self._waiting if not pending.future.done())
        if not self._waiting:
            return []
        query = self._waiting[0].query
        batch: Batch = []
        budget = query.budget
        for pending in self._waiting:
            if pending.query == query and (budget > 0 or not batch):
                start = len(pending.answers)
                items = pending.next_items(budget)
                budget -= sum(pending.sizes[start : start + len(items)])
                batch.append((pending, items))
        return batch

    def _run(self, task: Batch) -> None:
        if not task:
            return
        self._compute(task)
        with self._ready:
            for pending, _ in task:
                self._settle(pending)

    def _compute(self, batch: Batch) -> None:
        """Answer the items of a batch in one call. If the call fails, repeat it for each query alone."""
        query, began = batch[0][0].query, time.perf_counter()
        try:
            answers = list(query.run([item for _, items in batch for item in items]))
        except Exception as error:
            if len(batch) == 1:
                batch[0][0].cancel(error)
            else:
                for part in batch:
                    self._compute([part])
            return
        self._on_batch(query, len(answers), time.perf_counter() - began)
        start = 0
        for pending, items in batch:
            own_answers = answers[start : start + len(items)]
            start += len(items)
            failure = next((answer for answer in own_answers if isinstance(answer, Exception)), None)
            if failure is not None:
                pending.cancel(failure)
            pending.answers.extend(own_answers)

    def _settle(self, pending: PendingQuery) -> None:
        """Resolve a query that is answered; move one that is not to the end of the line."""
        with suppress(ValueError):
            self._waiting.remove(pending)
        if pending.future.done():
            return
        if len(pending.answers) < len(pending.items):
            self._waiting.append(pending)
        else:
            with suppress(InvalidStateError):  # cancelled this very moment
                pending.future.set_result(pending.answers)
