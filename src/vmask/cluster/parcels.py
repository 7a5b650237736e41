"""Files and folders that travel to the machines of a cluster, once to each, where they are kept by their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vmask._core.folders import replacing_folder
from vmask._core.locks import taking_turns
from vmask.cluster.connection import import_ray
from vmask.data.downloads import cache_dir

Files = dict[str, npt.NDArray[np.uint8]]
"""Contents of files by their paths, as arrays, which Ray does not copy."""
PARCELS = "parcels"
"""Subfolder of the cache of a machine; it may be deleted at any time."""


@dataclass(frozen=True)
class Parcel:
    """A file or folder that was put into the object store of a cluster.

    Attributes:
        name: name of the file or folder.
        digest: SHA-256 of the names and contents of its files.
        content: a reference to its files; inside of a tuple, Ray does not fetch them before they are needed.
    """

    name: str
    digest: str
    content: tuple[Any]

    def unpacked(self) -> Path:
        """The path of the file or folder in the cache of this machine; it is fetched if it is missing.

        Raises:
            ray.exceptions.RayError: if it is missing and its content is lost.
        """
        path = cache_dir() / PARCELS / self.digest / self.name
        if not path.exists():
            with taking_turns(path.parents[1] / f"{self.digest}.lock"):
                if not path.exists():
                    write_files(path.parent, import_ray().get(self.content[0]))
        return path


def pack(path: Path, names: Sequence[str] | None = None, beside: Iterable[Path] = ()) -> Parcel:
    """Put a file or folder into the object store.

    Args:
        path: the file or folder.
        names: the files of the folder; by default all.
        beside: other files of the folder that it is in, which come along.
    """
    path = path.absolute()
    files = read_files(path) if names is None else {f"{path.name}/{name}": _read(path / name) for name in names}
    for other in beside:
        files |= read_files(other)
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content.data)
    return Parcel(path.name, digest.hexdigest(), (import_ray().put(files),))


def read_files(path: Path) -> Files:
    """The content of a file, or of all files of a folder, by their paths, which begin with its name."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path.parent).as_posix(): _read(file) for file in files}


def write_files(folder: Path, files: Files) -> None:
    """Replace a folder by one that has what `read_files` has read."""
    with replacing_folder(folder) as temporary:
        for name, content in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content.tofile(path)


def _read(path: Path) -> npt.NDArray[np.uint8]:
    return np.fromfile(path, np.uint8)
