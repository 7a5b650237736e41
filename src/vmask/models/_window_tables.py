"""Convolution and max pooling of one text under many patterns of zeroed words.

The response of a few neighbouring windows depends only on which of the few words under them are kept. So the largest
response of every group of windows is computed once for each of the 2^n patterns of its n words, and a perturbation of
the text is one look-up a group and a maximum, whatever the size of a window.
"""

from __future__ import annotations

import torch
from torch import Tensor

BITS = 6
"""Words under a group of windows, or as many as a window has: 64 patterns pay from a few hundred perturbations on."""
ROWS = 1024
"""Perturbations at a time: what is made of them stays in the cache."""


class WindowTables:
    """The filters of one width over one text.

    Args:
        projected: (U * k, F) every word by every offset of the filters; the first word is padding, all zeros.
        words: (T,) the words of the text.
        width: k.
        pads: zeros in front of and behind the text.
    """

    def __init__(self, projected: Tensor, words: Tensor, width: int, pads: tuple[int, int]) -> None:
        padded = torch.nn.functional.pad(words, pads)
        windows = len(padded) - width + 1
        together = max(min(BITS - width + 1, windows), 1)
        self.bits = width + together - 1
        # The last group overlaps the one before: a maximum may see a window twice.
        starts = torch.arange(0, windows, together, device=words.device).clamp_max(windows - together)
        patterns = torch.arange(2**self.bits, device=words.device).unsqueeze(1) >> torch.arange(
            self.bits, device=words.device
        )
        kept = (patterns & 1).to(projected.dtype)  # (2^n, n)
        offsets = torch.arange(width, device=words.device).unsqueeze(1)
        table: Tensor | None = None
        for at in range(together):
            rows = padded[starts + at + offsets] * width + offsets  # (k, G)
            response = kept[:, at : at + width] @ projected[rows].flatten(1)  # (2^n, G * F)
            table = response if table is None else torch.maximum(table, response, out=table)
        assert table is not None
        self.table = table.view(-1, projected.shape[1])  # row p * G + g is pattern p of group g
        self.starts, self.pads = starts, pads

    def pooled(self, keep: Tensor) -> Tensor:
        """(R, F) largest response over all windows, without bias, of the text with `keep` (R, T) of its words kept."""
        kept = torch.nn.functional.pad(keep.t().to(torch.int32), (0, 0, *self.pads))  # (positions, R)
        patterns = torch.zeros((len(self.starts), len(keep)), dtype=torch.int32, device=keep.device)  # (G, R)
        for bit in range(self.bits):
            patterns += kept[self.starts + bit] << bit
        rows = patterns * len(self.starts) + torch.arange(len(self.starts), device=keep.device).unsqueeze(1)
        best = self.table.index_select(0, rows[0])
        other = torch.empty_like(best)
        for row in rows[1:]:
            torch.index_select(self.table, 0, row, out=other)
            torch.maximum(best, other, out=best)
        return best
