"""Dates and numbers of a column, as numbers that can be sorted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from vmask.errors import DataError, short

_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M"),
    *("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"),
    *("%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f%z", "%Y-%m-%dT%H:%M%z", "%Y-%m"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d", "%Y%m%dT%H%M%S"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d-%b-%y", "%b %Y", "%B %Y"),
    "%a %b %d %H:%M:%S %Y",
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_EITHER_ORDER = tuple(
    tuple(f"{order.replace('/', sign)}{clock}" for order in orders)
    for orders in (("%d/%m/%Y", "%m/%d/%Y"), ("%d/%m/%y", "%m/%d/%y"))
    for sign in "/-"
    for clock in _CLOCKS
)
"""Pairs of formats in which day and month may be meant in either order."""


def times_of(values: Sequence[Any], names: Sequence[str], column: str) -> list[float]:
    """(N,) the values as numbers: of one kind, dates in one format or numbers.

    Args:
        values: what the column has in each row.
        names: name of each row, for messages.
        column: name of the column.

    Raises:
        DataError: for a row without a date or number, and where day and month cannot be told apart.
    """
    found = parse_times(values)
    if isinstance(found, int):
        value = values[found]
        empty = value is None or not str(value).strip() or str(value).lower() == "nan"
        what = "is empty" if empty else f"has {short(value)}, which is no date or number like those of the other rows"
        raise DataError(
            f"--time: the column '{column}' {what}, in row {names[found]}. Correct it, leave that row out, or write "
            "all dates as 2026-01-31 or 2026-01-31 12:00."
        )
    if found is None:
        raise DataError(
            f"--time: in the column '{column}' day and month cannot be told apart, as in {short(values[0])}. Write all "
            "dates as 2026-01-31."
        )
    return found


def parse_times(values: Sequence[Any]) -> list[float] | int | None:
    """The values as numbers, or the number of the first row that cannot be read, or None if the order is ambiguous."""
    written = [value if isinstance(value, (date, int, float)) else str(value or "").strip() for value in values]
    candidates = [[read] for read in (_number, _date, *map(_format, _FORMATS), _mail)]
    candidates += [[_format(one) for one in pair] for pair in _EITHER_ORDER]
    best = 0
    for readers in candidates:
        read: list[list[float]] = []
        for reader in readers:
            numbers = _read_all(written, reader)
            if isinstance(numbers, int):
                best = max(best, numbers)
            elif not any(_same_order(numbers, other) for other in read):
                read.append(numbers)
        if read:
            return read[0] if len(read) == 1 else None
    return best


def _read_all(values: Sequence[Any], read: Callable[[Any], float]) -> list[float] | int:
    """All values as numbers, or the number of the first that cannot be read."""
    numbers = []
    for row, value in enumerate(values):
        try:
            number = read(value)
        except (ValueError, TypeError, OverflowError, IndexError):
            return row
        if isinstance(number, float) and not math.isfinite(number):
            return row
        numbers.append(number)
    return numbers


def _same_order(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two lists of numbers sort the same way, ties included."""

    def ranks(numbers: Sequence[float]) -> list[int]:
        rank = {number: at for at, number in enumerate(sorted(set(numbers)))}
        return [rank[number] for number in numbers]

    return ranks(one) == ranks(other)


def _number(value: Any) -> float:
    if isinstance(value, (bool, date)):
        raise TypeError
    if isinstance(value, str) and "_" in value:
        raise ValueError
    if isinstance(value, int) or (isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 40):
        return int(value)
    return float(value)


def _date(value: Any) -> float:
    if isinstance(value, datetime):
        return _seconds(value)
    if isinstance(value, date):
        return _seconds(datetime(value.year, value.month, value.day))
    raise TypeError


def _format(form: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if not isinstance(value, str):
            raise TypeError
        return _seconds(datetime.strptime(value, form))

    return read


def _mail(value: Any) -> float:
    """A date as in the head of a mail."""
    if not isinstance(value, str):
        raise TypeError
    return _seconds(parsedate_to_datetime(value))


def _seconds(moment: datetime) -> float:
    """Seconds since 1970, exact to the microsecond; a time without a zone counts as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    gap = aware - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return gap.days * 86400 + gap.seconds + gap.microseconds / 1e6
