"""Where bytes come from, and how they become lines of text: files, gzipped or not, pipes and uploads alike.

A line, a field and a file that must be read whole have a largest size, so that a small gzip file that unpacks to
terabytes ends in an error, not in all of the machine's memory.
"""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from vmask.errors import DataError, FileMissing, did_you_mean

LONGEST_LINE = 1 << 26
"""Characters of a line, and of a field of a table, at most."""
LARGEST_WHOLE = 1 << 28
"""Characters of a file that has to be read in one piece, at most."""
_START = 1 << 16
"""Bytes that are looked at to tell text from other files."""
_SHORT = 60
"""Characters of a name in a message."""


@dataclass(frozen=True)
class Content:
    """Bytes that can be read from the beginning, as often as needed.

    Attributes:
        name: what messages call it; its ending says what it is.
        open: opens it.
    """

    name: str
    open: Callable[[], IO[bytes]]

    @classmethod
    def of_file(cls, path: str | Path) -> Content:
        """A file that is there.

        Raises:
            FileMissing: if it is not.
        """
        path = existing(path)
        return cls(path.name, lambda: path.open("rb"))

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Content:
        """Bytes that are in memory already."""
        return cls(name, lambda: io.BytesIO(content))

    @property
    def said(self) -> str:
        """Its name in a message."""
        return f"'{short(self.name)}'"

    @contextmanager
    def lines(self, newline: str = "\n") -> Iterator[IO[str]]:
        """Its text, unpacked, with errors that name it, the line and the fix."""
        try:
            with self._unpacked() as file:
                self._refuse_binary(file.peek(_START)[:_START])
                yield io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)
        except UnicodeDecodeError:
            raise DataError(self._not_utf8()) from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(
                f"The gzip file {self.said} cannot be unpacked: it is damaged or was cut short. Copy it again."
            ) from None
        except OSError as error:
            raise DataError(
                f"{self.said} cannot be read: {error.strerror or error}. Check the file and who may read it."
            ) from None

    def whole(self) -> str:
        """All of its text.

        Raises:
            DataError: if that is more than fits.
        """
        with self.lines() as lines:
            text = lines.read(LARGEST_WHOLE + 1)
        if len(text) > LARGEST_WHOLE:
            raise DataError(
                f"{self.said} has more than {LARGEST_WHOLE:,} characters, too many to be read in one piece. "
                "Write it as JSON lines (.jsonl), an object a line."
            )
        return text

    def each_line(self, lines: IO[str]) -> Iterator[str]:
        """Its lines, none of them endless."""
        number = 1
        while line := lines.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise DataError(
                    f"Line {number} of {self.said} has more than {LONGEST_LINE:,} characters. Is it a text file? "
                    "Break the line, or give another file."
                )
            yield line
            number += 1

    @contextmanager
    def _unpacked(self) -> Iterator[io.BufferedReader]:
        with self.open() as packed:
            file = gzip.GzipFile(fileobj=packed) if self.name.lower().endswith(".gz") else packed
            with io.BufferedReader(cast("Any", file), _START) as unpacked:
                yield unpacked

    def _refuse_binary(self, start: bytes) -> None:
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(
                f"{self.said} is UTF-16 text; UTF-8 is expected. Convert it: "
                f"iconv -f utf-16 -t utf-8 {self.said} > 'utf8-{short(self.name)}'"
            )
        if b"\0" in start:
            raise DataError(
                f"{self.said} is a binary file (it has NUL bytes), not text. Give a text file, or name it "
                "by what it is."
            )

    def _not_utf8(self) -> str:
        """The message for the first line that is not UTF-8; the decoder itself knows no line numbers."""
        number = 1
        with self._unpacked() as file:
            for line in file:
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    break
                number += 1
        return (
            f"Line {number} of {self.said} is not UTF-8 text. If the file is Latin-1 (or Windows-1252), "
            f"convert it: iconv -f latin1 -t utf-8 {self.said} > 'utf8-{short(self.name)}'"
        )


def short(name: str) -> str:
    r"""A name as it stands in a message: on one line, and not longer than a line.

    >>> short("review"), short("two\nlines"), short("a" * 70)[-3:]
    ('review', 'two lines', 'aa…')
    """
    name = name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}…"
    return "".join(letter if letter.isprintable() else " " for letter in name)


def existing(path: str | Path) -> Path:
    """The path of a file that is there.

    Files are read more than once, and something that never ends would be read for ever: folders, devices and pipes are
    refused. A pipe that the shell hands over, as in `vmask predict DIR <(zcat texts.gz)`, is a stream like standard
    input, and is read once.

    Raises:
        FileMissing: if it is not there, with a near name, or is no file.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # a NUL character in a name is a ValueError
        raise FileMissing(_why_missing(path, error)) from None
    if stat.S_ISREG(mode) or is_pipe(path):
        return path
    if stat.S_ISDIR(mode):
        raise FileMissing(f"'{path}' is a folder where a file is expected. Name a file in it.")
    raise FileMissing(
        f"'{path}' is a pipe or a device, not a file. Copy what it gives into a file first, or pipe it in where a "
        "command reads standard input, as `vmask predict DIR -` does."
    )


def is_pipe(path: Path) -> bool:
    """Whether it is a pipe that is open already, as the shell hands one over: /dev/fd/63."""
    return str(path.parent) in ("/dev/fd", "/proc/self/fd") and stat.S_ISFIFO(path.stat().st_mode)


def _why_missing(path: Path, error: Exception) -> str:
    if isinstance(error, ValueError):
        return f"'{short(str(path))}' is no name that a file can have. Check the name."
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        reason = cast("OSError", error).strerror or error
        return f"'{short(str(path))}' cannot be read: {reason}. Check the name and the folder."
    try:
        here = [one.name for one in path.parent.iterdir()]
    except OSError:
        here = []
    return f"There is no file '{path}'.{did_you_mean(path.name, here)} Check the name and the folder."
