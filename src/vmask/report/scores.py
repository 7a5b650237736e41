"""Scores of an evaluation or a comparison as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from vmask.evaluation.compare import Compared, Comparison
    from vmask.evaluation.result import Evaluation, Score

ARROWS = {"higher": " ↑", "lower": " ↓", "neither": ""}
MANY_CLASSES = 12
"""Classes above which a confusion matrix is no longer for reading."""


def number(value: float, digits: int = 3) -> str:
    """A number; a dash where there is none."""
    return f"{value:.{digits}f}" if value == value else "–"


def with_interval(score: Score, digits: int = 3) -> str:
    """A number with its 95% interval."""
    value, low, high = (number(one, digits) for one in (score.value, score.low, score.high))
    return f"{value} [{low}, {high}]" if score.low == score.low else value


def score_tables(evaluation: Evaluation, all_parts: bool = False) -> Iterator[Table]:
    """Scores of explanations and rankings, a table for metrics that have the same of these; a column for each."""
    from rich.table import Table

    shown = [one for one in evaluation.scores if one.by and (one.headline or all_parts)]
    by_metric: dict[str, list[Score]] = {}
    for score in shown:
        by_metric.setdefault(score.metric, []).append(score)
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, scores in by_metric.items():
        groups.setdefault(tuple(dict.fromkeys(one.by for one in scores)), []).append(metric)
    for columns, metrics in groups.items():
        table = Table("metric", "hidden by", *columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
        for metric in metrics:
            for cells in _rows(by_metric[metric], columns):
                table.add_row(*cells)
        yield table


def _rows(scores: Sequence[Score], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    cells = {(one.part, one.hide, one.by): with_interval(one) for one in scores}
    for part, hide in dict.fromkeys((one.part, one.hide) for one in scores):
        name = _named(next(one for one in scores if one.part == part))
        yield name, hide, *(cells.get((part, hide, by), "") for by in columns)


def confusion_table(evaluation: Evaluation) -> Table | None:
    """How often each class was taken for which; None without true labels, of several models or of many classes."""
    from rich.table import Table

    if len(evaluation.confusion) != 1 or len(evaluation.labels) > MANY_CLASSES:
        return None
    names = [str(label) for label in evaluation.labels]
    table = Table("true \\ predicted", *names, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in zip(names, evaluation.confusion[0], strict=True):
        table.add_row(name, *(f"{count:,}" for count in row))
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Both models' numbers, the difference and its p-value."""
    from rich.table import Table

    a, b = comparison.names
    heads = ("metric", "by", "hidden by", a, b, f"{b} minus {a}", "p (Holm)")
    table = Table(*heads, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for row in comparison.rows:
        one = row.difference
        between = f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]" if one else "not tested"
        table.add_row(_named(row), row.by, row.hide, number(row.a), number(row.b), between, _p(row.p_holm))
    return table


def comparison_words(comparison: Comparison) -> list[str]:
    """What the comparison says, a line a verdict."""
    verdicts: dict[str, list[str]] = {}
    for row in comparison.rows:
        how = ", ".join(filter(None, (row.by, row.hide)))
        verdicts.setdefault(row.verdict, []).append(f"{row.metric} {row.part}".strip() + (f" ({how})" if how else ""))
    return [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items()]


def _named(row: Score | Compared) -> str:
    return f"{row.metric} {row.part}".strip() + ARROWS[row.better]


def _p(value: float) -> str:
    return "" if value != value else "< 0.001" if value < 0.001 else f"{value:.3f}"
