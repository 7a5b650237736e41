"""A cluster, by Ray Core. The driver writes all result files, so that machines need no common disk."""

from __future__ import annotations

import math
import os
import socket
import time
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from vmask.cluster.connection import connected
from vmask.cluster.parcels import Files, read_files, write_files
from vmask.errors import ConfigError, VmaskError, WorkFailed
from vmask.grid.engines.contract import Event, Finished, Started, Waiting
from vmask.grid.engines.local import prepare_process
from vmask.grid.engines.shipment import Shipment, Shipper, worker_places
from vmask.grid.experiment import Experiment, Resources
from vmask.grid.job import Job, Product
from vmask.grid.provenance import facts
from vmask.grid.worker import Places, Worker

TRIES = 4
"""Number of workers that may die over a job before it counts as failed."""
MOST_LOST = 20
"""Number of machines that may die under a job, and of workers before they begin with it: that is not its fault."""
MOST_FAULTS = 12
"""Number of jobs in a row that may fail before they begin."""
TELL_AGAIN = 60.0
"""Seconds between two messages about missing resources."""
LOOK_AT_CLUSTER = 5.0
"""Seconds after which the size of the cluster, which may grow, is read again."""


class RayEngine:
    """Jobs as tasks of Ray. What dies with a worker or a machine is tried again elsewhere.

    Args:
        experiment: the experiment, which says what resources each kind of task takes.
        places: folders of the driver, and threads of each worker.
        address: see `connected`.
        cpus: CPUs of a cluster of this machine alone; by default all.
    """

    def __init__(
        self, experiment: Experiment, places: Places, address: str | None = None, cpus: int | None = None
    ) -> None:
        self.experiment, self.places = experiment, replace(places, results=places.results.resolve())
        self._connection: AbstractContextManager[Any] = connected(address, cpus)
        self._shipper = Shipper(experiment, self.places)
        self._running: dict[Any, Attempt] = {}
        self._finished: list[Finished] = []
        self._faults = 0
        self._slots, self._looked_at, self._told_at = 0, -math.inf, -math.inf

    def __enter__(self) -> RayEngine:
        self.ray = self._connection.__enter__()
        self._order = self.ray.put(Order(self.experiment, self.places, facts()["versions"], uuid4().hex))
        self._do = self.ray.remote(_do)
        self._do_on_gpu = self.ray.remote(max_calls=1)(_do)  # a process that has used a GPU stays bound to it
        return self

    def __exit__(self, *error: Any) -> None:
        """End the jobs that are running, and leave the cluster."""
        for stream in self._running:
            with suppress(Exception):
                self.ray.cancel(stream, force=True)
        self._connection.__exit__(*error)

    @property
    def running(self) -> Collection[Job]:
        """The jobs that were started and have not ended."""
        return [*(attempt.job for attempt in self._running.values()), *(event.job for event in self._finished)]

    @property
    def free(self) -> bool:
        """Whether another job can be started: a few more than the cluster has CPUs for, so that none is idle."""
        if time.monotonic() - self._looked_at > LOOK_AT_CLUSTER:
            cpus = int(self.ray.cluster_resources().get("CPU", 0))
            self._slots, self._looked_at = cpus + max(2, cpus // 4), time.monotonic()
        return len(self._running) < self._slots

    def start(self, job: Job) -> None:
        """Give a job to the cluster."""
        self._submit(Attempt(job))

    def _submit(self, attempt: Attempt) -> None:
        job = attempt.job
        resources = self.experiment.resources_of(job.task.kind)
        do = self._do_on_gpu if resources.gpus else self._do
        try:
            shipment = self._shipper.shipment(job)
            task = do.options(name=job.task.title, **_options(resources, self.places.threads))
            stream = task.remote(self._order, resources.gpus, job, shipment)
        except Exception as error:  # a file that is missing, a disk or an object store that is full
            message = str(error) if isinstance(error, VmaskError) else f"{type(error).__name__}: {error}"
            self._finished.append(Finished(job, Product(error=message, trace=traceback.format_exc())))
            return
        self._running[stream] = attempt

    def _told_what_is_missing(self) -> Iterator[Waiting]:
        """A message about a kind of task that no machine of the cluster has the resources for, now and then."""
        if time.monotonic() - self._told_at < TELL_AGAIN:
            return
        machines = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        for kind in dict.fromkeys(attempt.job.task.kind for attempt in self._running.values()):
            resources = self.experiment.resources_of(kind)
            memory = resources.memory_gb or 0.0
            wanted = {"CPU": resources.cpus or self.places.threads, "GPU": resources.gpus, "memory": memory * 2**30}
            if not any(all(has.get(name, 0) >= number for name, number in wanted.items()) for has in machines):
                self._told_at = time.monotonic()
                yield Waiting(
                    f"no machine of the cluster has {wanted['CPU']:g} CPUs, {wanted['GPU']:g} GPUs and {memory:g} GB, "
                    f"which {kind} takes: waiting for one. Or ask for less under `engine` in the experiment's file."
                )

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """Wait until a job begins or ends, at most this many seconds."""
        if self._finished:
            yield self._finished.pop()
            return
        patience = LOOK_AT_CLUSTER if timeout is None else min(timeout, LOOK_AT_CLUSTER)
        ready, _ = self.ray.wait(list(self._running), timeout=patience)
        for stream in ready:
            yield from self._next(stream)
        if not ready:
            yield from self._told_what_is_missing()

    def _next(self, stream: Any) -> Iterator[Event]:
        """The next event of a job: it has begun, or it has ended."""
        attempt = self._running[stream]
        job = attempt.job
        try:
            value = self.ray.get(next(stream))
        except (self.ray.exceptions.RayError, StopIteration) as error:  # its worker or machine has died, or is unfit
            self._running.pop(stream)
            yield from self._try_again(attempt, error)
            return
        if isinstance(value, str):
            self._running[stream] = replace(attempt, begun=True)
            yield Started(job, value)
            return
        product, model = value
        self._running.pop(stream)
        self._faults = 0
        if model:
            write_files(self.places.models / product.model, model)
        yield Finished(job, product)

    def _try_again(self, attempt: Attempt, error: Exception) -> Iterator[Event]:
        """Give a job to the cluster again, a number of times.

        Raises:
            WorkFailed: if job after job fails before it begins, as on a machine without vmask.
        """
        cause = getattr(error, "cause", None)  # of what was raised on the machine
        reason = str(cause or error).strip().partition("\n")[0]
        self._faults += cause is not None
        if self._faults >= MOST_FAULTS:
            raise WorkFailed(
                f"A machine of the cluster can do no job: {reason} Repair it, or take it out and run again."
            )
        if cause is None and (not attempt.begun or isinstance(error, self.ray.exceptions.NodeDiedError)):
            attempt = replace(attempt, begun=False, lost=attempt.lost + 1)
        else:
            attempt = replace(attempt, begun=False, died=attempt.died + 1)
        if attempt.died < TRIES and attempt.lost < MOST_LOST:
            self._submit(attempt)
            return
        if cause is not None:
            what = f"The job failed {TRIES} times before it began."
        elif attempt.died == TRIES:
            what = f"The worker died {TRIES} times. Was there enough memory? Ask for more under `engine`."
        else:
            what = f"The machine was lost {MOST_LOST} times."
        yield Finished(attempt.job, Product(error=f"{what} {reason}".strip()))


def _options(resources: Resources, threads: int) -> dict[str, Any]:
    """The options of a task of Ray."""
    memory = {} if resources.memory_gb is None else {"memory": int(resources.memory_gb * 2**30)}
    return {
        "num_cpus": resources.cpus or threads,
        "num_gpus": resources.gpus,
        "num_returns": "streaming",
        "max_retries": 0,  # the driver tries again: it knows the trials that are done
        "scheduling_strategy": "SPREAD",
        **memory,
    }


@dataclass(frozen=True)
class Attempt:
    """A job that was given to the cluster.

    Attributes:
        job: the job.
        begun: whether its worker has begun with it.
        died: number of workers that have died over it, or could not begin with it.
        lost: number of machines that have died under it, and of workers that have died before they began with it.
    """

    job: Job
    begun: bool = False
    died: int = 0
    lost: int = 0


@dataclass(frozen=True)
class Order:
    """What is the same for all jobs of a driver.

    Attributes:
        experiment: the experiment.
        places: folders of the driver, and threads.
        versions: versions of the packages of the driver.
        driver: identifies the driver.
    """

    experiment: Experiment
    places: Places
    versions: Mapping[str, str]
    driver: str


_worker: tuple[str, Worker] | None = None
"""The worker of this process, and the driver that it works for."""


def _do(order: Order, gpus: float, job: Job, shipment: Shipment) -> Iterator[Any]:
    """Do a job on a machine of the cluster: gives where that is, then the product with the files of a new model.

    Raises:
        ConfigError: if the machine has other versions than the driver.
    """
    global _worker
    machine = socket.gethostname()
    _check_versions(order.versions, machine)
    yield f"{machine}, process {os.getpid()}"
    here = worker_places(order.places, order.experiment, shipment, gpus)
    if _worker is None or _worker[0] != order.driver:
        prepare_process(here)
        _worker = order.driver, Worker(order.experiment, here, shipment)
    worker = _worker[1]
    worker.places, worker.sources = here, shipment
    shipment.unpack_assets()
    product = worker.do(job)
    model: Files = {}
    if product.model is not None:
        model = {name.partition("/")[2]: content for name, content in read_files(here.models / product.model).items()}
    yield product, model


def _check_versions(wanted: Mapping[str, str], machine: str) -> None:
    """Check that this machine has the versions of the driver: trials and models of others would not count there."""
    found = facts()["versions"]
    for name, version in wanted.items():
        if found.get(name) != version:
            raise ConfigError(
                f"The machine {machine} has {name} {found.get(name, 'not at all')}, the driver has {version}. Install "
                "the same on both."
            )
