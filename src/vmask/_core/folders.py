"""Folders that are replaced as a whole: a reader finds the old one or the new one, never a mixture."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vmask._core.files import in_use, left_behind, make_ordinary, sweep, sync, temporary_prefix
from vmask.errors import OutputExists

_HERE = -100  # AT_FDCWD: paths are relative to the current folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


@contextmanager
def replacing_folder(path: Path, keep: Iterable[str] = (), last: str = "") -> Iterator[Path]:
    """An empty folder to fill that becomes `path` at the end; nothing is left of it if anything fails.

    It lies beside `path` and is exchanged with it in one step where the system can (Linux and macOS), else by two
    renames; `recover` undoes the first where a kill came between them. Where nothing can be written beside `path`, or
    `path` is a mounted disk, the files are moved into it one after the other.

    Args:
        path: the folder; made where it is not there.
        keep: names in the old folder that belong to the new one too.
        last: name of the file that is moved last, where files are moved one after the other.
    """
    path = _resolved(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    recover(path)
    inside = path.exists() and (os.path.ismount(path) or not os.access(path.parent, os.W_OK))
    folder = _temporary(path, path if inside else path.parent)
    with in_use(folder):
        sweep(folder.parent, path.name)
        try:
            yield folder
            make_ordinary(folder)  # mkdtemp makes private folders
            for file in folder.rglob("*"):
                sync(file)
            if inside:
                _move(folder, path, set(keep), last)
            else:
                _link(path, folder, keep)
                _put(folder, path)
            sync(path.parent)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def recover(path: Path) -> None:
    """Put an old folder back that a kill left under its temporary name."""
    path = _resolved(path)
    for old in left_behind(path.parent, path.name):
        if old.suffix == ".old" and not path.exists():
            old.rename(path)


def _resolved(path: Path) -> Path:
    if path.is_symlink() and not path.exists():
        raise OutputExists(f"{path} is a link that leads nowhere. Choose another folder.")
    return Path(os.path.realpath(path))


def _temporary(path: Path, home: Path, suffix: str = ".tmp") -> Path:
    return Path(tempfile.mkdtemp(prefix=temporary_prefix(path.name), suffix=suffix, dir=home))


def _put(folder: Path, path: Path) -> None:
    """Make `folder` what is found at `path`."""
    if not path.exists():
        folder.rename(path)
    elif not exchange(folder, path):
        old = _temporary(path, path.parent, ".old")
        old.rmdir()
        path.rename(old)
        folder.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the disk cannot."""
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform)
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    if call is None:
        return False
    paths = [os.fsencode(one), os.fsencode(other)]
    where = [value for path in paths for value in (_HERE, path)] if sys.platform == "linux" else paths
    return bool(call(*where, _EXCHANGE) == 0)


def _link(path: Path, folder: Path, names: Iterable[str]) -> None:
    """Give the new folder what stays of the old one, without taking it from there."""
    for name in names:
        source, target = path / name, folder / name
        if target.exists() or not os.path.lexists(source):
            continue
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            try:
                target.hardlink_to(source)
            except OSError:  # a file system without links
                shutil.copy2(source, target, follow_symlinks=False)


def _move(folder: Path, path: Path, keep: set[str], last: str) -> None:
    """Move the files one after the other, then remove what is neither new nor to be kept."""
    new = sorted(folder.iterdir(), key=lambda file: file.name == last)
    for file in new:
        target = path / file.name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        file.replace(target)
    for old in path.iterdir():
        if old.name not in keep and old.name not in {file.name for file in new} and old != folder:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
