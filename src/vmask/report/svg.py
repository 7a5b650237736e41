"""The numbers of SVG pictures: scales, ticks and points. The templates in `charts.html` draw them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isnan, log, log10


@dataclass(frozen=True)
class Scale:
    """Where values lie along one side of a picture.

    Attributes:
        low: the value at `start`.
        high: the value at `end`.
        start: pixels.
        end: pixels; below `start` where values grow upwards.
        logarithmic: whether equal ratios are equal distances; values are then above 0.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies, to a tenth of a pixel.

        >>> Scale(0.0, 1.0, 100, 0)(0.25), Scale(1, 100, 0, 50, logarithmic=True)(10)
        (75.0, 25.0)
        """
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = log(value), log(low), log(high)
        share = (value - low) / (high - low) if high > low else 0.0
        return round(self.start + (self.end - self.start) * share, 1)


@dataclass(frozen=True)
class Plot:
    """A picture with two axes.

    Attributes:
        width: of the picture, in pixels.
        height: of the picture.
        left: where grid lines start.
        right: where they end.
        x: scale from left to right.
        y: scale; its `start` is the lower edge and its `end` the upper one.
        x_ticks: place and label of every tick below.
        y_ticks: place and label of every grid line.
    """

    width: float
    height: float
    left: float
    right: float
    x: Scale
    y: Scale
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Points as a `points` attribute; those without a value (NaN) are left out.

    >>> polyline([(1.0, 2.5), (2.0, float("nan")), (3.0, 4.0)])
    '1.0,2.5 3.0,4.0'
    """
    return " ".join(f"{x},{y}" for x, y in points if not isnan(y))


def band(xs: Sequence[float], upper: Sequence[float], lower: Sequence[float]) -> str:
    """The area between two lines, as a `points` attribute.

    >>> band([0.0, 1.0], [5.0, 6.0], [8.0, 9.0])
    '0.0,5.0 1.0,6.0 1.0,9.0 0.0,8.0'
    """
    back = zip(reversed(xs), reversed(lower), strict=True)
    return polyline([*zip(xs, upper, strict=True), *back])


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
