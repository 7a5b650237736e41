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
WIDTH = 120
GAP = 2
"""Spaces between columns."""

Cell = tuple[str, str]
"""What stands in a cell, and what goes below it where there is no room beside it."""
EMPTY: Cell = ("", "")


def number(value: float, digits: int = 3) -> str:
    """A number; a dash where there is none."""
    return f"{round(value, digits) + 0.0:.{digits}f}" if value == value else "–"  # 0 has no sign


def with_interval(score: Score, digits: int = 3) -> str:
    """A number with its 95% interval."""
    return " ".join(filter(None, _value_and_interval(score, digits)))


def _value_and_interval(score: Score, digits: int = 3) -> Cell:
    value, low, high = (number(one, digits) for one in (score.value, score.low, score.high))
    return value, f"[{low}, {high}]" if score.low == score.low else ""


def score_tables(evaluation: Evaluation, all_parts: bool = False, width: int | None = None) -> Iterator[Table]:
    """Scores of explanations and rankings, a table for metrics that have the same of these; a column for each.

    Args:
        evaluation: what was measured.
        all_parts: every part of a metric, not its headline alone.
        width: characters in a line; where a table is wider intervals go below their numbers, and columns into another
            table.
    """
    shown = [one for one in evaluation.scores if one.by and (one.headline or all_parts)]
    by_metric: dict[str, list[Score]] = {}
    for score in shown:
        by_metric.setdefault(score.metric, []).append(score)
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, scores in by_metric.items():
        groups.setdefault(tuple(dict.fromkeys(one.by for one in scores)), []).append(metric)
    for columns, metrics in groups.items():
        rows = [row for metric in metrics for row in _rows(by_metric[metric], columns)]
        first: list[list[Cell]] = [[("metric", ""), *(row[0] for row in rows)]]
        if any(row[1] != EMPTY for row in rows):
            first.append([("hidden by", ""), *(row[1] for row in rows)])
        rest = [[(by, ""), *(row[number] for row in rows)] for number, by in enumerate(columns, 2)]
        yield from _fitting(first, rest, width)


def _rows(scores: Sequence[Score], columns: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    cells = {(one.part, one.hide, one.by): _value_and_interval(one) for one in scores}
    hidden = {one.part for one in scores if one.hide}
    for part, hide in dict.fromkeys((one.part, one.hide) for one in scores if one.hide or one.part not in hidden):
        name, _, rest = _named(next(one for one in scores if one.part == part)).partition(" " if part else "\0")
        yield (
            (name, rest),
            (hide, ""),
            *(cells.get((part, hide, by)) or cells.get((part, "", by), EMPTY) for by in columns),
        )


def _fitting(first: list[list[Cell]], rest: list[list[Cell]], width: int | None) -> Iterator[Table]:
    """One table of the columns, or some that each have the first of them and as many of the rest as fit."""
    if width is None or _wide([*first, *rest], " ") <= width:
        yield _table(first, rest, " ")
        return
    while rest:
        count = len(rest)
        while count > 1 and _wide([*first, *rest[:count]], "\n") > width:
            count -= 1
        yield _table(first, rest[:count], "\n")
        rest = rest[count:]


def _wide(columns: list[list[Cell]], between: str) -> int:
    """Characters in a line of the table."""
    return sum(
        GAP + max(len(line) for cell in column for line in _text(cell, between).split("\n")) for column in columns
    )


def _table(first: list[list[Cell]], rest: list[list[Cell]], between: str) -> Table:
    from rich.table import Table

    heads, *rows = zip(*first, *rest, strict=True)
    table = Table(*(head for head, _ in heads), box=None, header_style="bold", padding=(0, GAP, 0, 0))
    for row in rows:
        if any(cell != EMPTY for cell in row[len(first) :]):
            table.add_row(*(_text(cell, between) for cell in row))
    return table


def _text(cell: Cell, between: str) -> str:
    return between.join(filter(None, cell))


def evaluation_text(evaluation: Evaluation, width: int = WIDTH) -> str:
    """An evaluation as plain text: scores of predictions a line each, then tables."""
    lines = [f"{_named(one)} {with_interval(one)}" for one in evaluation.scores if not one.by]
    tables = (_plain(table, width) for table in score_tables(evaluation, width=width))
    return "\n\n".join(filter(None, ["\n".join(lines), *tables]))


def comparison_text(comparison: Comparison, width: int = WIDTH) -> str:
    """A comparison as plain text."""
    words = "\n".join(comparison_words(comparison))
    return "\n\n".join([_plain(comparison_table(comparison), width), words, comparison.how()])


def _plain(table: Table, width: int) -> str:
    from rich.console import Console

    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as caught:
        console.print(table)
    return "\n".join(line.rstrip() for line in caught.get().splitlines())


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
        between = "not tested" if one is None else f"{one.value:+.3f}"
        if one is not None and one.low == one.low:
            between += f" [{one.low:+.3f}, {one.high:+.3f}]"
        table.add_row(_named(row), row.by, row.hide, number(row.a), number(row.b), between, p_value(row.p_holm))
    return table


def comparison_words(comparison: Comparison) -> list[str]:
    """What the comparison says, a line a verdict."""
    verdicts: dict[str, list[str]] = {}
    for row in comparison.rows:
        verdicts.setdefault(row.verdict, []).append(called(row))
    return [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items()]


def called(row: Compared) -> str:
    """What a row of a comparison is about: metric and part, and by what explanations and hiding."""
    how = ", ".join(filter(None, (row.by, row.hide)))
    return f"{row.metric} {row.part}".strip() + (f" ({how})" if how else "")


def _named(row: Score | Compared) -> str:
    return f"{row.metric} {row.part}".strip() + ARROWS[row.better]


def p_value(value: float) -> str:
    """A p-value in three digits; empty where there is none."""
    return "" if value != value else "< 0.001" if value < 0.001 else f"{value:.3f}"
