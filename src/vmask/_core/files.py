"""Atomic files: complete or absent, and synced to disk."""

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
"""Seconds after which a temporary file made by another machine counts as left behind."""
LONGEST_NAME = 100
"""Characters of a file name that its temporary name keeps: file systems limit the whole name to 255."""
_TEMPORARY = re.compile(r"\..*\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\w+\.(tmp|old)", re.DOTALL)
_IN_USE: set[str] = set()
"""Temporary paths that this process still writes to."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` at the end, or removed if anything fails.

    The content is synced to disk before the rename. Temporary files that killed processes left of `path` are removed.
    """
    handle, name = tempfile.mkstemp(prefix=temporary_prefix(path.name), suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    with in_use(temporary):
        sweep(path.parent, path.name)
        try:
            yield temporary
            set_default_permissions(temporary)  # mkstemp makes private files
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def temporary_prefix(name: str) -> str:
    """The start of this process's temporary names for `name`; it holds host and process id, which `sweep` reads."""
    return f".{name[:LONGEST_NAME]}.{_host()}-{os.getpid()}-"


def left_behind(folder: Path, name: str | None = None) -> list[Path]:
    """Temporary files and folders in `folder` whose process has ended, sorted; only those of `name` if given."""
    prefix = "." if name is None else f".{name[:LONGEST_NAME]}."
    try:
        entries = [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return []
    return sorted(path for path in entries if _is_left_behind(path))


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes left behind in `folder`; only the leftovers of `name` if given."""
    for path in left_behind(folder, name):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def remove_folder(path: Path) -> None:
    """Remove a folder atomically: it is renamed first, so that nobody sees half of it."""
    if not path.is_dir():
        return
    aside = Path(tempfile.mkdtemp(prefix=temporary_prefix(path.name), suffix=".tmp", dir=path.parent))
    with in_use(aside):
        aside.rmdir()
        with suppress(FileNotFoundError):  # another process has removed it
            path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def set_default_permissions(path: Path) -> None:
    """Replace the private permissions of a temporary file or folder by those that the umask gives."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def sync(path: Path) -> None:
    """Wait until a file, or the list of names of a folder, is on disk, if the system supports it."""
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
    """Whether a folder does not exist, or holds nothing but what killed processes left behind.

    Raises:
        OutputExists: if it cannot be written to.
    """
    nearest = next(folder for folder in (path, *path.absolute().parents) if os.path.lexists(folder))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise OutputExists(f"{nearest} is no folder that can be written to. Choose another.")
    return nearest != path or set(path.iterdir()) <= set(left_behind(path))


def to_json(value: Any) -> str:
    """A value as JSON for a file: indented, with non-ASCII characters as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sha256(path: Path) -> str:
    """The SHA-256 hex digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def in_use(temporary: Path) -> Iterator[None]:
    """Protect a temporary file or folder of this process from `sweep`."""
    _IN_USE.add(str(temporary.absolute()))
    try:
        yield
    finally:
        _IN_USE.discard(str(temporary.absolute()))


def _is_left_behind(path: Path) -> bool:
    """Whether the process that made a temporary file has ended; files of another machine are given a day."""
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
    except OSError:  # the process of another user
        return True
    return True


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"
