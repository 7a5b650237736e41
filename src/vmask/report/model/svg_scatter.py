"""Count and importance of words as SVG: many points in one path, some words with their names."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10

from vmask.report.curve import nice_steps
from vmask.report.figures.labels import named, nearest, place_labels
from vmask.report.model.content import Word
from vmask.report.model.svg_cloud import text_width

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 14, 54
NAMED = 10
"""Words of either kind that are named."""
LONG = 18
"""Letters of a name, at most."""
FONT = 12.5


def scatter_svg(words: Sequence[Word], drawn: Sequence[tuple[str, float, int]]) -> str:
    """Importance over count of words, a picture that a script can say more of (`data-` says where things are).

    Args:
        words: of which the most important and the most frequent are named.
        drawn: word, importance and count of all that are points.
    """
    top, frequent = named_words(words)
    marked = [(word, "top") for word in top] + [(word, "frequent") for word in frequent if word not in top]
    scores = [score for _, score, _ in drawn] + [word.importance for word, _ in marked]
    most = max(10, *(count for _, _, count in drawn), *(word.count for word, _ in marked))
    low, high = min(*scores, 0.45), max(*scores, 0.55)
    low, high = low - 0.04 * (high - low), high + 0.1 * (high - low)  # room for names above

    def x(count: float) -> float:
        return LEFT + 8 + (WIDTH - LEFT - RIGHT - 16) * log10(count) / log10(most)

    def y(score: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - score) / (high - low)

    points = [(x(word.count), y(word.importance)) for word, _ in marked]
    path = "".join(f"M{x(count):.1f} {y(score):.1f}h0" for _, score, count in drawn)
    return "".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group" class="plot scatter" data-left="{x(1):.2f}" '
            f'data-right="{x(most):.2f}" data-most="{most}" data-top="{TOP}" data-bottom="{HEIGHT - BOTTOM}" '
            f'data-low="{low:.5f}" data-high="{high:.5f}" '
            'aria-label="Importance of words over their count in the training texts">',
            *(_across(step, y(step)) for step in nice_steps(low, high, 5)),
            *(_upright(count, x(count)) for count in _powers(most)),
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(0.5):.1f}" y2="{y(0.5):.1f}" class="half"/>',
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle" class="axis">'
            "count in the training texts (log scale)</text>",
            f'<path d="{path}" class="points"/>',
            *_names(marked, points),
            "</svg>",
        ]
    )


def named_words(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The most important words, of those that are not too rare where there are enough, and the most frequent."""
    seen = [word for word in words if word.count >= 3]
    top = sorted(seen if len(seen) >= NAMED else words, key=lambda word: -word.importance)[:NAMED]
    return top, sorted(words, key=lambda word: -word.count)[:NAMED]


def _across(value: float, y: float) -> str:
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    )


def _upright(count: int, x: float) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count:,}</text>'


def _powers(most: int) -> list[int]:
    """1, 10, 100, … up to the greatest count."""
    return [10**power for power in range(len(str(most)))]


def _names(marked: Sequence[tuple[Word, str]], points: Sequence[tuple[float, float]]) -> list[str]:
    """Marks of named words; each can be reached by keyboard, and says its numbers."""
    shown = [named(word.word, LONG) for word, _ in marked]
    boxes = place_labels(
        points,
        [(text_width(name, FONT) + 6, FONT * 1.25) for name in shown],
        (LEFT + 2, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM - 2),
        [(px - 5, py - 5, px + 5, py + 5) for px, py in points],
    )
    found = []
    for (word, kind), name, (px, py), box in zip(marked, shown, points, boxes, strict=True):
        to_x, to_y = nearest(box, (px, py))
        said = f"{word.word}: importance {word.importance:.3f}, {word.count:,} times"
        mark = (
            f'<path d="M{px:.1f} {py - 5:.1f}l4.6 8.4h-9.2z"/>'
            if kind == "top"
            else f'<rect x="{px - 3.6:.1f}" y="{py - 3.6:.1f}" width="7.2" height="7.2"/>'
        )
        found.append(
            f'<g class="named {kind}" tabindex="0" role="img" aria-label="{escape(said)}" '
            f'data-word="{escape(word.word)}">'
            f'<title>{escape(said)}</title><line x1="{px:.1f}" y1="{py:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>{mark}'
            f'<text x="{(box[0] + box[2]) / 2:.1f}" y="{(box[1] + box[3]) / 2 + FONT * 0.34:.1f}" '
            f'text-anchor="middle">{escape(name)}</text></g>'
        )
    return found
