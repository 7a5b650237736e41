"""Panels of a figure: one for each dataset and model, with room for a legend above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vmask.report.figures.style import WIDE, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
"""Panels beside each other, at most."""
WIDTHS = {1: 4.8, 2: 5.8, 3: WIDE}
"""Of a figure with so many panels in a row, or more."""


def by_dataset(pairs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str] | None]]:
    """Datasets and models in a grid: a row for each dataset, or simply in rows where there is one model."""
    names = list(dict.fromkeys(model for _, model in pairs))
    if len(names) == 1:
        return [list(pairs[at : at + COLUMNS]) for at in range(0, len(pairs), COLUMNS)]
    rows = dict.fromkeys(dataset for dataset, _ in pairs)
    return [[(row, name) if (row, name) in pairs else None for name in names] for row in rows]


def make_panels(
    grid: Sequence[Sequence[Any]], height: float, share_y: bool = True, legend: float = 0.8
) -> tuple[Figure, dict[Any, Axes]]:
    """A figure with a panel for each thing of the grid, and `legend` inches for a legend above."""
    columns = max(map(len, grid))
    figure = canvas(WIDTHS[min(columns, 3)], max(len(grid) * height, 2.1) + legend, layout="constrained")
    axes = figure.subplots(len(grid), columns, sharex=share_y, sharey=share_y, squeeze=False)
    panels = {}
    for row, things in enumerate(grid):
        for column in range(columns):
            if column < len(things) and things[column] is not None:
                panels[things[column]] = axes[row, column]
            else:
                axes[row, column].remove()
    return figure, panels
