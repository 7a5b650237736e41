"""How often words are seen, and how important a mask makes them: a scatter plot with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vmask.report.figures.labels import nearest_point, place_labels, printed_word
from vmask.report.figures.style import BLUE, COLUMN, DPI, FAINT, RED, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

NAMED = 10
"""Words of either kind that are named."""
LONGEST_NAME = 18
"""Letters of a name, at most."""
TOP: dict[str, Any] = {"color": RED, "marker": "^", "label": "most important words"}
FREQUENT: dict[str, Any] = {"color": BLUE, "marker": "s", "label": "most frequent words"}


def draw_scatter(
    points: Sequence[Sequence[float]], top: Sequence[Sequence[Any]], frequent: Sequence[Sequence[Any]]
) -> Figure:
    """Importance over count, both of many words; some of them are named.

    Args:
        points: count and importance of words that are grey points.
        top: word, importance and count of those with the highest importance.
        frequent: likewise, of those with the highest count.
    """
    figure = new_figure(COLUMN, 3.3, dpi=DPI)
    panel = figure.add_axes((0.115, 0.125, 0.855, 0.80))
    panel.plot(*zip(*points, strict=True), ".", color=FAINT, markersize=3, markeredgewidth=0, rasterized=True)
    panel.axhline(0.5, color="#5c6470", linewidth=0.8, linestyle="--", zorder=1)
    for rows, style in ((top, TOP), (frequent, FREQUENT)):
        panel.plot([row[2] for row in rows], [row[1] for row in rows], linestyle="", markersize=4,
                   markeredgecolor="white", markeredgewidth=0.4, zorder=4, **style)  # fmt: skip
    _set_axes(panel, [*points, *((row[2], row[1]) for row in (*top, *frequent))])
    figure.draw_without_rendering()  # places in pixels are right only now
    both = {row[0] for row in top}
    _write_names(panel, [(row, RED) for row in top] + [(row, BLUE) for row in frequent if row[0] not in both])
    panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, handletextpad=0.2, borderaxespad=0.2)
    return figure


def _set_axes(panel: Axes, points: Sequence[Any]) -> None:
    """A logarithmic count, and importance with some room above for names."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    counts, scores = [count for count, _ in points], [score for _, score in points]
    low, high = min(*scores, 0.45), max(scores)
    panel.set_xscale("log")
    panel.set_xlim(min(counts) / 2, max(counts) * 1.6)
    bottom, top = low - 0.08 * (high - low), high + 0.26 * (high - low)
    panel.set_yticks([tick / 10 for tick in range(11) if bottom <= tick / 10 <= top])
    panel.set_ylim(bottom, top)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("count in the training texts (log scale)")
    panel.set_ylabel("importance")


def _write_names(panel: Axes, rows: Sequence[tuple[Sequence[Any], str]]) -> None:
    """Names beside points, with a thin line where they lie further off."""
    points = [tuple(map(float, panel.transData.transform((row[2], row[1])))) for row, _ in rows]
    texts = [_write_name(panel, str(row[0]), colour) for row, colour in rows]
    extents = [text.get_window_extent() for text in texts]
    frame = panel.get_window_extent()
    boxes = place_labels(
        [(x, y) for x, y in points],
        [(extent.width + 2, extent.height) for extent in extents],
        (frame.x0 + 2, frame.y0 + 2, frame.x1, frame.y1),
        [(x - 4, y - 4, x + 4, y + 4) for x, y in points],
    )
    back = panel.transData.inverted()
    for text, box, point, (_, colour) in zip(texts, boxes, points, rows, strict=True):
        x, y = back.transform(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
        text.set_position((float(x), float(y)))
        line = back.transform((point, nearest_point(box, (point[0], point[1]))))
        panel.plot(*line.T, color=colour, linewidth=0.5, zorder=3)


def _write_name(panel: Axes, word: str, colour: str) -> Text:
    ground = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.3}
    return panel.text(
        1,
        0.5,
        printed_word(word, LONGEST_NAME),
        color=colour,
        fontsize=7,
        ha="center",
        va="center",
        zorder=5,
        bbox=ground,
    )
