"""Lines over epochs as a small SVG picture, so that a page needs nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 120, 14, 34
COLOURS = ("#115ea3", "#c2571a", "#2e7d4f", "#7a3e9d")


def curve_svg(lines: Mapping[str, Sequence[float]], y_label: str, marks: Mapping[str, int] | None = None) -> str:
    """A picture of one or more lines.

    Args:
        lines: name of each line -> its value after epoch 1, 2, ….
        y_label: what the values are.
        marks: name of a line -> the epoch to mark on it, e.g. the best one.
    """
    values = [v for line in lines.values() for v in line]
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or 0.01
    low, high = low - margin, high + margin
    epochs = max(len(line) for line in lines.values())

    def x(epoch: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (epoch - 1) / max(epochs - 1, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="curve" aria-label="{escape(y_label)}, every epoch">'
    ]
    for i in range(5):
        value = low + (high - low) * i / 4
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" class="grid"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'
        )
    step = max(1, round(epochs / 8))
    parts += [
        f'<text x="{x(epoch):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{epoch}</text>'
        for epoch in range(1, epochs + 1, step)
    ]
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 2}" text-anchor="middle">epoch</text>')
    label_y = _apart([y(line[-1]) for line in lines.values()])
    for (name, line), colour, at in zip(lines.items(), COLOURS * len(lines), label_y, strict=False):
        points = " ".join(f"{x(i + 1):.1f},{y(v):.1f}" for i, v in enumerate(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x(len(line)) + 8:.1f}" y="{at + 4:.1f}" fill="{colour}">{escape(name)}</text>')
        if marks and name in marks:
            epoch = marks[name]
            parts.append(f'<circle cx="{x(epoch):.1f}" cy="{y(line[epoch - 1]):.1f}" r="4.5" fill="{colour}"/>')
    return "".join([*parts, "</svg>"])


def _apart(heights: Sequence[float], gap: float = 15.0) -> list[float]:
    """The heights, moved down where labels would overlap."""
    placed = list(heights)
    order = sorted(range(len(placed)), key=lambda i: placed[i])
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + gap)
    return placed
