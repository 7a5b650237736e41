"""Workers of a Ray cluster that hold the same models and share work; one that dies costs only what it was doing."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from vmask import __version__
from vmask._core.ordered_map import map_in_order
from vmask._core.wording import plural
from vmask.cluster.connection import connected
from vmask.cluster.model_worker import ModelWorker
from vmask.cluster.parcels import Parcel, pack
from vmask.config import WorkersConfig
from vmask.errors import ConfigError, VmaskError, WorkFailed
from vmask.inference.work import Work
from vmask.persistence.model_folder import CONFIG, check_files, read_config

log = logging.getLogger("vmask")

J = TypeVar("J")
R = TypeVar("R")

TRIES = 3
"""Times that a job is tried whose worker dies, and that every worker may fail to start in a row."""
AT_WORKER = 2
"""Jobs that a worker is given: the one that it does, and the next one."""
IN_FLIGHT = 3
"""Jobs of a `map` for each worker that were begun and whose results were not yet asked for, at most."""
LONGEST_REASON = 200
"""Characters of what Ray says about a death."""
PATIENCE = 30.0
"""Seconds without a worker after which the user is told."""


@contextmanager
def workers_of(
    models: Sequence[Path], config: WorkersConfig, device: str = "auto", batch_size: int | None = None
) -> Iterator[Workers]:
    """Workers that hold some models, until the end of the context.

    Args:
        models: model folders.
        config: how many workers, and where.
        device: `auto`, `cpu`, `cuda` or `mps`; with `cuda` each worker asks for a GPU.
        batch_size: maximum number of texts that a model computes at a time; by default that of the model.

    Raises:
        MissingExtra: if Ray is not installed.
        ConfigError: if there is no such cluster, or if it lacks a GPU.
    """
    with connected(config.address, config.workers) as ray:
        workers = Workers(ray, models, config, device, batch_size)
        try:
            yield workers
        finally:
            workers.close()


class Workers:
    """Workers of a cluster, for one process and thread.

    Args:
        ray: the module, connected.
        models: model folders.
        config: how many workers, and their share of a GPU.
        device: where they compute.
        batch_size: maximum number of texts that a model computes at a time.

    Attributes:
        count: number of workers; some may wait for a free CPU.
    """

    def __init__(
        self,
        ray: Any,
        models: Sequence[Path],
        config: WorkersConfig,
        device: str = "auto",
        batch_size: int | None = None,
    ) -> None:
        self._ray, self._batch_size = ray, batch_size
        resources = ray.cluster_resources()
        self._device, gpus = _device(device, config.gpus, resources.get("GPU", 0))
        free = int(resources["GPU"] / gpus) if gpus else int(resources.get("CPU", 1))
        self.count = config.workers or max(free, 1)
        if self.count > max(free, 1):
            log.info("The cluster has room for %s: the others wait.", plural(max(free, 1), "worker"))
        options = {"num_cpus": 1, "num_gpus": gpus, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(ModelWorker).options(**options)
        self._parcels = [pack_model(path) for path in models]
        self._queue: deque[_Task] = deque()
        self._running: dict[Any, tuple[_Worker, _Task | None]] = {}  # by reference; no task: it is loading
        self._failed_starts = self._numbers = 0
        self._told = False
        self._workers: list[_Worker] = []
        for _ in range(self.count):
            self._start()

    def map(self, work: Work[J, R], jobs: Iterable[J]) -> Iterator[R]:
        """The results of jobs, in their order; several maps may be under way.

        Raises:
            WorkFailed: if the worker of a job dies each time that it is tried.
        """
        self._numbers += 1
        number, sent = self._numbers, (self._ray.put(work),)

        def submit(job: J) -> _Task:
            task = _Task(self, number, sent, job)
            self._queue.append(task)
            self._assign()
            return task

        return map_in_order(submit, jobs, IN_FLIGHT * self.count)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            with suppress(Exception):
                self._ray.kill(worker.actor)
        self._workers, self._running = [], {}
        self._queue.clear()

    def wait_for_loaded(self) -> None:
        """Wait until every worker has loaded the models; for measurements."""
        while any(not worker.ready for worker in self._workers):
            self.advance()

    def forget(self, task: _Task) -> bool:
        """Do not begin a task, if it is not begun; do not try it again."""
        task.wanted = False
        if task not in self._queue:
            return False
        self._queue.remove(task)
        return True

    def advance(self) -> None:
        """Wait until a worker has done something, and give it the next task."""
        self._assign()
        done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=PATIENCE)
        if not done and not self._told and not any(worker.ready for worker in self._workers):
            self._told = True
            log.info("No worker has begun yet: the cluster has no free CPU or GPU, or a machine is still starting.")
        for reference in done:
            self._finish(reference)
        self._assign()

    def _start(self) -> None:
        worker = _Worker(self._actor.remote())
        self._workers.append(worker)
        loading = worker.actor.load.remote(__version__, self._parcels, self._device, self._batch_size)
        self._running[loading] = (worker, None)

    def _assign(self) -> None:
        """Give waiting tasks to workers, to those with the fewest first."""
        while self._queue:
            ready = [worker for worker in self._workers if worker.ready and len(worker.tasks) < AT_WORKER]
            if not ready:
                return
            worker, task = min(ready, key=lambda worker: len(worker.tasks)), self._queue.popleft()
            worker.tasks.append(task)
            self._running[worker.actor.do.remote(task.number, task.work, task.job)] = (worker, task)

    def _finish(self, reference: Any) -> None:
        worker, task = self._running.pop(reference)
        try:
            value = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # a fault; what the user can fix is a value
            fault = error.cause if isinstance(error.cause, Exception) else error
            if task is None:
                raise fault from None
            task.error = fault
        except self._ray.exceptions.RayError as error:
            self._replace(worker, error)
            return
        else:
            if task is None and isinstance(value, VmaskError):
                raise value
            if task is None:
                worker.ready, self._failed_starts = True, 0
            elif isinstance(value, VmaskError):
                task.error = value
            else:
                task.value = value
        if task is not None:
            task.done = True
            worker.tasks.remove(task)

    def _replace(self, worker: _Worker, error: Exception) -> None:
        """Start another worker in the place of one that is lost; its tasks come next."""
        reason = str(error).strip().partition("\n")[0][:LONGEST_REASON]
        self._running = {key: value for key, value in self._running.items() if value[0] is not worker}
        self._workers.remove(worker)
        with suppress(Exception):
            self._ray.kill(worker.actor)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= TRIES * self.count:
                fix = f"{reason} Check that every machine has vmask {__version__} and enough memory."
                if not any(other.ready for other in self._workers):
                    raise WorkFailed(f"The workers of the cluster do not start: {fix}") from None
                log.info("The others go on without a worker that does not start: %s", fix)
                return
        for task in list(worker.tasks)[:1]:  # they are done in order: it was doing the first
            task.tries += 1
            if task.tries >= TRIES:
                worker.tasks.remove(task)
                task.done = True
                task.error = WorkFailed(
                    f"The worker has died {TRIES} times at {task.job}: {reason} Is there enough memory? Try fewer "
                    "workers, or a smaller --batch-size."
                )
            else:
                log.info("A worker has died at %s, which is tried again: %s", task.job, reason)
        self._queue.extendleft(task for task in reversed(worker.tasks) if task.wanted)
        self._start()


def pack_model(path: Path) -> Parcel:
    """Put the files of a model into the object store, and nothing else that its folder may hold."""
    return pack(path, (CONFIG, *(file.name for file in check_files(path, read_config(path)).values())))


@dataclass(eq=False)
class _Worker:
    """An actor, whether it has loaded the models, and its tasks in their order."""

    actor: Any
    ready: bool = False
    tasks: list[_Task] = field(default_factory=list)


@dataclass(eq=False)
class _Task:
    """A job of a work, and its result once it is done."""

    workers: Workers
    number: int
    work: tuple[Any, ...]
    job: Any
    tries: int = 0
    wanted: bool = True
    done: bool = False
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Wait for the result; raise the error of the job."""
        while not self.done:
            self.workers.advance()
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self) -> bool:
        """Do not begin it, if it is not begun."""
        return self.workers.forget(self)


def _device(name: str, gpus: float | None, available: float) -> tuple[str, float]:
    """The device of the workers, and the GPUs of each."""
    if name == "auto":
        name = "cuda" if available >= (gpus or 1) else "cpu"
    if name != "cuda":
        if gpus is not None:
            raise ConfigError("--gpus is for --device cuda. Add it, or leave --gpus out.")
        return name, 0
    if available < (gpus or 1):
        has = f"{available:g} of them" if available else "none"
        raise ConfigError(
            f"A worker with --device cuda needs {gpus or 1:g} GPU, and the cluster has {has}. Use --device cpu, or "
            "--gpus 0.5 to let two workers share one."
        )
    return name, gpus or 1
