"""Write a report beside its model: whole or not at all, and never one that is not of the model."""

from __future__ import annotations

from pathlib import Path

from vmask.errors import OutputExists
from vmask.files import write_text
from vmask.model_report.content import Content
from vmask.model_report.render import GENERATOR, render

REPORT = "report.html"
"""Name of the report in a model folder."""
HEAD = 2000
"""Bytes at the beginning of a page among which it says what it is."""


def check_replaceable(path: Path) -> None:
    """Refuse a place where something else stands.

    Raises:
        OutputExists: with the way out.
    """
    if path.is_dir():
        raise OutputExists(f"{path} is a folder. Name a file.")
    if path.exists() and not _is_ours(path):
        raise OutputExists(f"{path} exists and is no report of a model. Choose another file, or move it away.")


def write_report(content: Content, path: Path) -> Path:
    """Write the page.

    Raises:
        OutputExists: where something else stands there.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render(content))
    return path


def forget(folder: Path) -> None:
    """Take the report of a model away that is about to be replaced, so that none is left of another model."""
    path = folder / REPORT
    if path.is_file() and _is_ours(path):
        path.unlink()


def _is_ours(path: Path) -> bool:
    with path.open("rb") as stream:
        return GENERATOR.encode() in stream.read(HEAD)
