"""Export of trained classifiers for programs without vmask, by `export_model`. One file a format."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from vmask.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from vmask.training.trained_model import TrainedModel

FORMATS = ("hf", "onnx")
WRITERS = {
    "words": {"onnx": ("vmask.export.onnx", "write_onnx")},
    "pieces": {"hf": ("vmask.export.hf", "write_hf"), "onnx": ("vmask.export.encoder_onnx", "write_encoder_onnx")},
}
"""Module and function that write a format, by what a model reads; the first format is the default."""


@dataclass(frozen=True)
class Written:
    """The result of writing the files of a format.

    Attributes:
        folded: whether the mask is folded into the vectors, so that nothing of it is left to compute.
        difference: maximum difference of a probability from the model's, over sample texts.
        notes: notes for the user, a sentence each.
    """

    folded: bool
    difference: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ExportResult:
    """A finished export.

    Attributes:
        path: the folder.
        format: one of `FORMATS`.
        folded: whether the mask is folded into the vectors, so that nothing of it is left to compute.
        difference: maximum difference of a probability from the model's, over sample texts.
        files: names of the files in the folder.
        sizes: size of each file in bytes.
        notes: notes for the user, a sentence each.
    """

    path: Path
    format: str
    folded: bool
    difference: float
    files: tuple[str, ...]
    sizes: dict[str, int]
    notes: tuple[str, ...]


def export_model(
    trained: TrainedModel, path: str | Path, format: str | None = None, overwrite: bool = False
) -> ExportResult:
    """Write a trained model for programs without vmask, and compare its predictions with the model's.

    Args:
        trained: the model; it is not changed.
        path: the folder; complete at the end, or not there at all.
        format: one of `FORMATS`; None is `onnx` for models over words, `hf` for encoders.
        overwrite: replace an existing export. Other folders are never replaced.

    Raises:
        OutputExists: if the folder is in use.
        UnknownName, ConfigError: for a format that does not exist, or not for this model.
        MissingExtra: if the packages of the format are not installed.
        ExportError: if the model cannot be written, or the export predicts otherwise than the model.
    """
    from vmask.export.folder import check_target, filling

    path = Path(path)
    format = choose_format(trained, format)
    check_target(path, overwrite)
    with filling(path) as folder:
        written = _write(trained, format, folder)
        sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    return ExportResult(path, format, written.folded, written.difference, tuple(sizes), sizes, written.notes)


def choose_format(trained: TrainedModel, format: str | None) -> str:
    """The requested format, or the default one of the model.

    Raises:
        UnknownName, ConfigError: for a format that does not exist, or not for this model.
    """
    writers = WRITERS[trained.predictor.model.encoder.reads]
    if format is None:
        return next(iter(writers))
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if format not in writers:
        raise ConfigError(
            f"A {trained.plan.model} cannot be a Hugging Face folder: transformers has no class that loads it. "
            "Use --format onnx."
        )
    return format


def _write(trained: TrainedModel, format: str, folder: Path) -> Written:
    module, function = WRITERS[trained.predictor.model.encoder.reads][format]
    written: Written = getattr(import_module(module), function)(trained, folder)
    return written
