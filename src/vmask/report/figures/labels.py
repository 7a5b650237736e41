"""Labels of points: words as figures print them, in places where they do not lie on each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import cos, inf, pi, sin
from typing import TypeAlias

from vmask.explain.highlight import printable

Box: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top."""
Place: TypeAlias = tuple[float, float]

DISTANCES = (5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0, 125.0)
"""How far a label may lie from its point, in the unit of the places; nearer is tried first."""
DIRECTIONS = tuple(2 * pi * turn / 24 for turn in range(24))
CROSSING, COVERING = 60.0, 1000.0
"""What it costs, as a distance, that a line runs over another label or its line, and that a label covers something."""


def printed_word(word: str, longest: int = 40) -> str:
    """A word as figures print it: not too long, and in quotation marks where it is a mere sign, such as a full stop."""
    word = printable(word)
    word = word if len(word) <= longest else f"{word[: longest - 1]}…"
    return word if any(char.isalnum() for char in word) else f"“{word}”"


def place_labels(
    points: Sequence[Place], sizes: Sequence[Place], frame: Box, obstacles: Sequence[Box] = ()
) -> list[Box]:
    """A box for the label of every point, one after the other, each as near as it can be.

    Args:
        points: what is labelled.
        sizes: width and height of the labels.
        frame: what labels must stay inside of.
        obstacles: what labels must not cover, such as the marks of points.

    Returns:
        The boxes. One that finds no free place lies where it covers least.
    """
    boxes: dict[int, Box] = {}
    for number in (*range(len(points)), *range(len(points))):  # twice, since the first know nothing of the last
        boxes.pop(number, None)
        boxes[number] = _best(points[number], sizes[number], frame, obstacles, [(points[i], boxes[i]) for i in boxes])
    return [boxes[number] for number in range(len(points))]


def _best(point: Place, size: Place, frame: Box, obstacles: Sequence[Box], others: Sequence[tuple[Place, Box]]) -> Box:
    """The box of a label that covers nothing, crosses least and is near, in this order."""
    lines = [(other, nearest_point(box, other)) for other, box in others]
    best, least = None, inf
    boxes = [_box_beside(point, size, *where) for where in product(DISTANCES, DIRECTIONS)]
    for box in [box for box in boxes if _inside(box, frame)] or boxes:
        line = (point, nearest_point(box, point))
        cost = _distance(*line)
        if cost >= least:
            continue
        cost += COVERING * sum(overlap(box, other) for other in (*obstacles, *(other for _, other in others)))
        cost += CROSSING * sum(_lines_cross(*line, *other) or _line_crosses_box(other, box) for other in lines)
        cost += CROSSING * sum(_line_crosses_box(line, other) for _, other in others)
        if cost < least:
            best, least = box, cost
    assert best is not None
    return best


def nearest_point(box: Box, point: Place) -> Place:
    """The place of a box that is nearest to a point."""
    left, bottom, right, top = box
    return min(max(point[0], left), right), min(max(point[1], bottom), top)


def _box_beside(point: Place, size: Place, distance: float, direction: float) -> Box:
    """The box whose edge is so far from a point in a direction."""
    x = point[0] + cos(direction) * (distance + size[0] / 2)
    y = point[1] + sin(direction) * (distance + size[1] / 2)
    return x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2


def _inside(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def overlap(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)


def _distance(a: Place, b: Place) -> float:
    return float(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5)


def _lines_cross(a: Place, b: Place, c: Place, d: Place) -> bool:
    """Whether the line from a to b crosses that from c to d."""

    def side(p: Place, q: Place, r: Place) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def _line_crosses_box(line: tuple[Place, Place], box: Box) -> bool:
    """Whether a line runs over a box, seen at a few places of it."""
    (x, y), (to_x, to_y) = line
    steps = (0.2, 0.4, 0.6, 0.8, 1.0)
    places = [(x + step * (to_x - x), y + step * (to_y - y)) for step in steps]
    return any(box[0] < place[0] < box[2] and box[1] < place[1] < box[3] for place in places)
