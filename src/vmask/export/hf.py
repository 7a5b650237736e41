"""An ordinary Hugging Face folder with the mask folded into the embedding matrix, for `pipeline`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask import __version__
from vmask._core.files import set_default_permissions, to_json
from vmask.errors import ExportError
from vmask.export import Written
from vmask.export.card import hf_card
from vmask.export.folder import CARD, CONFIG, TOKENIZER
from vmask.export.hidden import TOKENIZER_CONFIG, write_hidden
from vmask.export.verify import check_predictions, copy_to_cpu, nothing_to_fold
from vmask.inference.calibration import Calibration
from vmask.inference.folding import fold
from vmask.inference.output import to_probabilities
from vmask.inference.piece_predictor import PiecePredictor
from vmask.masks.contract import Embedded, Masked
from vmask.models.contract import MaskedClassifier
from vmask.models.transformer import Transformer
from vmask.pretrained.encoders import load_pretrained, quiet
from vmask.text.pieces import PieceTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vmask.training.trained_model import TrainedModel


def write_hf(trained: TrainedModel, folder: Path) -> Written:
    """Write an encoder as transformers does, with the mask folded in, and compare its predictions with the model's.

    Raises:
        ExportError: if the mask cannot be folded, or the folder predicts otherwise than the model.
    """
    predictor = copy_to_cpu(trained.predictor)
    assert isinstance(predictor, PiecePredictor)
    texts = sample_texts(predictor)
    expected = predictor.predict_docs(predictor.prepare(texts))
    name = trained.plan.mask
    network = folded_network(predictor.model, name)
    if predictor.calibration is not None:
        fold_calibration(predictor.calibration, network, len(predictor.labels))
    labels = [str(label) for label in predictor.labels]
    network.config.id2label = dict(enumerate(labels))
    network.config.label2id = {label: number for number, label in enumerate(labels)}
    network.config.problem_type = f"{predictor.task}_classification"  # the names of transformers
    with quiet():
        network.save_pretrained(folder)
    for file in folder.iterdir():
        set_default_permissions(file)  # transformers writes weights that only their owner may read
    save_tokenizer(predictor.tokenizer, folder)
    fix = "Try the version of transformers in vmask's constraints.txt."
    difference = check_predictions(run_hf(folder, texts), expected, "The folder", fix)
    masked = not does_nothing(predictor.model)
    note = f"mask {name} folded into the embedding matrix" if masked else nothing_to_fold(name)
    write_hidden(trained.predictor.model, predictor.tokenizer.backend.id_to_token, folder)
    (folder / CARD).write_text(hf_card(trained, (note,), masked), encoding="utf-8")
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    files = sorted({*(file.name for file in folder.iterdir()), CONFIG})
    config["vmask"] = {"version": __version__, "export": "hf", "mask": name, "files": files}
    if predictor.thresholds is not None:
        config["vmask"]["thresholds"] = dict(zip(labels, predictor.thresholds.tolist(), strict=True))
    (folder / CONFIG).write_text(to_json(config), encoding="utf-8")
    return Written(True, difference, (note,))


@torch.no_grad()
def folded_network(model: MaskedClassifier, name: str) -> Any:
    """The network of transformers with the mask in its embedding matrix: `E[R] * x` in place of `x`.

    Args:
        model: the model; its network is changed.
        name: name of the mask, for the message.

    Raises:
        ExportError: if the effect of the mask on a word depends on more than the word.
    """
    encoder, mask = model.encoder, model.mask
    assert isinstance(encoder, Transformer)
    if reason := unfoldable(model, name):
        raise ExportError(
            f"{reason}, so it cannot be folded into an ordinary checkpoint. Use --format onnx, which keeps the mask in "
            "the graph."
        )
    if not does_nothing(model):
        table = encoder.network.get_input_embeddings().weight
        table.copy_(fold(mask, table.clone(), encoder.words(torch.arange(len(table))), model.edits))
    return encoder.network


@torch.no_grad()
def fold_calibration(calibration: Calibration, network: Any, classes: int) -> None:
    """Scale and shift the last layer of a network of transformers, so that its logits are the calibrated ones.

    Raises:
        ExportError: if its last layer is not linear, or has no bias to shift.
    """
    layers = [
        module for module in network.modules() if isinstance(module, nn.Linear) and module.out_features == classes
    ]
    if not layers or (calibration.bias and layers[-1].bias is None):
        raise ExportError(
            f"The last layer of {type(network).__name__} cannot take up the calibration. Use --format onnx, which "
            "keeps it in the graph, or train with --calibration none."
        )
    last = layers[-1]
    last.weight.div_(calibration.temperature)
    if last.bias is not None:
        last.bias.copy_(calibration.apply(last.bias))


def unfoldable(model: MaskedClassifier, name: str) -> str:
    """The reason why the mask cannot be folded, empty if it can."""
    encoder = model.encoder
    assert isinstance(encoder, Transformer)
    if does_nothing(model):
        return ""
    if encoder.options.placement == "block":
        return "The mask acts behind the embedding block (placement=block), where a word differs from place to place"
    if not model.mask.word_level():
        return f"What {name} does to a word depends on the other words of its text"
    if not torch.equal(seam_table(encoder), encoder.network.get_input_embeddings().weight):
        return f"The mask acts on vectors that {type(encoder.network).__name__} changes as it looks them up"
    return ""


def seam_table(encoder: Transformer) -> Tensor:
    """(V, D) vectors of all ids at the seam, which are not always the rows of the embedding matrix."""
    with torch.no_grad():
        return encoder.vectors(torch.arange(len(encoder.is_word)))


@torch.no_grad()
def does_nothing(model: MaskedClassifier) -> bool:
    """Whether every word is left unchanged at inference. A mask that ranks no words may still change them."""
    if model.edits is not None:
        return False
    place = torch.zeros(1, 1, dtype=torch.long)
    masked: Masked = model.mask(Embedded(torch.zeros(1, model.mask.dim), place, place == 0))
    return masked.untouched


def save_tokenizer(tokenizer: PieceTokenizer, folder: Path) -> None:
    """Write the tokenizer with its length limit so that every version of transformers reads it unchanged."""
    tokenizer.save(folder / TOKENIZER)
    special = {name: token for name, token in tokenizer.settings.items() if name.endswith("_token")}
    if tokenizer.pad in tokenizer.special:  # some pad with another special token; `pipeline` needs a name to batch
        special.setdefault("pad_token", tokenizer.backend.id_to_token(tokenizer.pad))
    settings = {
        **special,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": tokenizer.max_tokens,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "right",
        "truncation_side": "right",
        "clean_up_tokenization_spaces": False,
    }
    (folder / TOKENIZER_CONFIG).write_text(to_json(settings), encoding="utf-8")


def sample_texts(predictor: PiecePredictor) -> list[str]:
    """Texts to test a model: with no, one, a few and too many words, special tokens and unusual characters."""
    words = predictor.table.words[:200] or ["text"]
    limit = predictor.tokenizer.max_tokens
    many = words * (limit // len(words) + 2)
    joined = [" ".join(many[at : at + size]) for at, size in ((0, 1), (1, 3), (4, 8), (12, 30))]
    odd = ["", "naïve 東京 😀 e\u0301", *(f"a {token} b" for token in predictor.tokenizer.settings.values())]
    return [*joined, *odd, " ".join(many[: limit + 5])]


def run_hf(folder: Path, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities of the texts, computed from the files of an export as by `pipeline`."""
    return hf_answers(folder)(texts)


def hf_answers(folder: Path) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The same as a function of the texts, with the files read once."""
    network = load_pretrained("AutoModelForSequenceClassification", str(folder), dtype=torch.float32).eval()
    tokenizer = load_pretrained("AutoTokenizer", str(folder))
    task = str(network.config.problem_type or "").removesuffix("_classification")

    @torch.no_grad()
    def answers(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = []
        for text in texts:
            logits = network(**tokenizer(text, truncation=True, return_tensors="pt")).logits
            rows.append(to_probabilities(logits, task=task).numpy())
        probabilities: NDArray[np.float32] = np.concatenate(rows)
        return probabilities

    return answers
