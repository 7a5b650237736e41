"""The same classifiers as a bare PyTorch loop, without vmask: what we measure ourselves against."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence


class BareCNN(nn.Module):
    """Conv1d of widths 3, 4, 5 with wide padding, ReLU, max over the windows of the text, dropout, linear."""

    def __init__(self, dim: int, classes: int, filters: int = 100) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, filters, width, padding=width - 1) for width in (3, 4, 5))
        self.output = nn.Linear(3 * filters, classes)

    def forward(self, x, lengths):
        pooled = []
        for convolution in self.convolutions:
            h = convolution(x.transpose(1, 2))
            beyond = torch.arange(h.shape[2]) >= (lengths + convolution.kernel_size[0] - 1).unsqueeze(1)
            pooled.append(h.masked_fill(beyond.unsqueeze(1), -1e9).amax(2).relu())
        return self.output(functional.dropout(torch.cat(pooled, 1), 0.2, self.training))


class BareLSTM(nn.Module):
    """nn.LSTM, max over the steps of the text, dropout, linear."""

    def __init__(self, dim: int, classes: int, hidden: int = 100) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.output = nn.Linear(hidden, classes)

    def forward(self, x, lengths):
        states, _ = self.lstm(x)
        beyond = torch.arange(states.shape[1]) >= lengths.unsqueeze(1)
        pooled = states.masked_fill(beyond.unsqueeze(-1), -1e9).amax(1)
        return self.output(functional.dropout(pooled, 0.2, self.training))


class NaiveMask(nn.Module):
    """VMASK as one would write it first: the network runs at every position, padding included."""

    def __init__(self, dim: int, hidden: int = 100) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, x, words):
        logits = self.net(x)
        keep = functional.gumbel_softmax(logits, hard=True, dim=2)[:, :, 1:]
        p = logits.softmax(2)
        return x * keep, (p * (p + 1e-8).log()).sum(2)[words].mean()


def train_epoch(model, mask, vectors, batches, pad_to=0):
    """One pass over `batches`, each a list of id tensors and a tensor of labels, padded to at least `pad_to`."""
    embedding = nn.Embedding.from_pretrained(vectors, freeze=True)
    parameters = [*model.parameters(), *(mask.parameters() if mask else [])]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    model.train()
    for texts, labels in batches:
        ids = pad_sequence(texts, batch_first=True)
        ids = functional.pad(ids, (0, max(0, pad_to - ids.shape[1])))
        x, penalty = embedding(ids), 0.0
        if mask:
            x, penalty = mask(x, ids != 0)
        lengths = (ids != 0).sum(1)
        loss = functional.cross_entropy(model(x, lengths), labels) + 0.5 * penalty
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
