"""The workers of a command that works on many texts: those of a cluster with `--engine ray`, else this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vmask.config import WorkersConfig
    from vmask.inference.work import Map


@contextmanager
def sharing(
    where: WorkersConfig, models: Sequence[Path], device: str, batch_size: int | None = None
) -> Iterator[Map | None]:
    """What shares the work among the workers of a cluster; None if it is done in this process.

    If a number of workers is given, each computes by one thread, so that the results do not depend on the engine.
    """
    from vmask.inference.threads import single_threaded

    if where.engine == "ray":
        from vmask.cluster.workers import workers_of

        with workers_of(models, where, device, batch_size) as workers, single_threaded():
            yield workers.map
    else:
        with single_threaded() if where.workers else nullcontext():
            yield None


def device_here(where: WorkersConfig, device: str) -> str:
    """The device of this process: the GPUs of a cluster are for its workers."""
    return "cpu" if where.engine == "ray" else device
