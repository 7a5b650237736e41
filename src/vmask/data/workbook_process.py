"""The process that reads a workbook for `vmask.data.workbooks`: bytes on its standard input, JSON lines out.

Reading is a process of its own because a small file may claim a sheet of 17 billion cells: the library then ends the
process that it runs in. So this one has a limit of memory and of time. It imports nothing of vmask.
"""

from __future__ import annotations

import datetime
import io
import json
import sys
from collections.abc import Iterator
from typing import Any

MOST_MEMORY = 1 << 30
MOST_SECONDS = 120


def main() -> None:
    """Write a line about the sheet, then one for every row, then one that says that it is the end."""
    _limit()
    request = json.loads(sys.stdin.buffer.readline())
    content = io.BytesIO(sys.stdin.buffer.read())
    try:
        for value in _read(content, request["sheet"]):
            _say(value)
    except MemoryError:
        raise
    except BaseException as error:  # a panic of the library is no Exception
        if type(error).__name__ == "PasswordError":
            _say({"error": "password"})
        else:
            _say({"error": "damaged", "reason": str(error).partition("\n")[0]})
        return
    _say({"end": True})


def _say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for kind, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_CPU, MOST_SECONDS)):
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (least, hard))
        except (OSError, ValueError):  # a system that knows the limit, but not how to set it
            continue


def _read(content: io.BytesIO, wanted: str | None) -> Iterator[Any]:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum, load_workbook

    with load_workbook(content) as book:
        sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        names = [sheet.name for sheet in sheets]
        if wanted is None:
            hidden = [sheet.name for sheet in sheets if sheet.visible != SheetVisibleEnum.Visible]
            candidates = [name for name in names if name not in hidden] + hidden
        elif wanted in names:
            candidates = [wanted]
        elif wanted.isdecimal() and 0 < int(wanted[:9]) <= len(names):
            candidates = [names[int(wanted[:9]) - 1]]
        else:
            yield {"error": "sheet", "sheets": names}
            return
        for name in candidates:
            sheet = book.get_sheet_by_name(name)
            columns, first, last = _extent(sheet)
            if last:
                yield {"sheets": names, "sheet": name}
                yield from _rows(sheet, columns, first, last)
                return
        yield {"sheets": names, "sheet": candidates[0] if candidates else ""}


def _extent(sheet: Any) -> tuple[list[int], int, int]:
    """The columns that are not empty as a whole, and the numbers of the first and last such rows; 0 for none."""
    used: set[int] = set()
    first = last = 0
    if sheet.start is None:  # an empty sheet, of whose rows old versions cannot be asked
        return [], 0, 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        filled = [column for column, value in enumerate(row) if value != ""]
        if filled:
            used.update(filled)
            first, last = first or number, number
    return sorted(used), first, last


def _rows(sheet: Any, columns: list[int], first: int, last: int) -> Iterator[Any]:
    """Number and cells of the rows; an empty row has no cells."""
    for number, row in enumerate(sheet.iter_rows(), 1):
        if first <= number <= last:
            cells = [_text(row[column]) for column in columns]
            yield [number, cells if any(cells) else []]


def _text(value: Any) -> str:
    """A cell as a CSV file would have it; a formula's error is an empty cell already.

    >>> [_text(value) for value in (4.0, 0.1 + 0.2, True, datetime.timedelta(hours=30), datetime.datetime(2024, 1, 31))]
    ['4', '0.3', 'TRUE', '30:00:00', '2024-01-31']
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as a spreadsheet shows
    if isinstance(value, datetime.datetime):
        day_alone = value.time() == datetime.time()
        return value.date().isoformat() if day_alone else value.isoformat(" ", "seconds")
    if isinstance(value, datetime.time):
        return value.isoformat("seconds")
    if isinstance(value, datetime.timedelta):
        seconds = round(abs(value.total_seconds()))
        sign = "-" if value < datetime.timedelta() else ""
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(value)
