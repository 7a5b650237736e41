"""Locks between processes. They end with the process that holds them, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vmask.errors import OutputExists

CAN_LOCK = os.name == "posix"
"""Elsewhere, and on some network file systems, everybody goes on."""


def lock(handle: int, wait: bool = False) -> bool:
    """Lock an open file or folder until it is closed. Returns False where another process holds it."""
    if CAN_LOCK:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:  # a file system that cannot lock
            pass
    return True


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; made where it is not there.

    Raises:
        OutputExists: where another process holds it.
    """
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY) if CAN_LOCK else None
    try:
        if handle is not None and not lock(handle):
            raise OutputExists(
                f"Another process is writing to {folder}. Wait until it is done, or choose another folder."
            )
        yield
    finally:
        if handle is not None:
            os.close(handle)
        if new:
            with suppress(OSError):
                folder.rmdir()  # of work that failed before it wrote anything


@contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Make a folder, wait until no other process is at it, and keep others out."""
    folder.mkdir(parents=True, exist_ok=True)
    while CAN_LOCK:
        handle = os.open(folder, os.O_RDONLY)
        try:
            lock(handle, wait=True)
            if folder.exists() and os.path.samestat(os.fstat(handle), folder.stat()):
                yield
                return
        finally:
            os.close(handle)
        folder.mkdir(parents=True, exist_ok=True)  # who held it has removed it
    yield
