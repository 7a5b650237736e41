"""Reading a predictor from the files of a model folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from vmask._core.parsing import read_text
    counts, known = _column(tensors, "words.count", torch.int64), _column(tensors, "words.known", torch.uint8) > 0
    if not len(words.words) == len(counts) == len(known) == len(tensors[VECTORS]):
        raise ModelFolderError("its tokenizer has another number of words than its vectors")
    tuned = tensors[VECTORS].dtype != torch.float16
    model = _with_stored(plan.build(tensors[VECTORS].float(), tuned, len(labels)), shapes)
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    pad_length = words.max_words if plan.train.pad_to_max else 0
    if pad_length * len(tensors[VECTORS][0]) > MOST_PADDED:
        raise ModelFolderError(f"it pads every text to {pad_length:,} words, more than fit into the memory")
    return WordPredictor(model, words, labels, counts, known, device, pad_length)


def _load_weights(weights: Path) -> dict[str, Tensor]:
    """All tensors of a file but the answers to the dev texts."""
    return {name: one for name, one in load_file(weights).items() if name not in (DEV_CONFIDENCE, DEV_RIGHT)}


def _with_stored(model: MaskedClassifier, shapes: Shapes) -> MaskedClassifier:
    """The model with places for what is stored of it only where there is any.

    These are the baseline that `auto` stood for in the training, if that was not zero, and the edits.
    """
    if BASELINE in shapes and getattr(model.mask.options, "baseline", None) == "auto":
        model.mask.baseline = torch.zeros(model.mask.dim)
    if EDITS in shapes:
        model.edits = torch.zeros(model.encoder.table_size, dtype=torch.int8)
    return model


_READERS: dict[str, Callable[[_Stored], TextPredictor]] = {"words": _read_words, "pieces": _read_pieces}


def _check_labels(labels: list[Any]) -> None:
    if not labels or any(not isinstance(label, (str, int, float)) for label in labels):
        raise ModelFolderError("its labels are no list of names or numbers")
    if len({type(label) is str for label in labels}) > 1 or len(set(map(str, labels))) < len(labels):
        raise ModelFolderError("its labels are not distinct names or distinct numbers")
    if any(type(label) is not str and not abs(label) < 2**63 for label in labels):  # NaN is not less either
        raise ModelFolderError("its labels are no numbers that can be told apart")


def _finite(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, after a check that all values are finite."""
    for name, tensor in tensors.items():
        if tensor.is_complex() or (tensor.is_floating_point() and not tensor.isfinite().all()):
            raise ModelFolderError(f"{name} has values that are no finite numbers")
    return tensors


def _column(tensors: dict[str, Tensor], name: str, kind: torch.dtype) -> NDArray[Any]:
    """Remove a column of the table of words from the tensors and return it."""
    column = tensors.pop(name)
    if column.ndim != 1 or column.dtype != kind or (column.numel() and column.min() < 0):
        raise ModelFolderError(f"{name} is no list of numbers of its kind")
    values: NDArray[Any] = column.numpy()
    return values


def _segmenter(config: dict[str, Any]) -> Segmenter | None:
    """The segmenter that the model was trained with, chosen by its name from those of vmask.

    Raises:
        MissingExtra: if it is not installed.
    """
    recorded = config.get("segmenter")
    if recorded is None:
        return None
    if not isinstance(recorded, dict) or recorded.get("name") not in list(SEGMENTERS):
        raise ModelFolderError(f"its segmenter {recorded!r:.60} is none of {', '.join(SEGMENTERS)}")
    segmenter = find_segmenter(recorded["name"], "This model reads texts without spaces. ")
    assert segmenter is not None
    if (now := segmenter.version) != (then := recorded.get("version")):
        message = f"The model was trained with {then!s:.100}; here is {now}, which may cut some texts otherwise."
        warnings.warn(message, VmaskWarning, stacklevel=7)
    return segmenter


def _checked(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts about an encoder's tokenizer in `config.json`, checked for types and limits."""
    most, special = facts["max_tokens"], facts["special"]
    if type(most) is not int or not 1 <= most <= MAX_TOKENS:
        raise ModelFolderError(f"max_tokens is {most!r:.60}; it must be between 1 and {MAX_TOKENS}")
    settings = facts["settings"]
    if not isinstance(settings, dict) or any(not isinstance(token, str) for token in settings.values()):
        raise ModelFolderError("its special tokens are no texts")
    if type(facts["pad"]) is not int or not isinstance(special, list) or any(type(id) is not int for id in special):
        raise ModelFolderError("its special tokens are no numbers")
    return facts
