"""Atomic replacement of folders: a reader sees the old folder or the new one, never a mixture."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vmask._core.files import in_use, left_behind, set_default_permissions, sweep, sync, temporary_prefix
from vmask.errors import OutputExists

_HERE = -100  # AT_FDCWD: paths are relative to the current folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


@contextmanager
def replacing_folder(path: Path, keep: Iterable[str] = (), last: str = "") -> Iterator[Path]:
    """Yield an empty folder that becomes `path` at the end, or is removed if anything fails.

    It lies beside `path` and is exchanged with it in one step if the system supports that (Linux and macOS), else by
    two renames; `recover` undoes the first if the process was killed between them. If nothing can be written beside
    `path`, or `path` is a mount point, the files are moved into it one by one.

    Args:
        path: the folder; created if it does not exist.
        keep: names in the old folder that are kept in the new one.
        last: name of the file that is moved last if files are moved one by one.
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
            set_default_permissions(folder)  # mkdtemp makes private folders
            for file in folder.rglob("*"):
                sync(file)
            if inside:
                _move_files(folder, path, set(keep), last)
            else:
                _copy_kept(path, folder, keep)
                _replace(path, folder)
            sync(path.parent)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def recover(path: Path) -> None:
    """Rename an old folder back if a killed process left it under its temporary name."""
    path = _resolved(path)
    for old in left_behind(path.parent, path.name):
        if old.suffix == ".old" and not path.exists():
            old.rename(path)


def _resolved(path: Path) -> Path:
    if path.is_symlink() and not path.exists():
        raise OutputExists(f"{path} is a broken link. Choose another folder.")
    return Path(os.path.realpath(path))


def _temporary(path: Path, home: Path, suffix: str = ".tmp") -> Path:
    return Path(tempfile.mkdtemp(prefix=temporary_prefix(path.name), suffix=suffix, dir=home))


def _replace(path: Path, folder: Path) -> None:
    """Put `folder` in the place of `path`."""
    if not path.exists():
        folder.rename(path)
    elif not exchange(folder, path):
        old = _temporary(path, path.parent, ".old")
        old.rmdir()
        path.rename(old)
        folder.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False if the system or the disk does not support it."""
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform)
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    if call is None:
        return False
    paths = os.fsencode(first), os.fsencode(second)
    if sys.platform == "linux":
        return bool(call(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)
    return bool(call(*paths, _EXCHANGE) == 0)


def _copy_kept(path: Path, folder: Path, names: Iterable[str]) -> None:
    """Link or copy what is kept of the old folder `path` into the new one."""
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


def _move_files(folder: Path, path: Path, keep: set[str], last: str) -> None:
    """Move the files one by one, then remove what is neither new nor kept."""
    new = sorted(folder.iterdir(), key=lambda file: file.name == last)
    for file in new:
        target = path / file.name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        file.replace(target)
    stays = keep | {file.name for file in new} | {folder.name}
    for old in path.iterdir():
        if old.name in stays:
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
