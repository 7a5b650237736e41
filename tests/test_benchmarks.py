"""What benchmarks compute of their measurements."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from grid_engines import _projected, longest_chain, simulate

NEEDS = {"search": (), "first": ("search",), "second": ("search",), "stage": ("first", "elsewhere"), "alone": ()}
SECONDS = {"search": 10.0, "first": 5.0, "second": 5.0, "stage": 2.0, "alone": 3.0}


@pytest.mark.parametrize(
    ("workers", "overhead", "driver", "seconds"),
    [
        (1, 0.0, 0.0, 25.0),  # all one after the other
        (1, 1.0, 0.0, 30.0),
        (1, 0.0, 0.5, 27.5),  # a single worker waits for the driver
        (2, 0.0, 0.0, 17.0),
        (100, 0.0, 0.0, 17.0),  # the longest chain: search, first, stage
        (100, 1.0, 0.0, 20.0),
        (100, 0.0, 100.0, 508.0),  # the driver, which waits 3 s for the first result and 5 s for the third
    ],
)
def test_a_grid_is_as_fast_as_its_workers_its_chains_and_its_driver(workers, overhead, driver, seconds):
    assert simulate(list(NEEDS), NEEDS, SECONDS, workers, overhead, driver) == pytest.approx(seconds)


def test_the_longest_chain_is_that_of_the_most_seconds():
    assert longest_chain(list(NEEDS), NEEDS, SECONDS) == ["search", "first", "stage"]
    assert longest_chain(list(NEEDS), NEEDS, {**SECONDS, "alone": 30.0}) == ["alone"]


def test_a_projection_says_what_is_taken_up_and_how_much_of_it_works():
    found = {
        "experiment": "paper",
        "tasks": 3,
        "without_estimate": 1,
        "core_hours": 10.0,
        "overhead_hours": 0.5,
        "longest_chain": {"trec--cnn--base search": 1.5, "trec--cnn--base--s0 train": 0.5},
        "write_milliseconds": 4.0,
        "driver_hours": 0.1,
        "hours": {"1": 10.5, "10": 2.1},
    }
    lines = _projected(found)
    assert lines[2:4] == ["| 1 | 10.50 | 1.0 | 10 | 100% |", "| 10 | 2.10 | 5.0 | 21 | 50% |"]
    assert lines[-1].startswith("3 pieces of `paper` (1 more have no estimate) are 10.0 core hours of work")
    assert "2.00 hours (`trec--cnn--base search` 1.50, `trec--cnn--base--s0 train` 0.50)" in lines[-1]
    assert ": more than about 5 workers are of little use." in lines[-1]
