"""Hold every number against the published one: counts of what holds, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproduction.bands import reaches
from reproduction.table import Entry, Row, Table

LEGEND = (
    "Ok: our mean lies in the published number's 95% band; close: our interval and the band overlap; off: neither. "
    "An accuracy reaches the band where it lies in it or above."
)


VERDICTS = ("ok", "close", "off", "not run")


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


@dataclass(frozen=True)
class Count:
    """How many published numbers of a table hold.

    Attributes:
        name: of the table, for machines.
        title: of the table.
        verdicts: how many have which verdict.
        higher: how many of those that are off are higher than in the paper.
    """

    name: str
    title: str
    verdicts: Mapping[str, int]
    higher: int

    @property
    def numbers(self) -> int:
        """All of them."""
        return sum(self.verdicts.values())

    def of(self, verdict: str) -> str:
        """How many have a verdict; of what is off also how many are higher."""
        count = self.verdicts.get(verdict, 0)
        return f"{count} ({self.higher} higher)" if verdict == "off" and self.higher else str(count)

    def words(self) -> str:
        """As a line."""
        higher = f" ({self.higher} of them higher)" if self.higher else ""
        said = [f"{self.verdicts.get(one, 0)} {one}{higher if one == 'off' else ''}" for one in VERDICTS]
        return f"{self.name}: {self.numbers} numbers, {', '.join(said)}"


def summary(tables: Sequence[Table]) -> list[Count]:
    """A count for each table that has published numbers, and one for all."""
    found = [(table.name, table.title, list(checked([table]))) for table in tables]
    found.append(("all tables", "all tables", [one for _, _, ones in found for one in ones]))
    return [
        Count(name, title, Counter(one.entry.verdict for one in ones), sum(_higher(one.entry) for one in ones))
        for name, title, ones in found
        if ones
    ]


def _higher(entry: Entry) -> bool:
    """Whether a number is off because it is higher than the published one."""
    if entry.verdict != "off" or entry.ours is None or entry.published is None:
        return False
    return entry.ours.value > entry.published


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
