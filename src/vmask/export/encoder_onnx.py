"""ONNX of an encoder: `model.onnx` from token ids to probabilities, with the tokenizer and the labels beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmask import __version__
from vmask._core.files import sha256, to_json
from vmask.export import Written
from vmask.export.card import encoder_onnx_card
from vmask.export.folder import CARD, CONFIG, TOKENIZER
from vmask.export.hf import does_nothing, folded_network, sample_texts, seam_table, unfoldable
from vmask.export.hidden import write_hidden
from vmask.export.onnx import FIX, MODEL, check_installed, export_module, in_batches, labels_and_task, onnx_session
from vmask.export.verify import check_predictions, copy_to_cpu, nothing_to_fold
from vmask.inference.output import ToProbabilities, to_probabilities
from vmask.inference.piece_predictor import PiecePredictor
from vmask.inference.visibility import one_hidden_id
from vmask.masks.contract import Embedded, WordMask
from vmask.models.contract import masked_and_edited
from vmask.models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vmask.training.trained_model import TrainedModel


class PieceGraph(nn.Module):
    """(B, T) token ids and attention mask -> (B, C) probabilities.

    Args:
        encoder: the model; the mask is folded into its table of vectors if `mask` is None.
        mask: a mask that depends on more than the word, or None.
        edits: (V,) of the model, if there is a mask; None without.
        output: maps logits to probabilities.
    """

    def __init__(
        self,
        encoder: Transformer,
        mask: WordMask | None,
        edits: Tensor | None = None,
        output: ToProbabilities = to_probabilities,
    ) -> None:
        super().__init__()
        self.output = output
        self.encoder = encoder
        self.mask = mask
        self.edits: Tensor | None
        self.register_buffer("edits", None if mask is None else edits)
        self.same: Tensor | None
        self.register_buffer("same", None if self.edits is None else one_hidden_id(self.edits))
        vectors, weight = seam_table(encoder), encoder.network.get_input_embeddings().weight
        self.table: Tensor | None
        self.register_buffer("table", None if torch.equal(vectors, weight) else vectors)  # stored only once in the file
        self.eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, C) probabilities."""
        attend = attention_mask > 0
        if self.same is not None:
            input_ids = self.same[input_ids]
        logits = self.encoder.run(input_ids, attend, None if self.mask is None else self._masked(input_ids))
        return self.output(logits)

    def _masked(self, ids: Tensor) -> Callable[[Tensor], Tensor]:
        mask = self.mask
        assert mask is not None

        def at_seam(vectors: Tensor) -> Tensor:
            words = self.encoder.words(ids)
            if self.encoder.options.placement == "word":
                # The whole table, not the words of the batch: one score a word, whatever the other words.
                table = self.encoder.network.get_input_embeddings().weight if self.table is None else self.table
                x = Embedded(table, ids, words)
            else:
                index = torch.arange(ids.shape[0] * ids.shape[1], device=ids.device).view(ids.shape)
                x = Embedded(vectors.flatten(0, 1), index, words)
            seen: Tensor = masked_and_edited(mask, x, self.edits, ids).apply(vectors)
            return seen

        return at_seam


def write_encoder_onnx(trained: TrainedModel, folder: Path) -> Written:
    """Write an encoder to a folder, and compare its predictions with the classifier's.

    Raises:
        MissingExtra: if the packages are not installed.
        ExportError: if the model cannot be written, or the file predicts otherwise than the model.
    """
    check_installed()
    predictor = copy_to_cpu(trained.predictor)
    assert isinstance(predictor, PiecePredictor)
    texts = sample_texts(predictor)
    expected = predictor.predict_docs(predictor.prepare(texts))
    mask = trained.plan.mask
    model = predictor.model.requires_grad_(False)
    assert isinstance(model.encoder, Transformer)
    reason = unfoldable(model, mask)
    if not reason:
        folded_network(model, mask)
    ids = torch.full((2, 7), int(model.encoder.is_word.nonzero()[-1]))
    graph = PieceGraph(model.encoder, model.mask if reason else None, model.edits, predictor.output)
    way_out = "" if reason else " Use --format hf, which needs no graph."
    export_module(graph, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, folder / MODEL, "tokens", way_out)
    _save_tokenizer(predictor, folder)
    difference = check_predictions(run_encoder_onnx(folder, texts), expected, "The ONNX file", FIX)
    note = f"mask kept in the graph: {reason[0].lower()}{reason[1:]}" if reason else "mask folded into the word vectors"
    if does_nothing(model):
        note = nothing_to_fold(mask)
    write_hidden(trained.predictor.model, predictor.tokenizer.backend.id_to_token, folder)
    (folder / CARD).write_text(encoder_onnx_card(trained, (note,)), encoding="utf-8")
    files = sorted(file.name for file in folder.iterdir())
    config = {
        **labels_and_task(trained),
        "max_tokens": predictor.tokenizer.max_tokens,
        "inputs": {name: {"type": "int64", "shape": ["batch", "tokens"]} for name in ("input_ids", "attention_mask")},
        "outputs": {"probabilities": {"type": "float32", "shape": ["batch", len(predictor.labels)]}},
        "vmask": {
            "version": __version__,
            "export": "onnx",
            "model": trained.data["encoder"],
            "mask": mask,
            "folded": not reason,
            "files": sorted([*files, CONFIG]),
            "sha256": {file: sha256(folder / file) for file in files if file != CARD},
        },
    }
    (folder / CONFIG).write_text(to_json(config), encoding="utf-8")
    return Written(not reason, difference, (note,))


def run_encoder_onnx(folder: Path, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities of the texts, computed from the files of an export as in its README."""
    return encoder_onnx_answers(folder)(texts)


def encoder_onnx_answers(folder: Path) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The same as a function of the texts, with the files read once."""
    from tokenizers import Tokenizer

    session, tokenizer = onnx_session(folder / MODEL), Tokenizer.from_file(str(folder / TOKENIZER))

    def ask(encodings: Sequence[Any]) -> NDArray[np.float32]:
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        attend = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        probabilities: NDArray[np.float32] = session.run(None, {"input_ids": ids, "attention_mask": attend})[0]
        return probabilities

    return in_batches(tokenizer, ask)


def _save_tokenizer(predictor: PiecePredictor, folder: Path) -> None:
    """Write the tokenizer so that it pads batches and truncates long texts itself, as vmask does."""
    from tokenizers import Tokenizer

    pieces = predictor.tokenizer
    tokenizer = Tokenizer.from_str(pieces.to_json())
    tokenizer.enable_truncation(pieces.max_tokens)
    tokenizer.enable_padding(pad_id=pieces.pad, pad_token=tokenizer.id_to_token(pieces.pad) or "")
    tokenizer.save(str(folder / TOKENIZER))
