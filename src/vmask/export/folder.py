"""The folder of an export: complete or not there at all, and never replacing anything but an export."""

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
    """Check that an export can be written to a folder, before any work is done.

    Raises:
        OutputExists: if the folder is in use, with what to do.
    """
    recover(path)
    if is_free(path) or left_behind(path, path.resolve().name):  # of an export that was killed while it moved files
        return
    if exported_files(path) is None:
        raise OutputExists(f"{path} exists and is no export, so it is not replaced. Choose another folder.")
    if not overwrite:
        raise OutputExists(f"{path} exists. Choose another folder, or pass overwrite=True (--overwrite).")


def exported_files(path: Path) -> list[str] | None:
    """Names of the files of an export, from its `config.json`; None for any other folder.

    Both a model folder and an encoder have a `config.json` too: that of an export has a key `vmask`.
    """
    try:
        names = read_json(path / CONFIG)["vmask"]["files"]
        return [str(name) for name in names if Path(name).name == name]
    except (OSError, DataError, TypeError, KeyError):
        return None


@contextmanager
def filling(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path` at the end, and is removed if anything fails.

    The files of an earlier export are removed, other files stay.

    Raises:
        ExportError: if the disk refuses.
    """
    old = [*(exported_files(path) or ()), *(entry.name for entry in left_behind(path))]
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
