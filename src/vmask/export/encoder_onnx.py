"""ONNX of an encoder: `model.onnx` from token ids to probabilities, with the tokenizer and the labels beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask import __version__
from vmask._core.files import sha256, to_json
from vmask.errors import ExportError
from vmask.export import Written
from vmask.export.card import encoder_onnx_card
from vmask.export.folder import CARD, CONFIG, TOKENIZER
from vmask.export.hf import (
    TOLERANCE,
    does_nothing,
    folded_network,
    nothing_to_fold,
    on_cpu,
    sample_texts,
    seam_table,
    unfoldable,
)
from vmask.export.onnx import MODEL, check_installed, export_module, onnx_session
from vmask.inference.output import to_probabilities
from vmask.inference.piece_predictor import PiecePredictor
from vmask.masks.contract import Embedded, WordMask
from vmask.models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vmask.training.trained_model import TrainedModel


class PieceGraph(nn.Module):
    """(B, T) token ids and where there is text -> (B, C) probabilities.

    Args:
        encoder: the model; its table of vectors has the mask folded in where `mask` is None.
        mask: a mask that is no function of the word alone, or None.
    """

    def __init__(self, encoder: Transformer, mask: WordMask | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.mask = mask
        vectors, weight = seam_table(encoder), encoder.network.get_input_embeddings().weight
        self.table: Tensor | None
        self.register_buffer("table", None if torch.equal(vectors, weight) else vectors)  # once in the file is enough
        self.eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, C) probabilities."""
        attend = attention_mask > 0
        logits = self.encoder.run(input_ids, attend, None if self.mask is None else self._masked(input_ids))
        return to_probabilities(logits)

    def _masked(self, ids: Tensor) -> Callable[[Tensor], Tensor]:
        mask = self.mask
        assert mask is not None

        def at_seam(vectors: Tensor) -> Tensor:
            words = self.encoder.words(ids)
            if self.encoder.options.placement == "word":
                # The whole table, not the words of the batch: one score a word, whatever its company.
                table = self.encoder.network.get_input_embeddings().weight if self.table is None else self.table
                x = Embedded(table, ids, words)
            else:
                index = torch.arange(ids.shape[0] * ids.shape[1], device=ids.device).view(ids.shape)
                x = Embedded(vectors.flatten(0, 1), index, words)
            seen: Tensor = mask(x).apply(vectors)
            return seen

        return at_seam


def write_encoder_onnx(trained: TrainedModel, folder: Path) -> Written:
    """Write an encoder to a folder, and try it against the classifier.

    Raises:
        MissingExtra: where the packages are not installed.
        ExportError: where the model cannot be written, or the file answers otherwise than the model.
    """
    check_installed()
    predictor = on_cpu(trained)
    texts = sample_texts(predictor)
    expected = predictor.predict_docs(predictor.prepare(texts))
    name = trained.plan.mask
    model = predictor.model.requires_grad_(False)
    assert isinstance(model.encoder, Transformer)
    kept = unfoldable(model, name)
    if not kept:
        folded_network(model, name)
    ids = torch.full((2, 7), int(model.encoder.is_word.nonzero()[-1]))
    graph = PieceGraph(model.encoder, model.mask if kept else None)
    way_out = "" if kept else " Use --format hf, which needs no graph."
    export_module(graph, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, folder / MODEL, "tokens", way_out)
    _save_tokenizer(predictor, folder)
    difference = float(np.abs(run_encoder_onnx(folder, texts) - expected).max())
    if not difference <= TOLERANCE:  # NaN too
        raise ExportError(
            f"The ONNX file gives probabilities that differ from the model's by {difference:.2g}, so it was not kept. "
            "Install the versions of onnx, onnxscript and onnxruntime in vmask's constraints.txt, and try again."
        )
    note = f"mask kept in the graph: {kept[0].lower()}{kept[1:]}" if kept else "mask folded into the word vectors"
    if does_nothing(model):
        note = nothing_to_fold(name)
    (folder / CARD).write_text(encoder_onnx_card(trained, (note,)), encoding="utf-8")
    files = sorted(file.name for file in folder.iterdir())
    config = {
        "labels": list(predictor.labels),
        "max_tokens": predictor.tokenizer.max_tokens,
        "inputs": {one: {"type": "int64", "shape": ["batch", "tokens"]} for one in ("input_ids", "attention_mask")},
        "outputs": {"probabilities": {"type": "float32", "shape": ["batch", len(predictor.labels)]}},
        "vmask": {
            "version": __version__,
            "export": "onnx",
            "model": trained.data["encoder"],
            "mask": name,
            "folded": not kept,
            "files": sorted([*files, CONFIG]),
            "sha256": {one: sha256(folder / one) for one in files if one != CARD},
        },
    }
    (folder / CONFIG).write_text(to_json(config), encoding="utf-8")
    return Written(not kept, difference, (note,))


def run_encoder_onnx(folder: Path, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities of the texts by the files of an export alone, as its README does it."""
    from tokenizers import Tokenizer

    session = onnx_session(folder / MODEL)
    encodings = Tokenizer.from_file(str(folder / TOKENIZER)).encode_batch(list(texts))
    ids = np.array([one.ids for one in encodings], dtype=np.int64)
    attend = np.array([one.attention_mask for one in encodings], dtype=np.int64)
    probabilities: NDArray[np.float32] = session.run(None, {"input_ids": ids, "attention_mask": attend})[0]
    return probabilities


def _save_tokenizer(predictor: PiecePredictor, folder: Path) -> None:
    """Make the tokenizer of the folder pad batches and cut long texts itself, as ours does."""
    from tokenizers import Tokenizer

    ours = predictor.tokenizer
    tokenizer = Tokenizer.from_str(ours.to_json())
    tokenizer.enable_truncation(ours.max_tokens)
    tokenizer.enable_padding(pad_id=ours.pad, pad_token=tokenizer.id_to_token(ours.pad) or "")
    tokenizer.save(str(folder / TOKENIZER))
