"""Scores of an evaluation or a comparison as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from vmask.evaluation.compare import Compared, Comparison
    from vmask.evaluation.result import Evaluation, Score

ARROWS = {"higher": " ↑", "lower": " ↓", "neither": ""}
MANY_CLASSES = 12
"""Number of classes above which a confusion matrix is not readable."""
WIDTH = 120
GAP = 2
"""Spaces between columns."""

Cell = tuple[str, str]
"""Main text of a cell, and what follows it: in the same line if there is room, else below."""
EMPTY: Cell = ("", "")


def number(value: float, digits: int = 3) -> str:
    """A number with a fixed number of decimals; a dash for NaN."""
    return "–" if isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 turns -0 into 0


def with_interval(score: Score, digits: int = 3) -> str:
    """A number with its 95% interval."""
    return " ".join(filter(None, _value_and_interval(score, digits)))


def _value_and_interval(score: Score, digits: int = 3) -> Cell:
    interval = "" if isnan(score.low) else f"[{number(score.low, digits)}, {number(score.high, digits)}]"
    return number(score.value, digits), interval


def score_tables(evaluation: Evaluation, all_parts: bool = False, width: int | None = None) -> Iterator[Table]:
    """Tables of scores with a column for each explanation method or ranking; metrics with the same columns share one.

    Args:
        evaluation: the evaluation.
        all_parts: show every part of a metric, not only its headline.
        width: characters in a line; in a wider table intervals go below their numbers, and the remaining columns into
            another table.
    """
    by_metric: dict[str, list[Score]] = {}
    for score in evaluation.scores:
        if score.by and (score.headline or all_parts):
            by_metric.setdefault(score.metric, []).append(score)
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, scores in by_metric.items():
        groups.setdefault(tuple(dict.fromkeys(score.by for score in scores)), []).append(metric)
    for columns, metrics in groups.items():
        rows = [row for metric in metrics for row in _rows(by_metric[metric], columns)]
        first: list[list[Cell]] = [[("metric", ""), *(row[0] for row in rows)]]
        if any(row[1] != EMPTY for row in rows):
            first.append([("hidden by", ""), *(row[1] for row in rows)])
        rest = [[(by, ""), *(row[column] for row in rows)] for column, by in enumerate(columns, 2)]
        yield from _fitting(first, rest, width)


def _rows(scores: Sequence[Score], columns: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    """Rows of a table: name, way of hiding, then a cell for each column."""
    cells = {(score.part, score.hide, score.by): _value_and_interval(score) for score in scores}
    hidden = {score.part for score in scores if score.hide}
    rows: dict[tuple[str, str], Score] = {}
    for score in scores:
        if score.hide or score.part not in hidden:
            rows.setdefault((score.part, score.hide), score)
    for (part, hide), score in rows.items():
        metric = _named(score)
        name, _, rest = metric.partition(" ") if part else (metric, "", "")
        values = (cells.get((part, hide, by)) or cells.get((part, "", by), EMPTY) for by in columns)
        yield (name, rest), (hide, ""), *values


def _fitting(first: list[list[Cell]], rest: list[list[Cell]], width: int | None) -> Iterator[Table]:
    """One table of all columns; or several, each with the first columns and as many of the rest as fit."""
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
    """An evaluation as plain text: one line per score of predictions, then tables."""
    lines = [f"{_named(score)} {with_interval(score)}" for score in evaluation.scores if not score.by]
    tables = (_plain(table, width) for table in score_tables(evaluation, width=width))
    return "\n\n".join(filter(None, ["\n".join(lines), *tables]))


def comparison_text(comparison: Comparison, width: int = WIDTH) -> str:
    """A comparison as plain text."""
    words = "\n".join(comparison_words(comparison))
    return "\n\n".join([_plain(comparison_table(comparison), width), words, comparison.how()])


def _plain(table: Table, width: int) -> str:
    from rich.console import Console

    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def confusion_table(evaluation: Evaluation) -> Table | None:
    """Confusion matrix; None without true labels, for several models or for many classes."""
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


def label_table(evaluation: Evaluation) -> Table | None:
    """Scores of every label, where a text may have several; None otherwise, and for several models."""
    from rich.table import Table

    if len(evaluation.by_label) != 1:
        return None
    table = Table("label", "precision", "recall", "F1", "support", "predicted", "threshold", box=None)
    table.header_style = "bold"
    for column in table.columns[1:]:
        column.justify = "right"
    for row in evaluation.by_label[0]:
        scores = (number(row[name]) for name in ("precision", "recall", "f1"))
        counts = (f"{row[name]:,}" for name in ("support", "predicted"))
        table.add_row(str(row["label"]), *scores, *counts, number(row["threshold"]))
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Both models' numbers, the difference and its p-value."""
    from rich.table import Table

    a, b = comparison.names
    heads = ("metric", "by", "hidden by", a, b, f"{b} minus {a}", "p (Holm)")
    table = Table(*heads, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for row in comparison.rows:
        difference = "not tested"
        if row.difference is not None:
            difference = f"{row.difference.value:+.3f}"
            if not isnan(row.difference.low):
                difference += f" [{row.difference.low:+.3f}, {row.difference.high:+.3f}]"
        table.add_row(_named(row), row.by, row.hide, number(row.a), number(row.b), difference, p_value(row.p_holm))
    return table


def comparison_words(comparison: Comparison) -> list[str]:
    """The verdicts, one per line, with the scores that they are about."""
    verdicts: dict[str, list[str]] = {}
    for row in comparison.rows:
        verdicts.setdefault(row.verdict, []).append(called(row))
    return [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items()]


def called(row: Compared) -> str:
    """Name of a row of a comparison: metric and part, with explanation method and way of hiding."""
    how = ", ".join(filter(None, (row.by, row.hide)))
    return f"{row.metric} {row.part}".strip() + (f" ({how})" if how else "")


def _named(row: Score | Compared) -> str:
    return f"{row.metric} {row.part}".strip() + ARROWS[row.better]


def p_value(value: float) -> str:
    """A p-value with three decimals; empty for NaN."""
    if isnan(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
