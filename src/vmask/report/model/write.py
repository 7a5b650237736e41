"""Write a report beside its model: whole or not at all, and never one that is not of the model."""

from __future__ import annotations

from pathlib import Path

from vmask._core.files import write_text
from vmask.errors import OutputExists
from vmask.persistence.model_folder import CONFIG, REPORT, is_report, note_report
from vmask.report.model.content import Content
from vmask.report.model.render import render


def check_replaceable(path: Path) -> None:
    """Refuse a place where something else stands.

    Raises:
        OutputExists: with the way out.
    """
    if path.is_dir():
        raise OutputExists(f"{path} is a folder. Name a file.")
    if path.exists() and not is_report(path):
        raise OutputExists(f"{path} exists and is no report of a model. Choose another file, or move it away.")


def write_report(content: Content, path: Path, digest: str | None = None) -> Path:
    """Write the page.

    Args:
        content: what stands on it.
        path: the file.
        digest: of the model that it is about, where the page lies in its folder.

    Raises:
        OutputExists: where something else stands there.
        ModelFolderError: where the folder holds another model by now.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render(content))
    if path.name == REPORT and (path.parent / CONFIG).is_file():
        note_report(path.parent, digest)
    return path
