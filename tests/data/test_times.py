"""Dates and numbers in usual formats, and what is no date."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.data.times import parse_times, times_of
from vmask.errors import DataError

FORMATS = [
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%f+00:00"),
    *("%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d-%m-%Y %H:%M:%S"),
    *("%a, %d %b %Y %H:%M:%S +0000", "%Y%m%d%H%M%S"),
]
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)).map(lambda moment: moment.replace(microsecond=0))


@pytest.mark.parametrize("form", FORMATS)
@given(st.lists(MOMENTS, min_size=1, max_size=20))
@settings(max_examples=examples(25))
def test_dates_sort_as_they_were_meant(form, moments):
    days = [datetime(2001, 1, 13), datetime(2001, 2, 28)]
    moments = [*moments, *days]
    numbers = parse_times([moment.strftime(form) for moment in moments])
    order = sorted(range(len(moments)), key=moments.__getitem__)
    assert isinstance(numbers, list)
    assert sorted(range(len(numbers)), key=numbers.__getitem__) == order


@pytest.mark.parametrize(
    "values",
    [
        ["2026-01-31", "2026-02-01"],
        ["2026-01", "2026-02"],
        ["Jan 31, 2026", "Feb 1, 2026"],
        ["31 January 2026", "1 February 2026"],
        ["31.01.26", "01.02.26"],
        ["31/01/2026", "01/02/2026"],
        ["01/31/2026", "02/01/2026"],
        ["2026-01-31T23:30:00+00:00", "2026-02-01T00:30:00+00:00"],
        ["2026-02-01T01:30:00+02:00", "2026-02-01T00:30:00+00:00"],
        [date(2026, 1, 31), date(2026, 2, 1)],
        [datetime(2026, 1, 31), datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=1)))],
        [1, 2],
        ["-3", "2.5"],
        ["9007199254740992", "9007199254740993"],
        [1.5, 2],
    ],
)
def test_usual_formats(values):
    first, second = parse_times(values)
    assert first < second
    assert parse_times(values[::-1]) == [second, first]


@pytest.mark.parametrize("bad", ["soon", "", None, "2026-13-01", float("nan"), "31.02.2026", "inf", True, "1_0"])
def test_what_is_no_date_names_its_row(bad):
    values = ["2026-01-01"] * 5 + [bad, "2026-01-02"]
    with pytest.raises(DataError, match=r"column 'day' .*row r5\."):
        times_of(values, [f"r{i}" for i in range(7)], "day")


def test_day_and_month_that_cannot_be_told_apart():
    with pytest.raises(DataError, match=r"day and month cannot be told apart, as in '03/04/2026'"):
        times_of(["03/04/2026", "05/02/2026"], ["a", "b"], "day")
    assert parse_times(["03/04/2026", "05/06/2026"]) is not None  # in the same order both ways
