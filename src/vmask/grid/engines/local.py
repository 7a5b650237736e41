"""Processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import connection
from multiprocessing.process import BaseProcess

from vmask.grid.engines.contract import Event, Finished, Started
from vmask.grid.experiment import Experiment
from vmask.grid.job import Job, Product
from vmask.grid.worker import Places, Worker


class LocalEngine:
    """Processes that each do one job at a time; one that dies takes only its own job along.

    Args:
        experiment: the experiment.
        places: folders and threads.
        jobs: number of processes.
    """

    def __init__(self, experiment: Experiment, places: Places, jobs: int) -> None:
        self.experiment, self.places, self.jobs = experiment, places, jobs
        self._idle: list[_Process] = []
        self._running: dict[Future[Product], tuple[_Process, Job]] = {}
        self._started: list[Started] = []

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes; an interrupted training resumes from its checkpoint in the next run."""
        processes = [*self._idle, *(process for process, _ in self._running.values())]
        for process in processes:  # all at once: whoever presses Ctrl-C again interrupts the rest
            process.terminate()
        for process in processes:
            process.join()

    @property
    def running(self) -> Collection[Job]:
        """The jobs that were started and have not ended."""
        return [job for _, job in self._running.values()]

    @property
    def free(self) -> bool:
        """Whether another job can be started."""
        return len(self._running) < self.jobs

    def start(self, job: Job) -> None:
        """Give a job to an idle process, or to a new one."""
        self._idle = [process for process in self._idle if process.is_alive()]
        process = self._idle.pop() if self._idle else _Process(self.experiment, self.places)
        self._running[process.submit(job)] = (process, job)
        self._started.append(Started(job, ""))

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """Wait until jobs have ended, at most this many seconds."""
        yield from self._started
        self._started.clear()
        for future in wait(self._running, timeout, FIRST_COMPLETED).done:
            process, job = self._running.pop(future)
            try:
                product = future.result()
                self._idle.append(process)
            except BrokenProcessPool:
                product = Product(error=process.how_it_ended())
            except Exception as error:  # such as a product that cannot be sent
                product = Product(error=f"{type(error).__name__}: {error}")
                self._idle.append(process)
            yield Finished(job, product)


class _Process:
    """A process that does one job at a time: an executor of its own, because one that dies breaks its executor."""

    def __init__(self, experiment: Experiment, places: Places) -> None:
        before = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")  # threads of torch do not survive a fork
        self._executor = ProcessPoolExecutor(1, context, _prepare, (experiment, places))
        self._executor.submit(_nothing)  # starts the process
        self._process: BaseProcess = next(iter(set(multiprocessing.active_children()) - before))

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def is_alive(self) -> bool:
        # Not `Process.is_alive`: the executor's thread waits for the process too, and until that thread has noted how
        # it ended, this one would be told that it runs.
        return not connection.wait([self._process.sentinel], timeout=0)

    def submit(self, job: Job) -> Future[Product]:
        try:
            return self._executor.submit(_do, job)
        except BrokenProcessPool as error:  # it has just died
            broken: Future[Product] = Future()
            broken.set_exception(error)
            return broken

    def terminate(self) -> None:
        self._process.terminate()

    def join(self) -> None:
        self._process.join()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def how_it_ended(self) -> str:
        self._process.join()
        self._executor.shutdown(wait=True)
        code = self._process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        hint = " Was there enough memory? Try fewer --jobs." if code == -signal.SIGKILL else ""
        return f"The process ended with {how}.{hint}"


_lasting = ExitStack()
"""What lasts as long as the process."""
_worker: Worker
"""The worker of this process, if it is one of an engine."""


def _prepare(experiment: Experiment, places: Places) -> None:
    """Prepare a process for jobs."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the main process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare_process(places)
    _worker = Worker(experiment, places)


def prepare_process(places: Places) -> None:
    """Set threads and warnings of a process that does jobs, and let it keep the last word vectors in memory."""
    import torch

    from vmask.errors import TrackerWarning, VmaskWarning
    from vmask.pretrained.word_vectors import remembering_vectors

    torch.set_num_threads(places.threads)
    warnings.simplefilter("ignore", VmaskWarning)  # repeated by hundreds of trainings they would hide the results
    warnings.simplefilter("default", TrackerWarning)
    _lasting.enter_context(remembering_vectors())


def _do(job: Job) -> Product:
    try:
        return _worker.do(job)
    except BaseException as error:  # a library that exits or panics must not end the grid
        return Product(error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())


def _nothing() -> None:
    pass


def _end_with_parent() -> None:
    """End this process as soon as the main process is gone, even in the middle of a training.

    Otherwise it would go on for hours, beside the processes of the next run and in the same folders.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
