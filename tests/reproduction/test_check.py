"""Counts of what holds."""

from __future__ import annotations

from reproduction.check import checked, reached, summary
from reproduction.table import Entry, Row, Table
from vmask.evaluation.statistics import Estimate, seeds_interval


def table(*entries, name="accuracy"):
    columns = tuple(f"c{i}" for i in range(len(entries)))
    return Table(name, "A table", ("model", "method"), columns, [Row(("CNN", "base"), entries)], "signed")


def entry(mean, published, verdict="ok", seeds=5, half=1.0):
    ours = Estimate(mean, mean - half, mean + half, seeds, f"t over {seeds} seeds")
    return Entry(ours, published, (published - 2, published + 2), verdict)


def test_every_entry_with_a_verdict_is_counted_and_no_other():
    made = table(entry(90, 90), entry(80, 90, "off"), Entry(published=90.0, verdict="not run"), Entry(text="words"))
    assert [one.entry.verdict for one in checked([made])] == ["ok", "off", "not run"]
    found = summary([made, table(Entry(text="words"), name="words"), table(entry(1, 1), name="aopc")])
    assert [one.words() for one in found] == [
        "accuracy: 3 numbers, 1 ok, 0 close, 1 off, 1 not run",
        "aopc: 1 numbers, 1 ok, 0 close, 0 off, 0 not run",
        "all tables: 4 numbers, 2 ok, 0 close, 1 off, 1 not run",
    ]


def test_what_is_off_is_higher_or_lower():
    made = table(entry(80, 90, "off"), entry(95, 90, "off"), entry(96, 90, "off"), entry(91, 90))
    found = summary([made])[0]
    assert found.words() == "accuracy: 4 numbers, 1 ok, 0 close, 3 off (2 of them higher), 0 not run"
    assert [found.of(one) for one in ("ok", "close", "off")] == ["1", "0", "3 (2 higher)"]


def test_reached_counts_cells_with_enough_seeds():
    few = entry(95, 90, seeds=3)
    texts = Entry(Estimate(95, 94, 96, 500, "Wilson's score interval over 500 examples"), 90.0, (88, 92), "off")
    found = reached(table(entry(91, 90), entry(89, 90), entry(87, 90, "off"), few, texts, Entry(published=90.0)), 5)
    assert (found.cells, found.reached, found.at_least) == (3, 2, 1)
    assert found.below == ("CNN base c2 87.0 (90.0)",)
    assert "Of 3 accuracies" in found.words()


def test_seeds_are_read_from_what_the_interval_is_made_of():
    made = Entry(seeds_interval([90.0, 91.0, 92.0, 90.5, 91.5]), 90.0, (88.0, 92.0), "ok")
    assert reached(table(made), 5).cells == 1
    assert reached(table(made), 6).cells == 0
