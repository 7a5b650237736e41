"""Hold every number against the published one: counts of what holds, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vmask.reproduction.bands import reaches
from vmask.reproduction.table import Entry, Row, Table

LEGEND = (
    "Ok: our mean lies in the published number's 95% band; close: our interval and the band overlap; off: neither. "
    "An accuracy reaches the band where it lies in it or above."
)


@dataclass(frozen=True)
class Checked:
    """One number that the paper prints, and ours.

    Attributes:
        table: name of the table.
        row: heads of the row.
        column: head of the column.
        entry: both numbers and the verdict.
    """

    table: str
    row: tuple[str, ...]
    column: str
    entry: Entry


def checked(tables: Sequence[Table]) -> Iterator[Checked]:
    """Every entry that can be held against a published number."""
    for table in tables:
        for row in table.rows:
            for column, entry in zip(table.columns, row.entries, strict=True):
                if entry.verdict:
                    yield Checked(table.name, row.heads, column, entry)


def counts(tables: Sequence[Table]) -> dict[str, Counter[str]]:
    """How many entries of each table are ok, close, off or not run."""
    found: dict[str, Counter[str]] = {}
    for one in checked(tables):
        found.setdefault(one.table, Counter())[one.entry.verdict] += 1
    return found


def summary(tables: Sequence[Table]) -> list[str]:
    """A line for each table, and one for all; of what is off it says how much of it is higher than in the paper."""
    found, all_of = counts(tables), list(checked(tables))
    lines = [
        f"{name}: {_counted(count, [one for one in all_of if one.table == name])}" for name, count in found.items()
    ]
    return [*lines, f"all tables: {_counted(sum(found.values(), Counter[str]()), all_of)}"]


def _counted(count: Counter[str], entries: Sequence[Checked]) -> str:
    higher = sum(one.entry.verdict == "off" and _higher(one.entry) for one in entries)
    off = f"{count['off']} off" + (f" ({higher} of them higher)" if higher else "")
    ran = f"{count['ok']} ok, {count['close']} close, {off}"
    return f"{len(entries)} numbers, {ran}, {count['not run']} not run"


def _higher(entry: Entry) -> bool:
    return entry.ours is not None and entry.published is not None and entry.ours.value > entry.published


@dataclass(frozen=True)
class Reached:
    """How many accuracies reach the published ones.

    Attributes:
        cells: those that were run with `seeds` seeds or more and have a published number.
        reached: those of them whose mean is at least the lower end of the published number's 95% band.
        at_least: those of them whose mean is at least the published number.
        below: the others of `cells`, as words.
    """

    seeds: int
    cells: int
    reached: int
    at_least: int
    below: tuple[str, ...]

    def words(self) -> str:
        """As a sentence."""
        below = f"; below it: {', '.join(self.below)}" if self.below else ""
        return (
            f"Of {self.cells} accuracies that were run with {self.seeds} seeds or more, {self.reached} reach the "
            f"published number's 95% band ({self.at_least} the number itself){below}."
        )


def reached(table: Table, seeds: int) -> Reached:
    """Count the accuracies that were run with enough seeds."""
    cells, good, best, below = 0, 0, 0, []
    for row in table.rows:
        for column, entry in zip(table.columns, row.entries, strict=True):
            if entry.published is None or entry.ours is None or _seeds(entry) < seeds:
                continue
            cells += 1
            good += reaches(entry)
            best += entry.ours.value >= entry.published
            if not reaches(entry):
                below.append(_named(row, column, entry))
    return Reached(seeds, cells, good, best, tuple(below))


def _seeds(entry: Entry) -> int:
    """Trainings behind a number; 1 where its interval is over texts."""
    return entry.ours.n if entry.ours is not None and "seed" in entry.ours.how else 1


def _named(row: Row, column: str, entry: Entry) -> str:
    assert entry.ours is not None
    return f"{' '.join(row.heads)} {column} {entry.ours.value:.1f} ({entry.published:.1f})"
