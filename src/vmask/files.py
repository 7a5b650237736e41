"""Files that are either there in full or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vmask.errors import OutputExists


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; renamed to `path` at the end, removed if anything fails."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        make_ordinary(temporary)  # mkstemp makes private files; a model folder is an ordinary one
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def make_ordinary(path: Path) -> None:
    """Give a file or folder that was made for its owner alone the rights of one that the user makes."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def is_free(path: Path) -> bool:
    """Whether a folder can be filled: it is not there yet, or is empty.

    Raises:
        OutputExists: where nothing can be written there.
    """
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise OutputExists(f"{there} is no folder that can be written to. Choose another.")
    return there != path or not any(path.iterdir())


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
