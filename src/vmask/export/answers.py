"""Ask an export: the probabilities that the files of a folder give, as a program without vmask computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmask._core.parsing import read_json
from vmask.errors import DataError, ExportError
from vmask.export.folder import CONFIG

Answers = Callable[[Sequence[str]], NDArray[np.float32]]
"""Maps texts to probabilities (N, C)."""


def answers_of(folder: Path) -> Answers:
    """A function that asks an export, whose files are read once.

    Raises:
        ExportError: if the folder is no export.
    """
    try:
        facts = read_json(folder / CONFIG)
        kind, pieces = facts["vmask"]["export"], "input_ids" in facts.get("inputs", ())
    except (OSError, DataError, TypeError, KeyError):
        raise ExportError(f"{folder} is no export. Make one with: vmask export DIR {folder}") from None
    if kind == "hf":
        from vmask.export.hf import hf_answers

        return hf_answers(folder)
    if pieces:
        from vmask.export.encoder_onnx import encoder_onnx_answers

        return encoder_onnx_answers(folder)
    from vmask.export.onnx import onnx_answers, segmenter_of

    return onnx_answers(folder, segmenter_of(folder))
