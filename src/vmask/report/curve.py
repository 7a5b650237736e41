"""Lines over epochs as small SVG pictures, so that a page needs nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 120, 14, 34
COLOURS = ("#115ea3", "#c2571a", "#2e7d4f", "#7a3e9d")
SMALL_WIDTH, SMALL_HEIGHT = 264, 150
SMALL_LEFT, SMALL_RIGHT, SMALL_TOP, SMALL_BOTTOM = 40, 12, 10, 22


@dataclass(frozen=True)
class Plane:
    """Where epochs and values lie in a picture.

    Attributes:
        left: of the first epoch.
        right: of the last.
        top: of the highest value.
        bottom: of the lowest.
        epochs: how many there are.
        low: the lowest value.
        high: the highest.
    """

    left: float
    right: float
    top: float
    bottom: float
    epochs: int
    low: float
    high: float

    def x(self, epoch: int) -> float:
        """Where an epoch lies, counted from 1."""
        return self.left + (self.right - self.left) * (epoch - 1) / max(self.epochs - 1, 1)

    def y(self, value: float) -> float:
        """Where a value lies."""
        return self.top + (self.bottom - self.top) * (self.high - value) / (self.high - self.low)

    def points(self, values: Sequence[float]) -> str:
        """The values of epoch 1, 2, … as points of a line; an epoch without one (NaN) has no point."""
        return " ".join(f"{self.x(i):.1f},{self.y(v):.1f}" for i, v in enumerate(values, 1) if v == v)

    def grid(self, value: float, shown: str) -> str:
        """A line at a value, with the value beside it."""
        return (
            f'<line x1="{self.left}" x2="{self.right}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}" class="grid"/>'
            f'<text x="{self.left - 6}" y="{self.y(value) + 4:.1f}" text-anchor="end">{shown}</text>'
        )

    def epoch_numbers(self, at_most: int, y: float) -> str:
        """Some of the epochs below the picture."""
        step = max(1, round(self.epochs / at_most))
        return "".join(
            f'<text x="{self.x(epoch):.1f}" y="{y}" text-anchor="middle">{epoch}</text>'
            for epoch in range(1, self.epochs + 1, step)
        )


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
    epochs = max(len(line) for line in lines.values())
    plane = Plane(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, epochs, low - margin, high + margin)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="curve" aria-label="{escape(y_label)}, every epoch">'
    ]
    for i in range(5):
        value = plane.low + (plane.high - plane.low) * i / 4
        parts.append(plane.grid(value, f"{value:.2f}"))
    parts.append(plane.epoch_numbers(8, HEIGHT - BOTTOM + 18))
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 2}" text-anchor="middle">epoch</text>')
    label_y = _apart([plane.y(line[-1]) for line in lines.values()])
    for (name, line), colour, at in zip(lines.items(), COLOURS * len(lines), label_y, strict=False):
        parts.append(f'<polyline points="{plane.points(line)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{plane.x(len(line)) + 8:.1f}" y="{at + 4:.1f}" fill="{colour}">{escape(name)}</text>')
        if marks and name in marks:
            epoch = marks[name]
            here = f'cx="{plane.x(epoch):.1f}" cy="{plane.y(line[epoch - 1]):.1f}"'
            parts.append(f'<circle {here} r="4.5" fill="{colour}"/>')
    return "".join([*parts, "</svg>"])


def small_curve_svg(
    name: str, values: Sequence[float], mark: int, spread: Sequence[float] | None = None, border: int = 0
) -> str:
    """A small picture of one line, one of several beside each other; colours are those of the page.

    Args:
        name: what the values are.
        values: after epoch 1, 2, …; NaN where there is none.
        mark: the epoch to mark, which has a value.
        spread: how far values go up and down around each, drawn as a band.
        border: the last epoch of a first stage; 0 where there is one stage.
    """
    around = spread or [0.0] * len(values)
    there = [(value, wide) for value, wide in zip(values, around, strict=True) if value == value]
    low, high = min(value - wide for value, wide in there), max(value + wide for value, wide in there)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.05
    right, bottom = SMALL_WIDTH - SMALL_RIGHT, SMALL_HEIGHT - SMALL_BOTTOM
    plane = Plane(SMALL_LEFT, right, SMALL_TOP, bottom, len(values), low - margin, high + margin)
    parts = [
        f'<svg viewBox="0 0 {SMALL_WIDTH} {SMALL_HEIGHT}" role="img" class="plot small" '
        f'aria-label="{escape(name)}, every epoch: {there[0][0]:.3g} at first, {values[mark - 1]:.3g} at epoch {mark}">'
    ]
    parts += [plane.grid(step, f"{step:g}") for step in nice_steps(plane.low, plane.high)]
    parts.append(plane.epoch_numbers(6, SMALL_HEIGHT - 4))
    if border:
        x = (plane.x(border) + plane.x(border + 1)) / 2
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{plane.top}" y2="{plane.bottom}" class="border"/>')
    if spread:
        above = [value + wide for value, wide in zip(values, spread, strict=True)]
        below = [value - wide for value, wide in zip(values, spread, strict=True)]
        back = " ".join(reversed(plane.points(below).split()))
        parts.append(f'<polygon points="{plane.points(above)} {back}" class="band"/>')
    parts.append(f'<polyline points="{plane.points(values)}" class="line"/>')
    x, y = plane.x(mark), plane.y(values[mark - 1])
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="dot"/>')
    return "".join([*parts, "</svg>"])


def nice_steps(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers from one number to another, up to about as many as wanted.

    >>> nice_steps(0.76, 0.92), nice_steps(0, 1.4), nice_steps(2, 2)
    ([0.8, 0.85, 0.9], [0.0, 0.5, 1.0], [2.0])
    """
    rough = (high - low) / wanted or 1.0
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _apart(heights: Sequence[float], gap: float = 15.0) -> list[float]:
    """The heights, moved down where labels would overlap."""
    placed = list(heights)
    order = sorted(range(len(placed)), key=lambda i: placed[i])
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + gap)
    return placed
