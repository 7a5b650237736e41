"""A word model as one module from ids to probabilities, made of operations that other runtimes support."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.errors import ConfigError
from vmask.inference.folding import fold
from vmask.inference.output import ToProbabilities, to_probabilities
from vmask.inference.visibility import one_hidden_id
from vmask.masks.contract import Embedded, WordMask
from vmask.models.cnn import CNN
from vmask.models.contract import MaskedClassifier, WordEncoder, masked_and_edited
from vmask.models.lstm import LSTM
from vmask.text.words import PAD


class WordGraph(nn.Module):
    """(B, T) word ids, padded with 0 behind the text -> (B, C) probabilities.

    Args:
        encoder: the model; the mask is folded into its table of vectors if `mask` is None.
        mask: a mask that depends on the whole text, or None.
        length: pad or cut every text to this length, for models in which padding counts; 0 for no change.
        edits: (V,) of the model, if there is a mask; None without.
        output: maps logits to probabilities.
    """

    def __init__(
        self,
        encoder: WordEncoder,
        mask: WordMask | None,
        length: int = 0,
        edits: Tensor | None = None,
        output: ToProbabilities = to_probabilities,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = output
        self.mask = mask
        self.length = length
        self.edits: Tensor | None
        self.register_buffer("edits", None if mask is None else edits)
        self.same: Tensor | None
        self.register_buffer("same", None if self.edits is None else one_hidden_id(self.edits))
        self.eval()

    def forward(self, ids: Tensor) -> Tensor:
        """(B, C) probabilities of texts as ids (B, T)."""
        ids = functional.pad(ids, (0, self.length or 1))  # at least 1: a batch of empty texts needs a position too
        if self.length:
            ids = ids[:, : self.length]
        # The whole table, not the words of the batch: one score a word, whatever the other words, so that ties
        # of a selection are broken as in vmask. A runtime computes what depends on the table alone once, as it loads.
        if self.same is not None:
            ids = self.same[ids]
        x = Embedded(self.encoder.embedding.weight, ids, ids != PAD)
        lengths = x.words.sum(1)
        masked = None if self.mask is None else masked_and_edited(self.mask, x, self.edits, ids)
        if isinstance(self.encoder, CNN):
            logits = convolve(self.encoder, x.dense() if masked is None else masked.apply(x.dense()), lengths)
        else:
            logits = self.encoder.encode(x, lengths, masked)
        return self.output(logits)


def word_graph(model: MaskedClassifier, pad_length: int = 0, output: ToProbabilities = to_probabilities) -> WordGraph:
    """The graph of a model over words, on the CPU, with the mask folded into the vectors if that is exact.

    Args:
        model: the model; it is not changed.
        pad_length: the length to which the predictor pads every text, or 0.
        output: maps logits to probabilities.

    Raises:
        ConfigError: if the model's prediction depends on the batch, which a graph cannot reproduce.
    """
    model = copy.deepcopy(model).cpu().eval()
    encoder, mask = model.encoder, model.mask
    assert isinstance(encoder, WordEncoder)
    counts_padding = bool(getattr(encoder.options, "count_padding", False))
    if counts_padding and not pad_length:
        raise ConfigError(
            "Padding counts in this model (count_padding), and texts are padded to the longest of their batch: its "
            "answer to a text depends on the other texts, so there is no one answer to export. Train it with "
            "--pad-to-max, or without count_padding."
        )
    encoder.requires_grad_(False)
    mask.requires_grad_(False)
    if isinstance(encoder, LSTM):
        encoder.add_module("lstm", PortableLSTM(encoder.lstm))
    folded = mask.word_level()
    if folded:
        table = encoder.embedding.weight
        table.copy_(fold(mask, table, encoder.words(torch.arange(len(table))), model.edits))
    length = pad_length if counts_padding else 0
    return WordGraph(encoder, None if folded else mask, length, model.edits, output)


def convolve(encoder: CNN, z: Tensor, lengths: Tensor) -> Tensor:
    """(B, C) logits of the masked vectors (B, T, D): the CNN by `Conv1d`, which every runtime supports.

    The CNN itself projects each distinct word once and gathers, which other runtimes cannot do fast.
    """
    if encoder.options.count_padding:
        lengths = torch.full_like(lengths, z.shape[1])
    pooled = []
    for width, convolution in zip(encoder.options.widths, encoder.convolutions, strict=True):
        reach = width - 1 if encoder.options.padding == "wide" else 0
        # Zeros at the end for windows that extend past it, and for a text shorter than the filter.
        responses = convolution(functional.pad(z.transpose(1, 2), (reach, width - 1)))  # (B, F, W)
        windows = (lengths + 2 * reach - width + 1).clamp_min(1)
        counted = torch.arange(responses.shape[2]) < windows.unsqueeze(1)  # (B, W)
        hidden = responses.masked_fill(~counted.unsqueeze(1), torch.finfo(responses.dtype).min)
        pooled.append(torch.relu(hidden.amax(2)))
    logits: Tensor = encoder.output(torch.cat(pooled, 1))
    return logits


class PortableLSTM(nn.Module):
    """One LSTM layer, left to right, that is exported as the LSTM operator of ONNX.

    torch itself exports the layer as single steps. The second time in one process (torch 2.13), the number of words is
    then fixed to that of the example.

    Args:
        lstm: one layer, batch first, with biases.
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.lstm = lstm
        self.weight: Tensor
        self.recurrence: Tensor
        self.bias: Tensor
        weight, recurrence, *biases = (
            _onnx_order(lstm.get_parameter(name))
            for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        )
        self.register_buffer("weight", weight)  # (1, 4H, D)
        self.register_buffer("recurrence", recurrence)  # (1, 4H, H)
        self.register_buffer("bias", torch.cat(biases, 1))  # (1, 8H)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """(B, T, H) states of the vectors (B, T, D), and None in place of the last states."""
        if not torch.onnx.is_in_onnx_export():
            return self.lstm(x)[0], None
        texts, steps, _ = x.shape
        states = torch.onnx.ops.symbolic(
            "::LSTM",
            (x.transpose(0, 1), self.weight, self.recurrence, self.bias),
            {"hidden_size": self.lstm.hidden_size},
            dtype=x.dtype,
            shape=(steps, 1, texts, self.lstm.hidden_size),
        )
        return states.squeeze(1).transpose(0, 1), None


def _onnx_order(gates: Tensor) -> Tensor:
    """(1, 4H, …) input, output, forget, cell from torch's (4H, …) input, forget, cell, output."""
    input_, forget, cell, output = gates.detach().chunk(4)
    return torch.cat([input_, output, forget, cell]).unsqueeze(0)
