"""The folder of an export: there in full or not at all, and never in the place of anything but an export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmask._core.files import is_free, left_behind
from vmask._core.folders import recover, replacing_folder
from vmask._core.parsing import read_json
from vmask.errors import DataError, ExportError, OutputExists, VmaskError

CONFIG, CARD, TOKENIZER = "config.json", "README.md", "tokenizer.json"


def check_target(path: Path, overwrite: bool = False) -> None:
    """Refuse a folder that has something in it, before any work is done.

    Raises:
        OutputExists: with the ways out.
    """
    recover(path)
    if is_free(path) or left_behind(path, path.resolve().name):  # one that was killed while it moved files into it
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
        names = read_json(path / CONFIG)["vmask"]["files"]
        return [str(name) for name in names if Path(name).name == name]
    except (OSError, DataError, TypeError, KeyError):
        return None


@contextmanager
def filling(path: Path) -> Iterator[Path]:
    """A folder to write to that becomes `path` at the end, and of which nothing is left if anything fails.

    The files of an export that was there go, other files stay.

    Raises:
        ExportError: where the disk refuses.
    """
    old = [*(exported_files(path) or ()), *(one.name for one in left_behind(path))]
    others = [entry.name for entry in path.iterdir() if entry.name not in old] if path.is_dir() else []
    try:
        with replacing_folder(path, keep=others, last=CONFIG) as folder:
            yield folder
    except VmaskError:
        raise
    except OSError as error:
        raise ExportError(
            f"The export could not be written to {path}: {error}. Free some space or choose another folder."
        ) from None
