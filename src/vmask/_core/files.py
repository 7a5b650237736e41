"""Files that are either there in full or not at all, on the disk and not only in its cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vmask.errors import OutputExists

DAY = 86_400.0
"""Seconds after which a temporary file of another machine counts as left behind."""
LONGEST_NAME = 100
"""Characters of a name that the name of its temporary file begins with: file systems limit the whole to 255."""
_TEMPORARY = re.compile(r"\..*\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\w+\.(tmp|old)", re.DOTALL)
_IN_USE: set[str] = set()
"""Temporary names of this process that it still writes to."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; renamed to `path` at the end, removed if anything fails.

    What was written is on the disk before it gets its name. What earlier kills left of the same file is removed.
    """
    handle, name = tempfile.mkstemp(prefix=temporary_prefix(path.name), suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    with in_use(temporary):
        sweep(path.parent, path.name)
        try:
            yield temporary
            make_ordinary(temporary)  # mkstemp makes private files; a model folder is an ordinary one
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def temporary_prefix(name: str) -> str:
    """How the temporary names of `name` begin that this process makes: they say who made them, for `sweep`."""
    return f".{name[:LONGEST_NAME]}.{_host()}-{os.getpid()}-"


def left_behind(folder: Path, name: str | None = None) -> list[Path]:
    """Temporary files and folders in `folder` whose process was killed, of the file `name` or of any, sorted."""
    prefix = "." if name is None else f".{name[:LONGEST_NAME]}."
    try:
        entries = [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return []
    return sorted(path for path in entries if _is_left_behind(path))


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove what earlier kills left behind in `folder`, of the file `name` or of any."""
    for path in left_behind(folder, name):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def remove_folder(path: Path) -> None:
    """Remove a folder: under its name it is there in full or not at all."""
    if not path.is_dir():
        return
    aside = Path(tempfile.mkdtemp(prefix=temporary_prefix(path.name), suffix=".tmp", dir=path.parent))
    with in_use(aside):
        aside.rmdir()
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def make_ordinary(path: Path) -> None:
    """Give a file or folder that was made for its owner alone the rights of one that the user makes."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def sync(path: Path) -> None:
    """Wait until a file or a folder's list of names is on the disk, where the system can tell."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # a folder on Windows
        return
    try:
        os.fsync(handle)
    except OSError:  # not every file system syncs folders
        if not path.is_dir():
            raise
    finally:
        os.close(handle)


def is_free(path: Path) -> bool:
    """Whether a folder can be filled: it is not there yet, or has nothing in it but what a kill left behind.

    Raises:
        OutputExists: where nothing can be written there.
    """
    there = next(folder for folder in (path, *path.absolute().parents) if os.path.lexists(folder))
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise OutputExists(f"{there} is no folder that can be written to. Choose another.")
    return there != path or set(path.iterdir()) <= set(left_behind(path))


def to_json(value: Any) -> str:
    """JSON as we keep it in files: indented, every script readable."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def in_use(temporary: Path) -> Iterator[None]:
    """Keep `sweep` from a temporary file or folder of this process."""
    _IN_USE.add(str(temporary.absolute()))
    try:
        yield
    finally:
        _IN_USE.discard(str(temporary.absolute()))


def _is_left_behind(path: Path) -> bool:
    """Whether who made a temporary file is gone: a process that has ended, or, of another machine, after a day."""
    match = _TEMPORARY.fullmatch(path.name)
    if match is None or str(path.absolute()) in _IN_USE:
        return False
    process = int(match["process"])
    if match["host"] == _host() and os.name == "posix":
        return process == os.getpid() or not _is_alive(process)
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime > DAY
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user
        return True
    return True


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"
