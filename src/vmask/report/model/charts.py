"""The pictures of a model's page in numbers: curves of the training, reliability, a scatter plot and clouds of words.

No font is measured, so every machine gives the same bytes. Widths are those of a common sans-serif face, and
`textLength` in clouds holds the browser's own to them: so no word lies on another, whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, isnan, nan, pi, sin, sqrt
from typing import Any
from unicodedata import east_asian_width

from vmask.report.figures.labels import Box, Place, nearest_point, place_labels, printed_word
from vmask.report.figures.scatter import LONGEST_NAME
from vmask.report.formatting import has_interval
from vmask.report.model.content import Calibration, Training, Word, Words
from vmask.report.model.word_table import named_words
from vmask.report.svg import Plot, Scale, band, nice_steps, polyline

DEV_SCORES = {"accuracy": "Dev accuracy", "macro_f1": "Dev macro F1"}
LARGEST, SMALLEST = 6.5, 3.0
"""Radius of the dot with the most texts, and of one with hardly any."""
BARS = 38
"""Height of the bars below a reliability diagram."""
FONT = 12.5
NARROW, WIDE = "fijlrtI.,:;!'|()[] ", "mwMW@%"
"""Letters that are much narrower or wider than others."""
GAP = 3.0
"""Pixels between words."""
TALL = 1.12
"""Height of a word, by its font size."""
TURNS, PER_TURN = 60, 48
"""How far the search for a free place goes, and in how many steps each round of it."""


@dataclass(frozen=True)
class Curve:
    """A value after every epoch.

    Attributes:
        summary: the curve in words.
        line: the values, as points.
        band: the spread around them, as points; empty if there is none.
        border: x of the border between two stages; None if there is one stage.
        annealing: x and width of the epochs that could not be kept; None if there are none.
        mark: x and y of the epoch that was kept.
    """

    title: str
    note: str
    summary: str
    plot: Plot
    line: str
    band: str
    border: float | None
    annealing: tuple[float, float] | None
    mark: tuple[float, float]


def training_curves(training: Training) -> list[Curve]:
    """Everything in the history that changes over epochs."""
    return [
        curve(
            title,
            note,
            values,
            training.best_epoch,
            spread,
            last_of_first_stage(training.epochs),
            annealing_epochs(training.epochs),
        )
        for title, note, values, spread in _histories(training)
    ]


def _histories(training: Training) -> Iterator[tuple[str, str, Sequence[float], Sequence[float]]]:
    """Title, note, values and spread of each curve; an empty spread is none."""

    def column(name: str) -> list[float]:
        """The values, NaN where an epoch has none; empty if the epoch that was kept has none."""
        values = [row.get(name) for row in training.epochs]
        if values[training.best_epoch - 1] is None:
            return []
        return [nan if value is None else float(value) for value in values]

    for name in sorted(DEV_SCORES, key=lambda name: name != training.select):
        if values := column(f"dev_{name}"):
            yield DEV_SCORES[name], "on held-out texts", values, ()
    penalty = column("penalty")
    if values := column("loss"):
        yield "Loss", "including the penalty" if any(penalty) else "on the training texts", values, ()
    if any(penalty):
        yield "Penalty", "of the mask, unweighted", penalty, ()
        if values := column("beta"):
            yield "Beta", "weight of the penalty", values, ()
    mean, spread = column("mask_mean"), column("mask_std")
    if mean and spread:
        yield "Mask", "mean and std over words", mean, spread


def last_of_first_stage(epochs: Sequence[Mapping[str, Any]]) -> int:
    """The last epoch of the first of two stages; 0 if there is one stage."""
    stages = [row.get("stage", 1) for row in epochs]
    return stages.count(1) if len(set(stages)) > 1 else 0


def annealing_epochs(epochs: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The first and the last epoch that did not compete for the best dev score; (0, 0) if all did."""
    waiting = [number for number, row in enumerate(epochs, 1) if not row.get("competes", True)]
    return (waiting[0], waiting[-1]) if waiting else (0, 0)


def curve(
    title: str,
    note: str,
    values: Sequence[float],
    best_epoch: int,
    spread: Sequence[float] = (),
    border: int = 0,
    annealing: tuple[int, int] = (0, 0),
) -> Curve:
    """A small picture of one line.

    Args:
        title: what the values are.
        note: what a reader should know of them.
        values: after epoch 1, 2, …; NaN where there is none.
        best_epoch: the epoch to mark, which has a value.
        spread: how far values go up and down around each; empty if there is none.
        border: the last epoch of a first stage; 0 if there is one stage.
        annealing: the first and the last epoch that did not compete; (0, 0) if all did.
    """
    width, height, left, right, top, bottom = 264, 150, 40, 252, 10, 128
    lower = [value - wide for value, wide in zip(values, spread or [0.0] * len(values), strict=True)]
    upper = [value + wide for value, wide in zip(values, spread or [0.0] * len(values), strict=True)]
    low = min(value for value in lower if not isnan(value))
    high = max(value for value in upper if not isnan(value))
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.05
    x = Scale(1, len(values), left, right)
    y = Scale(low - margin, high + margin, bottom, top)
    xs = [x(epoch) for epoch in range(1, len(values) + 1)]
    first = next(value for value in values if not isnan(value))
    best = values[best_epoch - 1]
    return Curve(
        title=title,
        note=note,
        summary=f"{title} after each epoch: {first:.3g} at first, {best:.3g} at epoch {best_epoch}",
        plot=Plot(
            width,
            height,
            left,
            right,
            x,
            y,
            tuple((x(epoch), str(epoch)) for epoch in range(1, len(values) + 1, max(1, round(len(values) / 6)))),
            tuple((y(value), f"{value:g}") for value in nice_steps(y.low, y.high)),
        ),
        line=polyline(zip(xs, map(y, values), strict=True)),
        band=band(xs, [y(value) for value in upper], [y(value) for value in lower]) if spread else "",
        border=round((x(border) + x(border + 1)) / 2, 1) if border else None,
        annealing=(x(annealing[0]), round(x(annealing[1] + 0.5) - x(annealing[0]), 1)) if annealing[1] else None,
        mark=(x(best_epoch), y(best)),
    )


@dataclass(frozen=True)
class ReliabilityDot:
    """Predictions of similar probability in a reliability diagram.

    Attributes:
        title: the same in words.
        x: the mean probability.
        y: the share that is correct.
        whisker: y of both ends of its interval; None if there is no interval.
        bar: x, y, width and height of the bar below, which shows how many they are.
    """

    title: str
    x: float
    y: float
    whisker: tuple[float, float] | None
    radius: float
    bar: tuple[float, float, float, float]


def reliability(calibration: Calibration) -> tuple[Plot, list[ReliabilityDot]]:
    """A reliability diagram: the share of correct predictions over the probability of the predicted class."""
    size, left, right, top, bottom = 420, 46, 402, 12, 324
    x, y = Scale(0, 1, left, right), Scale(0, 1, bottom, top)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    floor = bottom + 30 + BARS
    most = max(group.right.n for group in calibration.bins)
    dots = []
    for group in calibration.bins:
        tall = round(max(BARS * group.right.n / most, 1), 1)
        dots.append(
            ReliabilityDot(
                title=f"probability {group.low:.0%} to {group.high:.0%} ({group.sure:.1%} on average): "
                f"{group.right.value:.1%} of {group.right.n:,} correct",
                x=x(group.sure),
                y=y(group.right.value),
                whisker=(y(group.right.low), y(group.right.high)) if has_interval(group.right) else None,
                radius=round(max(LARGEST * sqrt(group.right.n / most), SMALLEST), 1),
                bar=(x(group.low) + 1, round(floor - tall, 1), round(x(group.high) - x(group.low) - 2, 1), tall),
            )
        )
    shown = [f"{tick:.0%}" for tick in ticks]
    x_ticks, y_ticks = (tuple(zip(map(scale, ticks), shown, strict=True)) for scale in (x, y))
    return Plot(size, size, left, right, x, y, x_ticks, y_ticks), dots


@dataclass(frozen=True)
class NamedPoint:
    """A word of the scatter plot that has its name beside it.

    Attributes:
        row: its row in the table of words.
        kind: `top`, one of the most important, or `frequent`.
        label: its name, not too long.
        line_to: end of the line from the point to the label.
        label_at: middle of the label, on its baseline.
    """

    word: Word
    row: int
    kind: str
    label: str
    x: float
    y: float
    line_to: tuple[float, float]
    label_at: tuple[float, float]


def scatter(words: Words) -> tuple[Plot, str, list[NamedPoint]]:
    """Importance of words over their count: the axes, all points as one path, and the words that are named."""
    width, height, left, right, top, bottom = 760, 430, 44, 746, 14, 376
    important, frequent = named_words(words.rows)
    marked = [(word, "top") for word in important] + [(word, "frequent") for word in frequent if word not in important]
    scores = [score for _, score, _ in words.drawn] + [word.importance for word, _ in marked]
    most = max(10, *(count for _, _, count in words.drawn), *(word.count for word, _ in marked))
    low, high = min(*scores, 0.45), max(*scores, 0.55)
    low, high = low - 0.04 * (high - low), high + 0.1 * (high - low)  # room for names above
    x = Scale(1, most, left + 8, right - 8, logarithmic=True)
    y = Scale(low, high, bottom, top)
    plot = Plot(
        width,
        height,
        left,
        right,
        x,
        y,
        tuple((x(10**power), f"{10**power:,}") for power in range(len(str(most)))),
        tuple((y(value), f"{value:g}") for value in nice_steps(low, high, 5)),
    )
    points = [(x(word.count), y(word.importance)) for word, _ in marked]
    labels = [printed_word(word.word, LONGEST_NAME) for word, _ in marked]
    boxes = place_labels(
        points,
        [(text_width(label, FONT) + 6, FONT * 1.25) for label in labels],
        (left + 2, top, right, bottom - 2),
        [(px - 5, py - 5, px + 5, py + 5) for px, py in points],
    )
    rows = {word.word: row for row, word in enumerate(words.rows)}
    names = []
    for (word, kind), label, point, box in zip(marked, labels, points, boxes, strict=True):
        end = nearest_point(box, point)
        middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + FONT * 0.34)
        names.append(NamedPoint(word, rows[word.word], kind, label, *point, _rounded(end), _rounded(middle)))
    return plot, "".join(f"M{x(count)} {y(score)}h0" for _, score, count in words.drawn), names


def _rounded(place: tuple[float, float]) -> tuple[float, float]:
    return round(place[0], 1), round(place[1], 1)


@dataclass(frozen=True)
class Placed:
    """A word in its place.

    Attributes:
        colour: its class in the style sheet.
        title: what is shown when the pointer rests on it.
        size: of the font.
        x: its middle.
        y: its baseline.
    """

    word: str
    colour: str
    title: str
    size: float
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Cloud:
    """A picture of words.

    Attributes:
        name: its class in the style sheet.
        top: where the picture starts; what stays empty above and below is cut off.
        words: the words in their places, the most important first.
    """

    name: str
    width: float
    top: float
    height: float
    words: tuple[Placed, ...]


def text_width(text: str, size: float) -> float:
    """About as wide as a text is in a sans-serif face."""
    ems = 0.0
    for char in text:
        if east_asian_width(char) in "WF":
            ems += 1.0
        elif char in NARROW:
            ems += 0.35
        elif char in WIDE:
            ems += 0.92
        else:
            ems += 0.71 if char.isupper() else 0.61
    return ems * size


def cloud(
    name: str, words: Sequence[tuple[str, str, str]], width: float, height: float, largest: float, smallest: float
) -> Cloud:
    """Words on a spiral from the middle, the first the largest; one that finds no place is left out.

    Args:
        name: class of the cloud in the style sheet.
        words: each with its class in the style sheet and its title, the most important first.
        width: of the picture, in pixels.
        height: of the picture.
        largest: font size of the first word.
        smallest: font size of the last word.
    """
    placed: list[Placed] = []
    boxes: list[Box] = []
    places = list(_spiral(width, height))
    for rank, (text, colour, title) in enumerate(words):
        share = rank / max(len(words) - 1, 1)
        size = largest - (largest - smallest) * share**0.6  # the first few stand out
        size = min(size, size * (width - 4 * GAP) / max(text_width(text, size), 1.0))
        half_width, half_height = text_width(text, size) / 2 + GAP, size * TALL / 2 + GAP / 2
        in_the_way: Box | None = None  # what was in the way at one place mostly is at the next too
        for x, y in places:
            box = (x - half_width, y - half_height, x + half_width, y + half_height)
            if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
                continue
            if in_the_way is not None and _share_area(box, in_the_way):
                continue
            in_the_way = next((other for other in boxes if _share_area(box, other)), None)
            if in_the_way is None:
                boxes.append(box)
                placed.append(Placed(text, colour, title, size, x, y + size * 0.34, text_width(text, size)))
                break
    top = min((word.y - word.size * 0.9 for word in placed), default=0.0) - GAP
    bottom = max((word.y + word.size * 0.35 for word in placed), default=height) + GAP
    return Cloud(name, width, round(top), round(bottom - top), tuple(placed))


def _spiral(width: float, height: float) -> Iterator[Place]:
    """The places that are tried for a word, from the middle of a picture to its edges."""
    for step in range(TURNS * PER_TURN):
        angle, radius = 2 * pi * step / PER_TURN, step / (TURNS * PER_TURN)
        yield width / 2 * (1 + radius * cos(angle)), height / 2 * (1 + radius * sin(angle))


def _share_area(a: Box, b: Box) -> bool:
    """Whether two boxes share an area; `overlap` computes it, which takes several times as long."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
