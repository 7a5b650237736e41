"""Read lines of text from files, gzipped or not, from pipes and from uploads.

The size of a line, of a field and of a file that must be read as a whole is limited, so that a small gzip file that
unpacks to terabytes gives an error and does not fill the memory.
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
"""Largest number of characters of a line, and of a field of a table."""
LARGEST_WHOLE = 1 << 28
"""Largest number of characters of a file that must be read as a whole."""
_START = 1 << 16
"""Bytes that are inspected to tell text from binary files."""
_SHORT = 60
"""Characters of a name in a message."""


@dataclass(frozen=True)
class Content:
    """Bytes that can be read from the beginning, as often as needed.

    Attributes:
        name: its name in messages; the ending tells the format.
        open: opens a new stream.
    """

    name: str
    open: Callable[[], IO[bytes]]

    @classmethod
    def of_file(cls, path: str | Path) -> Content:
        """The content of a file.

        Raises:
            FileMissing: if it does not exist.
        """
        path = existing(path)
        return cls(path.name, lambda: path.open("rb"))

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Content:
        """Content that is in memory already."""
        return cls(name, lambda: io.BytesIO(content))

    @property
    def quoted_name(self) -> str:
        """Its name in messages."""
        return f"'{short_name(self.name)}'"

    @contextmanager
    def lines(self, newline: str = "\n") -> Iterator[IO[str]]:
        """Open its text, unpacked; errors name the file, the line and the fix."""
        try:
            with self._unpacked() as file:
                self._refuse_binary(file.peek(_START)[:_START])
                yield io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)
        except UnicodeDecodeError:
            raise DataError(self._not_utf8()) from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(
                f"The gzip file {self.quoted_name} cannot be unpacked: it is damaged or was cut short. Copy it again."
            ) from None
        except OSError as error:
            raise DataError(
                f"{self.quoted_name} cannot be read: {error.strerror or error}. Check the file and its permissions."
            ) from None

    def whole(self) -> str:
        """All of its text.

        Raises:
            DataError: if it is longer than `LARGEST_WHOLE`.
        """
        with self.lines() as lines:
            text = lines.read(LARGEST_WHOLE + 1)
        if len(text) > LARGEST_WHOLE:
            raise DataError(
                f"{self.quoted_name} has more than {LARGEST_WHOLE:,} characters, too many to be read in one piece. "
                "Write it as JSON lines (.jsonl), one object per line."
            )
        return text

    def each_line(self, lines: IO[str]) -> Iterator[str]:
        """Yield its lines; refuse one that is too long."""
        number = 1
        while line := lines.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise DataError(
                    f"Line {number} of {self.quoted_name} has more than {LONGEST_LINE:,} characters. "
                    "Is it a text file? Break the line, or give another file."
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
                f"{self.quoted_name} is UTF-16 text; UTF-8 is expected. Convert it: "
                f"iconv -f utf-16 -t utf-8 {self.quoted_name} > 'utf8-{short_name(self.name)}'"
            )
        if b"\0" in start:
            raise DataError(
                f"{self.quoted_name} is a binary file (it has NUL bytes), not text. Give a text file, or name it "
                "by what it is."
            )

    def _not_utf8(self) -> str:
        """The message about the first line that is not UTF-8; the decoder does not know line numbers."""
        number = 1
        with self._unpacked() as file:
            for line in file:
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    break
                number += 1
        return (
            f"Line {number} of {self.quoted_name} is not UTF-8 text. If the file is Latin-1 (or Windows-1252), "
            f"convert it: iconv -f latin1 -t utf-8 {self.quoted_name} > 'utf8-{short_name(self.name)}'"
        )


def short_name(name: str) -> str:
    r"""A name as messages show it: on one line, and not longer than that.

    >>> short_name("review"), short_name("two\nlines"), short_name("a" * 70)[-3:]
    ('review', 'two lines', 'aa…')
    """
    name = name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}…"
    return "".join(letter if letter.isprintable() else " " for letter in name)


def existing(path: str | Path) -> Path:
    """The path of a file that exists.

    Files are read more than once, and a device may never end, so folders, devices and pipes are refused. A pipe that
    the shell passes, as in `vmask predict DIR <(zcat texts.gz)`, is a stream like standard input and is read once.

    Raises:
        FileMissing: if it does not exist, with a near name, or is not a file.
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
        f"'{path}' is a pipe or a device, not a file. Copy its output into a file first, or use a "
        "command that reads standard input, as `vmask predict DIR -` does."
    )


def is_pipe(path: Path) -> bool:
    """Whether a path is an open pipe that the shell passes, such as /dev/fd/63."""
    return str(path.parent) in ("/dev/fd", "/proc/self/fd") and stat.S_ISFIFO(path.stat().st_mode)


def _why_missing(path: Path, error: Exception) -> str:
    if isinstance(error, ValueError):
        return f"'{short_name(str(path))}' cannot be the name of a file. Check the name."
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        reason = cast("OSError", error).strerror or error
        return f"'{short_name(str(path))}' cannot be read: {reason}. Check the name and the folder."
    try:
        siblings = [sibling.name for sibling in path.parent.iterdir()]
    except OSError:
        siblings = []
    return f"There is no file '{path}'.{did_you_mean(path.name, siblings)} Check the name and the folder."
