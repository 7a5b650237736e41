"""A word model as one module from ids to probabilities, of operations that other runtimes know."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from vmask.data.words import PAD
from vmask.errors import ConfigError
from vmask.export.folding import fold
from vmask.masks.contract import Embedded, WordMask
from vmask.models.cnn import CNN
from vmask.models.contract import MaskedClassifier, WordEncoder


class WordGraph(nn.Module):
    """(B, T) word ids, padded with 0 behind the text -> (B, C) probabilities.

    Args:
        encoder: the model; its table of vectors has the mask folded in where `mask` is None.
        mask: a mask that looks at whole texts, or None.
        length: bring every text to this length, for models in which padding counts; 0 leaves it as it comes.
    """

    def __init__(self, encoder: WordEncoder, mask: WordMask | None, length: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.mask = mask
        self.length = length
        self.eval()

    def forward(self, ids: Tensor) -> Tensor:
        """(B, C) probabilities of texts as ids (B, T)."""
        ids = functional.pad(ids, (0, self.length or 1))  # at least 1: a batch of empty texts has a position too
        if self.length:
            ids = ids[:, : self.length]
        # The whole table, not the words of the batch: one score a word, whatever its company, so that ties of a
        # selection fall as they do in vmask. A runtime computes what depends on the table alone once, as it loads.
        x = Embedded(self.encoder.embedding.weight, ids, ids != PAD)
        lengths = x.words.sum(1)
        masked = None if self.mask is None else self.mask(x)
        if isinstance(self.encoder, CNN):
            logits = convolve(self.encoder, x.dense() if masked is None else masked.apply(x.dense()), lengths)
        else:
            logits = self.encoder.encode(x, lengths, masked)
        return torch.softmax(logits, 1)


def word_graph(model: MaskedClassifier, pad_length: int = 0) -> WordGraph:
    """The graph of a model over words, on the CPU, with the mask folded into the vectors where that is exact.

    Args:
        model: the model; it is not changed.
        pad_length: the length to which the predictor pads every text, 0 for none.

    Raises:
        ConfigError: where the model's answer depends on the batch, so that no graph can have it.
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
    folded = mask.word_level()
    if folded:
        table = encoder.embedding.weight
        table.copy_(fold(mask, table, encoder.words(torch.arange(len(table)))))
    return WordGraph(encoder, None if folded else mask, pad_length if counts_padding else 0)


def convolve(encoder: CNN, z: Tensor, lengths: Tensor) -> Tensor:
    """(B, C) logits of what is seen of the words, (B, T, D): the CNN by `Conv1d`, which every runtime has.

    The CNN's own way projects each distinct word once and gathers, which other runtimes have no fast form of.
    """
    if encoder.options.count_padding:
        lengths = torch.full_like(lengths, z.shape[1])
    pooled = []
    for width, convolution in zip(encoder.options.widths, encoder.convolutions, strict=True):
        reach = width - 1 if encoder.options.padding == "wide" else 0
        # Zeros behind for the windows that reach over the end, and for a text shorter than the filter.
        responses = convolution(functional.pad(z.transpose(1, 2), (reach, width - 1)))  # (B, F, W)
        windows = (lengths + 2 * reach - width + 1).clamp_min(1)
        counted = torch.arange(responses.shape[2]) < windows.unsqueeze(1)  # (B, W)
        hidden = responses.masked_fill(~counted.unsqueeze(1), torch.finfo(responses.dtype).min)
        pooled.append(torch.relu(hidden.amax(2)))
    logits: Tensor = encoder.output(torch.cat(pooled, 1))
    return logits
