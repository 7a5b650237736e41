"""Reading a predictor from the files of a model folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from vmask._core.parsing import read_text
from vmask.config import MULTI_LABEL, SINGLE_LABEL
from vmask.errors import ModelFolderError, VmaskWarning
from vmask.inference.abstention import DEV_CONFIDENCE, DEV_RIGHT, DevAnswers, read_threshold
from vmask.inference.calibration import read_calibration
from vmask.inference.piece_predictor import PiecePredictor, WordTable
from vmask.inference.predictor import VECTORS, TextPredictor, WordPredictor
from vmask.models import MODELS
from vmask.models.contract import MaskedClassifier
from vmask.models.transformer import Transformer
from vmask.pretrained.encoders import network_of
from vmask.pretrained.tensor_shapes import Shapes, check_shapes, no_larger_than, read_shapes
from vmask.text.pieces import PieceTokenizer
from vmask.text.segmenters import SEGMENTERS, Segmenter, find_segmenter
from vmask.text.tokenizer_file import LIMIT_BYTES
from vmask.text.vocabulary import WordTokenizer
from vmask.training.device import find_device
from vmask.training.prepare_pieces import MAX_TOKENS
from vmask.training.run_config import Plan
from vmask.training.torch_random import own_randomness

_NEEDED: dict[str, dict[str, type]] = {
    "words": {"max_words": int, "cleaning": str},
    "pieces": {"tokenizer": dict, "encoder": dict},
}
"""Required keys of `config.json` for a predictor."""
BASELINE = "mask.baseline"
"""Name of the vector in place of hidden words among the weights."""
EDITS = "edits"
"""Name of the edits among the weights."""
LONGEST = 100_000
"""Maximum number of words of a text."""

MOST_PADDED = 1 << 23
"""Maximum size of a padded text, in numbers: several hundred texts are read at a time."""


def lacking(config: dict[str, Any]) -> list[str]:
    """The required keys of a predictor that `config.json` lacks."""
    needed = _NEEDED["pieces" if "encoder" in config else "words"]
    return [key for key, kind in needed.items() if not isinstance(config.get(key), kind)]


class _Stored(NamedTuple):
    """The stored parts of a predictor."""

    plan: Plan
    config: dict[str, Any]
    tokenizer: Path
    weights: Path
    shapes: Shapes
    device: torch.device

    @property
    def task(self) -> str:
        """How many labels a text has."""
        return str(self.config.get("task", SINGLE_LABEL))


def read_predictor(plan: Plan, config: dict[str, Any], tokenizer: Path, weights: Path, device: str) -> TextPredictor:
    """The predictor stored in the files of a model folder.

    The shapes in the header of the weights are checked before anything is allocated.

    Raises:
        ModelFolderError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError: if the files are inconsistent.
    """
    labels = config["labels"]
    _check_labels(labels)
    thresholds = _thresholds(config)
    shapes = read_shapes(weights)
    if empty := [name for name, shape in shapes.items() if 0 in shape and not name.startswith("words.")]:
        raise ModelFolderError(f"{empty[0]} is empty")
    stored = _Stored(plan, config, tokenizer, weights, shapes, find_device(device))
    with own_randomness(), no_larger_than(shapes):  # fresh weights are drawn, then replaced
        predictor = _READERS[MODELS.get(plan.model).reads](stored)
    predictor.thresholds = thresholds
    predictor.calibration = read_calibration(config.get("calibration"), len(labels))
    predictor.abstain_below = read_threshold(config.get("abstain_below"))
    predictor.dev_answers = read_dev_answers(weights)
    return predictor


def stored_probability(predictor: TextPredictor) -> dict[str, Any]:
    """Calibration and thresholds of a model, its part of `config.json` that `read_predictor` reads too."""
    calibration = None if predictor.calibration is None else predictor.calibration.to_dict()
    several = {} if predictor.thresholds is None else {"task": MULTI_LABEL, "thresholds": predictor.thresholds.tolist()}
    return {"calibration": calibration, "abstain_below": predictor.abstain_below, **several}


def read_dev_answers(weights: Path) -> DevAnswers | None:
    """What is stored of a model's answers to the dev texts; None if nothing is.

    Raises:
        ModelFolderError: if they are no such answers.
    """
    with safe_open(weights, "pt") as file:
        stored = set(file.keys())
        return DevAnswers.read({name: file.get_tensor(name) for name in (DEV_CONFIDENCE, DEV_RIGHT) if name in stored})


def _read_pieces(stored: _Stored) -> PiecePredictor:
    plan, config, tokenizer, weights, shapes, device = stored
    labels = config["labels"]
    check_shapes(lambda: network_of(config["encoder"], len(labels)), shapes, "encoder.network.")
    pieces = PieceTokenizer.read(read_text(tokenizer, LIMIT_BYTES), _checked(config["tokenizer"]), _segmenter(config))
    network = network_of(config["encoder"], len(labels))
    transformer = Transformer(network, pieces.special, plan.model_options)
    model = _with_stored(plan.with_mask(transformer, len(labels), stored.task), shapes)
    tensors = _finite(_load_weights(weights))
    text = _column(tensors, "words.text", torch.uint8).tobytes().decode("utf-8", "surrogatepass")
    counts, scores = _column(tensors, "words.count", torch.int64), _column(tensors, "words.score", torch.float32)
    table = WordTable(text.split("\n") if text else [], counts, scores)
    if not len(table.words) == len(table.counts) == len(table.scores):
        raise ModelFolderError("its list of words has another length than their counts")
    model.load_state_dict(tensors)
    pad_length = pieces.max_tokens if plan.train.pad_to_max else 0
    return PiecePredictor(model, pieces, labels, table, device, pad_length)


def _read_words(stored: _Stored) -> WordPredictor:
    plan, config, tokenizer, weights, shapes, device = stored
    labels = config["labels"]
    of_model = {name: shape for name, shape in shapes.items() if not name.startswith(("words.", "dev."))}
    if VECTORS not in of_model or len(of_model[VECTORS]) != 2:
        raise ModelFolderError("it has no table of word vectors")
    check_shapes(
        lambda: _with_stored(plan.build(torch.empty(of_model[VECTORS]), False, len(labels), stored.task), of_model),
        of_model,
    )
    if not 1 <= config["max_words"] <= LONGEST:
        raise ModelFolderError(f"max_words is {config['max_words']}; it must be between 1 and {LONGEST:,}")
    words = WordTokenizer.load(tokenizer, config["cleaning"], config["max_words"], _segmenter(config))
    tensors = _finite(_load_weights(weights))
    counts, known = _column(tensors, "words.count", torch.int64), _column(tensors, "words.known", torch.uint8) > 0
    if not len(words.words) == len(counts) == len(known) == len(tensors[VECTORS]):
        raise ModelFolderError("its tokenizer has another number of words than its vectors")
    tuned = tensors[VECTORS].dtype != torch.float16
    model = _with_stored(plan.build(tensors[VECTORS].float(), tuned, len(labels), stored.task), shapes)
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


def _thresholds(config: dict[str, Any]) -> NDArray[np.float64] | None:
    """The thresholds of labels, checked; None where each text has one label."""
    task, thresholds = config.get("task", SINGLE_LABEL), config.get("thresholds")
    if task not in (SINGLE_LABEL, MULTI_LABEL):
        raise ModelFolderError(f"its task is {task!r:.60}, which this version of vmask does not know")
    if task == SINGLE_LABEL:
        return None
    fits = isinstance(thresholds, list) and len(thresholds) == len(config["labels"])
    if not fits or not all(isinstance(one, float) and 0 <= one <= 1 for one in thresholds or ()):
        raise ModelFolderError("its thresholds are not a probability for each label")
    return np.array(thresholds, np.float64)


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
