"""Read the rows of workbooks (Excel, OpenDocument) by `python-calamine`, in a process with limits."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import IO, Any, cast

from vmask.data.streams import Content, short_name
from vmask.data.workbook_process import MOST_MEMORY, MOST_SECONDS
from vmask.errors import DataError, MissingExtra, did_you_mean

LARGEST = 256 << 20
"""Bytes of the largest workbook."""
_PROGRAM = (  # the import path first: the current folder, which is on it, may have modules of any name
    "import sys; sys.path[:] = sys.argv[1].split('\\n'); from vmask.data.workbook_process import main; main()"
)


def read_workbook(content: Content) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the rows of a sheet, from the first that is not empty; empty rows have no cells.

    The cells are what a CSV file would have: numbers with up to 15 digits, `TRUE` and `FALSE`, dates as 2024-01-31. The
    sheet is held in memory, in a process of its own.

    Raises:
        MissingExtra: if `python-calamine` is not installed.
        DataError: if it is not a workbook, has no such sheet, or needs too much memory or time.
    """
    if importlib.util.find_spec("python_calamine") is None:
        raise MissingExtra(f"Reading {content.quoted_name}, a workbook,", "excel")
    command = [sys.executable, "-c", _PROGRAM, "\n".join(path or os.getcwd() for path in sys.path)]  # noqa: PTH109
    with content.open() as stream:
        if stream.seek(0, io.SEEK_END) > LARGEST:
            raise DataError(
                f"{content.quoted_name} has more than {LARGEST >> 20} MB, too many for a workbook, which is read as a "
                "whole. Save the sheet as CSV, and give that."
            )
    with (
        content.open() as stream,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
    ):
        sender = Thread(target=_send, args=(stream, process, content.reading.sheet), daemon=True)
        sender.start()
        try:
            yield from _received(content, process)
        finally:
            process.kill()
            sender.join()


def _send(stream: IO[bytes], process: subprocess.Popen[bytes], sheet: str | None) -> None:
    to = cast("IO[bytes]", process.stdin)
    with suppress(OSError, ValueError), to:  # it may have ended
        to.write(json.dumps({"sheet": sheet}).encode() + b"\n")
        shutil.copyfileobj(stream, to)


def _received(content: Content, process: subprocess.Popen[bytes]) -> Iterator[tuple[int, list[str]]]:
    ended = False
    for line in cast("IO[bytes]", process.stdout):
        try:
            value = json.loads(line)
        except ValueError:  # half a line, of a process that was ended
            break
        if isinstance(value, list):
            yield value[0], value[1]
        elif "error" in value:
            raise DataError(_error(content, value))
        elif "end" in value:
            ended = True
        elif content.reading.sheet is None and len(value["sheets"]) > 1:
            content.note(
                f"{short_name(content.name)} has {len(value['sheets'])} sheets; '{short_name(value['sheet'])}' was "
                "read. Name another with --sheet."
            )
    if not ended:
        raise DataError(
            f"{content.quoted_name} takes more than {MOST_MEMORY >> 30} GB of memory or {MOST_SECONDS} seconds to "
            "read, or is damaged. Save the sheet as CSV, and give that."
        )


def _error(content: Content, found: dict[str, Any]) -> str:
    if found["error"] == "password":
        return f"{content.quoted_name} is protected by a password. Save it without one."
    if found["error"] == "sheet":
        sheet = content.reading.sheet or ""
        return (
            f"{content.quoted_name} has no sheet '{short_name(sheet)}'.{did_you_mean(sheet, found['sheets'])} Its "
            f"sheets are: {', '.join(map(short_name, found['sheets'][:20]))}; or name it by its number, 1 the first."
        )
    with content.open() as stream:
        start = stream.read(512)
    if b"\0" not in start and start.strip():
        return (
            f"{content.quoted_name} is a text file with the name of a workbook. End its name with .csv or .tsv if "
            "that is what it is; save a web page (HTML) as CSV first."
        )
    return f"{content.quoted_name} cannot be read as a workbook: {found['reason']}. Copy or save it again."
