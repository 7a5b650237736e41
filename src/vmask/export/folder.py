"""The folder of an export: there in full or not at all, and never in the place of anything but an export."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmask.errors import ExportError, OutputExists, VmaskError
from vmask.files import is_free, make_ordinary

CONFIG, CARD, TOKENIZER = "config.json", "README.md", "tokenizer.json"


def check_target(path: Path, overwrite: bool = False) -> None:
    """Refuse a folder that has something in it, before any work is done.

    Raises:
        OutputExists: with the ways out.
    """
    if is_free(path):
        return
    if exported_files(path) is None:
        raise OutputExists(f"{path} exists and is no export, so it is not replaced. Choose another folder.")
    if not overwrite:
        raise OutputExists(f"{path} exists. Choose another folder, or pass overwrite=True (--overwrite).")


def exported_files(path: Path) -> list[str] | None:
    """Names of the files of an export, as its `config.json` tells them; None for any other folder.

    Both a model folder and an encoder have a `config.json` too: that of an export says what exported it, under `vmask`.
    """
    try:
        names = json.loads((path / CONFIG).read_text(encoding="utf-8"))["vmask"]["files"]
        return [str(name) for name in names if Path(name).name == name]
    except (OSError, ValueError, TypeError, KeyError):
        return None


@contextmanager
def filling(path: Path) -> Iterator[Path]:
    """A folder to write to that becomes `path` at the end, and of which nothing is left if anything fails.

    A new folder comes by one rename. Into a folder that is there the files are moved, `config.json` last, and those of
    the export before it go; other files stay.

    Raises:
        ExportError: where the disk refuses.
    """
    try:
        new = not path.exists()
        home = path.absolute().parent if new else path  # inside, `path` may be the only place we may write to
        home.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=home))
        try:
            yield folder
            if new:
                make_ordinary(folder)  # mkdtemp makes private folders
                folder.rename(path)
            else:
                _move(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except VmaskError:
        raise
    except OSError as error:
        raise ExportError(
            f"The export could not be written to {path}: {error}. Free some space or choose another folder."
        ) from None


def _move(folder: Path, path: Path) -> None:
    old = exported_files(path) or []
    (path / CONFIG).unlink(missing_ok=True)  # from here until the end the folder is no export
    for name in old:
        (path / name).unlink(missing_ok=True)
    for file in sorted(folder.iterdir(), key=lambda file: file.name == CONFIG):
        file.replace(path / file.name)
