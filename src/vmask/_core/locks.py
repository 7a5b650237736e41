"""Locks between processes. The system releases them when the process that holds them ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vmask.errors import OutputExists

CAN_LOCK = os.name == "posix"
"""On other systems, and on some network file systems, nothing is locked."""


def lock(handle: int, wait: bool = False) -> bool:
    """Lock an open file or folder until it is closed. Returns False if another process holds it."""
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
    """Lock a folder for this process alone; it is created if it does not exist.

    Raises:
        OutputExists: if another process holds it.
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
                folder.rmdir()  # if nothing was written


@contextmanager
def only_writer_of(part: Path) -> Iterator[None]:
    """Lock a file that is renamed or removed once it is complete, if the system supports locks; created if need be.

    Raises:
        OutputExists: if another process is writing it, or has just finished.
    """
    with part.open("ab") as stream:
        free = lock(stream.fileno())
        with suppress(FileNotFoundError):  # the other process may have renamed it
            free = free and os.path.samestat(part.stat(), os.fstat(stream.fileno()))
        if not free or not part.exists():
            raise OutputExists(f"Another process is writing {part}. Wait until it is done, or choose another file.")
        yield


@contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Create a folder if necessary, wait until no other process has locked it, and lock it."""
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
        folder.mkdir(parents=True, exist_ok=True)  # the process that held it has removed it
    yield


class Claim:
    """A lock on a file that is there only as long as the lock is held, or until the process that held it was killed.

    Args:
        path: the file.
        handle: the open file; None on a system that cannot lock.
    """

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self.handle = path, handle

    def rewrite(self, content: str) -> None:
        """Replace what others can read in the file."""
        if self.handle is not None:
            with suppress(OSError):  # a full disk; nothing depends on it
                os.truncate(self.handle, 0)
                os.pwrite(self.handle, content.encode(), 0)

    def release(self) -> None:
        """Remove the file and its lock."""
        if self.handle is not None:
            with suppress(OSError):
                self.path.unlink()
            os.close(self.handle)
            self.handle = None


def claim(path: Path, content: str) -> Claim | None:
    """Lock a file for this process alone, without waiting; its folder is created if it does not exist.

    Args:
        path: the file.
        content: what others can read there, such as who holds it.

    Returns:
        None if another process holds it.
    """
    while CAN_LOCK:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # another process has removed the empty folder
            continue
        if not lock(handle):
            os.close(handle)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                taken = Claim(path, handle)
                taken.rewrite(content)
                return taken
        os.close(handle)  # the process that held it has removed it
    return Claim(path, None)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on a file; False if that cannot be known."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not lock(handle)
    finally:
        os.close(handle)
