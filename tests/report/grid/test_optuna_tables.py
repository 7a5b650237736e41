"""Tables of searches by Optuna: what was found, and how much each option matters."""

from __future__ import annotations

import sys

import pytest

from grid_results import Made
from vmask.report.grid.report import GridReport

SPACE = {
    "learning_rate": {"low": 0.0001, "high": 0.1, "log": True, "step": None},
    "model__filters": [10, 20],
}
TRIALS = [
    ({"learning_rate": rate, "model__filters": filters}, accuracy, pruned)
    for rate, filters, accuracy, pruned in (
        (0.001, 10, 0.5, False),
        (0.01, 20, 0.8, False),
        (0.02, 10, 0.9, False),
        (0.05, 20, 0.95, True),
        (0.0002, 20, 0.3, False),
    )
]


@pytest.fixture
def made(tmp_path):
    """Two methods on one dataset, the second of which was searched by Optuna."""
    found = Made(tmp_path)
    found.train("tea", "cnn", "base", [0.5, 0.6])
    found.train("tea", "cnn", "gate", [0.7, 0.8])
    found.search("tea", "cnn", "base", ({}, 0.5), ({"model__filters": 9}, 0.75), chosen=1)
    found.optuna("tea", "cnn", "gate", SPACE, *TRIALS, chosen=2)
    return found


def report(made):
    return GridReport.read(made.folder)


def test_what_was_found(made):
    found = report(made)
    table = found.table("optuna")
    of = ("tea", "cnn", "gate")
    assert [row.heads for row in table.rows] == [of]
    assert table.entry(*of, column="trials").text == "5, 1 pruned"
    assert table.entry(*of, column="first").estimate.value == pytest.approx(50)
    assert table.entry(*of, column="best").estimate.value == pytest.approx(90)
    assert table.entry(*of, column="best").note == "learning_rate 0.02, filters 10"
    assert table.entry(*of, column="chosen trial").text == "3"
    assert [row.heads for row in found.table("search").rows] == [("tea", "cnn", "base")], "lists have their own"
    assert "7 trials" in found.lead()


def test_how_much_each_option_matters(made, tmp_path):
    pytest.importorskip("optuna")
    found = report(made)
    table = found.table("importance")
    assert [row.heads[3] for row in table.rows] == ["learning_rate", "model__filters"], "the largest first"
    shares = [row.entries[0].estimate.value for row in table.rows]
    assert sum(shares) == pytest.approx(100)
    assert shares[0] > shares[1]
    assert [[entry.text for entry in row.entries[1:]] for row in table.rows] == [
        ["0.02", "0.0001 to 0.1, log scale"],
        ["10", "10, 20"],
    ]
    assert report(made).table("importance") == table
    found.write(tmp_path / "report", figures=False)
    assert (tmp_path / "report" / "tables" / "importance.csv").is_file()


def test_without_optuna_the_report_says_what_is_missing(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    table = report(made).table("importance")
    assert [entry.text for entry in table.rows[0].entries] == ["–", "0.02", "0.0001 to 0.1, log scale"]
    assert table.notes == (
        "The importance of options is left out. A search by Optuna needs the 'optuna' extra. "
        "Run: pip install 'vmask[optuna]'",
    )


def test_reports_without_such_searches_do_not_need_optuna(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    made.store.search("tea--cnn--gate").unlink()
    assert {"optuna", "importance"}.isdisjoint(table.name for table in report(made).tables)
