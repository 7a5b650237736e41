"""A pool of processes. One that dies takes only its own task along."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from vmask.grid.experiment import Experiment
from vmask.grid.task import Task
from vmask.grid.worker import Places, Worker


class Pool:
    """Processes that each do one task at a time.

    Args:
        experiment: the experiment.
        places: folders and threads.
        jobs: number of processes.
    """

    def __init__(self, experiment: Experiment, places: Places, jobs: int) -> None:
        self.experiment, self.places, self.jobs = experiment, places, jobs
        self.context = multiprocessing.get_context("spawn")  # threads of torch do not survive a fork
        self.running: dict[Connection, tuple[BaseProcess, Task]] = {}
        self.idle: list[tuple[Connection, BaseProcess]] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes; an interrupted training resumes from its checkpoint in the next run."""
        processes = [process for process, _ in self.running.values()] + [process for _, process in self.idle]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()

    @property
    def free(self) -> bool:
        """Whether another task can be started."""
        return len(self.running) < self.jobs

    def start(self, task: Task) -> None:
        """Give a task to an idle process, or to a new one."""
        self.idle = [(pipe, process) for pipe, process in self.idle if process.is_alive()]
        pipe, process = self.idle.pop() if self.idle else self._process()
        with suppress(ConnectionError):  # a process that has just died is noticed by `finished`
            pipe.send(task)
        self.running[pipe] = (process, task)

    def finished(self, timeout: float | None = None) -> Iterator[tuple[Task, str, bool]]:
        """Wait for tasks to end, at most this many seconds; gives each with its error, and whether its process died."""
        for pipe in wait(list(self.running), timeout):
            assert isinstance(pipe, Connection)
            process, task = self.running.pop(pipe)
            try:
                error, died = pipe.recv(), False
                self.idle.append((pipe, process))
            except (EOFError, OSError):  # OSError: it died in the middle of its answer
                pipe.close()
                process.join()
                code = process.exitcode or 0
                how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
                hint = " Was there enough memory? Try fewer --jobs." if code == -signal.SIGKILL else ""
                error, died = f"The process ended with {how}.{hint}", True
            yield task, error, died

    def _process(self) -> tuple[Connection, BaseProcess]:
        local, remote = self.context.Pipe()
        process = self.context.Process(target=serve, args=(remote, self.experiment, self.places), daemon=True)
        process.start()
        remote.close()
        return local, process


def serve(pipe: Connection, experiment: Experiment, places: Places) -> None:
    """Do tasks until there are no more: the main function of a process of the pool."""
    import warnings

    import torch

    from vmask.errors import TrackerWarning, VmaskWarning
    from vmask.pretrained.word_vectors import remembering_vectors

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the main process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(places.threads)
    warnings.simplefilter("ignore", VmaskWarning)  # repeated by hundreds of trainings they would hide the results
    warnings.simplefilter("default", TrackerWarning)
    worker = Worker(experiment, places)
    with suppress(EOFError, ConnectionError), remembering_vectors():
        while True:
            pipe.send(worker.do(pipe.recv()))


def _end_with_parent() -> None:
    """End this process as soon as the main process is gone, even in the middle of a training.

    Otherwise it would go on for hours, beside the processes of the next run and in the same folders.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
