"""What a model folder stores of a predictor, and how the predictor is made of it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from vmask.data.pieces import PieceTokenizer
from vmask.data.vocabulary import WordTokenizer
from vmask.encoders import network_of
from vmask.errors import ModelFolderError
from vmask.models.transformer import Transformer
from vmask.piece_predictor import PiecePredictor, WordTable
from vmask.plan import Plan
from vmask.predictor import TextPredictor, WordPredictor
from vmask.training.device import find_device
from vmask.training.seeding import own_randomness

_TABLE = "encoder.embedding.weight"
_NEEDED: dict[str, dict[str, type]] = {
    "words": {"max_words": int, "cleaning": str},
    "pieces": {"tokenizer": dict, "encoder": dict},
}
"""What `config.json` must have of a predictor."""


def facts_of(predictor: TextPredictor) -> dict[str, Any]:
    """The predictor's part of `config.json`."""
    if isinstance(predictor, PiecePredictor):
        return {"tokenizer": predictor.tokenizer.facts(), "encoder": _network(predictor).config.to_dict()}
    assert isinstance(predictor, WordPredictor)
    return {"max_words": predictor.tokenizer.max_words, "cleaning": predictor.tokenizer.cleaning}


def tensors_of(predictor: TextPredictor) -> dict[str, Tensor]:
    """The predictor's part of `model.safetensors`: weights, and what is known of the words."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in predictor.model.state_dict().items()}
    if isinstance(predictor, PiecePredictor):
        table = predictor.table
        text = "\n".join(table.words).encode("utf-8", "surrogatepass")  # no word has a line break in it
        tensors["words.text"] = torch.from_numpy(np.frombuffer(text, np.uint8).copy())
        tensors["words.count"] = torch.from_numpy(table.counts)
        tensors["words.score"] = torch.from_numpy(table.scores)
        return tensors
    assert isinstance(predictor, WordPredictor)
    half = tensors[_TABLE].half()
    if not predictor.model.get_parameter(_TABLE).requires_grad and torch.equal(half.float(), tensors[_TABLE]):
        tensors[_TABLE] = half  # frozen vectors were rounded to float16, unless a first stage tuned them: half as big
    tensors["words.count"] = torch.from_numpy(predictor.counts)
    tensors["words.known"] = torch.from_numpy(predictor.known.astype(np.uint8))
    return tensors


def save_tokenizer(predictor: TextPredictor, path: Path) -> None:
    """Write `tokenizer.json`."""
    assert isinstance(predictor, (PiecePredictor, WordPredictor))
    predictor.tokenizer.save(path)


def lacking(config: dict[str, Any]) -> list[str]:
    """What `config.json` should have of a predictor and has not."""
    needed = _NEEDED["pieces" if "encoder" in config else "words"]
    return [key for key, kind in needed.items() if not isinstance(config.get(key), kind)]


def read_predictor(plan: Plan, config: dict[str, Any], tokenizer: Path, weights: Path, device: str) -> TextPredictor:
    """The predictor that the files of a model folder were written from.

    Raises:
        ModelFolderError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError: where they do not fit.
    """
    tensors = load_file(weights)
    where = find_device(device)
    labels = config["labels"]
    counts = tensors.pop("words.count").numpy()
    if plan.reads_pieces:
        pieces = PieceTokenizer.read(tokenizer.read_text(encoding="utf-8"), config["tokenizer"])
        text = tensors.pop("words.text").numpy().tobytes().decode("utf-8", "surrogatepass")
        table = WordTable(text.split("\n") if text else [], counts, tensors.pop("words.score").numpy())
        if not len(table.words) == len(table.counts) == len(table.scores):
            raise ModelFolderError("its list of words has another length than their counts")
        with own_randomness():  # fresh weights are drawn, then replaced
            network = network_of(config["encoder"], len(labels))
            model = plan.with_mask(Transformer(network, pieces.special, plan.model_options))
        model.load_state_dict(tensors)
        pad_length = pieces.max_tokens if plan.train.pad_to_max else 0
        return PiecePredictor(model, pieces, labels, table, where, pad_length)
    words = WordTokenizer.load(tokenizer, config["cleaning"], config["max_words"])
    known = tensors.pop("words.known").numpy().astype(np.bool_)
    tuned = tensors[_TABLE].dtype != torch.float16
    with own_randomness():
        model = plan.build(tensors[_TABLE].float(), tuned, len(labels))
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    pad_length = words.max_words if plan.train.pad_to_max else 0
    return WordPredictor(model, words, labels, counts, known, where, pad_length)


def _network(predictor: PiecePredictor) -> Any:
    assert isinstance(predictor.model.encoder, Transformer)
    return predictor.model.encoder.network
