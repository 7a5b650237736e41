"""Convolution and max pooling in one step, for word vectors that repeat and are scaled.

A filter of width k over scaled words is a sum of k projections, `h_i = sum_j s_{i+j} P[w_{i+j}, j]` with
`P[w, j] = W_j x_w`. So every distinct word of the batch is projected once, and a window is k gathers and adds. Max
pooling passes its gradient to one window per filter and text, so the backward pass touches B * F * k numbers rather
than B * T * F * k: the gradient of a word's scale is an inner product with projections that are there already, and no
gradient at the input is computed. `benchmarks/bench_training.py` measures it against `Conv1d`; a test holds it to that.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def project(table: Tensor, weight: Tensor) -> Tensor:
    """(U * k, F) every word (U, D) by every offset of the filters (F, D, k): row w * k + j is word w by offset j."""
    filters, dim, width = weight.shape
    projected: Tensor = (table @ weight.permute(1, 2, 0).reshape(dim, width * filters)).view(-1, filters)
    return projected


def pooled(projected: Tensor, index: Tensor, width: int, windows: Tensor, pads: tuple[int, int]) -> Tensor:
    """(B, F) largest response over the counted windows, without a gradient and without bias.

    Args:
        projected: (U * k, F) what `project` makes of the words, the first of them zeros.
        index: (B, T) word at every position; 0 is padding.
        width: k.
        windows: (B,) how many windows of each text count.
        pads: how many zeros in front and behind.
    """
    offsets = torch.arange(width, dtype=index.dtype, device=index.device)
    rows = functional.pad(index, pads).unfold(1, width, 1) * width + offsets  # (B, W, k)
    counted = torch.arange(rows.shape[1], device=index.device) < windows.unsqueeze(1)
    if not counted.all():  # what does not count repeats the first window, which costs less than to hide what it gives
        rows = torch.where(counted.unsqueeze(-1), rows, rows[:, :1])
    sums = functional.embedding_bag(rows.reshape(-1, width), projected, mode="sum")
    return sums.view(*rows.shape[:2], -1).amax(1)


class _WindowMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, index: Tensor, scale: Tensor, weight: Tensor, windows: Tensor, pads: tuple[int, int]
    ) -> Tensor:
        filters, dim, width = weight.shape
        flat_weight = weight.permute(1, 2, 0).reshape(dim, width * filters)
        projected = table @ flat_weight  # (U, k * F)
        # Row w * k + j of the (U * k, F) view is the projection of word w by offset j. Padding has weight 0.
        offsets = torch.arange(width, device=index.device)
        rows = functional.pad(index, pads).unfold(1, width, 1) * width + offsets  # (B, W, k)
        weights = functional.pad(scale, pads).unfold(1, width, 1).contiguous()  # (B, W, k)
        sums = functional.embedding_bag(
            rows.reshape(-1, width),
            projected.view(-1, filters),
            per_sample_weights=weights.view(-1, width),
            mode="sum",
        ).view(*rows.shape[:2], filters)
        counted = torch.arange(rows.shape[1], device=index.device) < windows.unsqueeze(1)  # (B, W)
        best, where = sums.masked_fill_(~counted.unsqueeze(-1), torch.finfo(sums.dtype).min).max(1)
        ctx.save_for_backward(table, projected, rows, weights, where, flat_weight)
        ctx.width, ctx.before, ctx.positions = width, pads[0], index.shape[1]
        return best

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        table, projected, rows, weights, where, flat_weight = ctx.saved_tensors
        width, (texts, filters) = ctx.width, grad.shape
        chosen = where.unsqueeze(-1).expand(-1, -1, width)  # (B, F, k) the window that won
        cells = rows.gather(1, chosen) * filters + torch.arange(filters, device=grad.device).unsqueeze(-1)
        grad = grad.unsqueeze(-1)
        grad_projected = torch.zeros_like(projected).view(-1)
        grad_projected.scatter_add_(0, cells.view(-1), (grad * weights.gather(1, chosen)).view(-1))
        grad_projected = grad_projected.view_as(projected)

        grad_table = grad_projected @ flat_weight.t() if ctx.needs_input_grad[0] else None
        grad_scale = None
        if ctx.needs_input_grad[2]:
            positions = where.unsqueeze(-1) + torch.arange(width, device=grad.device)
            padded = grad.new_zeros(texts, rows.shape[1] + width - 1)
            padded.scatter_add_(1, positions.view(texts, -1), (grad * projected.view(-1)[cells]).view(texts, -1))
            grad_scale = padded[:, ctx.before : ctx.before + ctx.positions]
        grad_weight = None
        if ctx.needs_input_grad[3]:
            grad_weight = (table.t() @ grad_projected).view(-1, width, filters).permute(2, 0, 1)
        return grad_table, None, grad_scale, grad_weight, None, None


def window_max(
    table: Tensor,
    index: Tensor,
    scale: Tensor,
    weight: Tensor,
    bias: Tensor,
    windows: Tensor,
    pads: tuple[int, int],
) -> Tensor:
    """(B, F) largest response of every filter over the counted windows of every text, bias included.

    Equal to `Conv1d(D, F, k)` on `scale * table[index]` with zeros at both ends, then the maximum over the first
    `windows` steps.

    Args:
        table: (U, D) vectors of the distinct words.
        index: (B, T) row of `table` at every position.
        scale: (B, T) factor of every position; 0 where nothing is to be seen.
        weight: (F, D, k) filters, as a `Conv1d` has them.
        bias: (F,).
        windows: (B,) how many windows of each text count, at least 1 each.
        pads: how many zeros in front and behind.
    """
    best: Tensor = _WindowMax.apply(table, index, scale, weight, windows, pads)  # type: ignore[no-untyped-call]
    return best + bias
