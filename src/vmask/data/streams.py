"""Read lines of text from files, packed or not, in any encoding, from pipes and from uploads.

The size of a line, of a field and of a file that must be read as a whole is limited, so that a small packed file that
unpacks to terabytes gives an error and does not fill the memory.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from vmask._core.encodings import Encoding, NoEncoding, find_encoding, line_of_error, named
from vmask.data.config import ReadConfig
from vmask.errors import DataError, FileMissing, did_you_mean

LONGEST_LINE = 1 << 26
"""Largest number of characters of a line, and of a field of a table."""
LARGEST_WHOLE = 1 << 28
"""Largest number of characters of a file that must be read as a whole."""
_START = 1 << 16
"""Bytes that are inspected to tell text from binary files."""
_INSPECTED = 1 << 26
"""Bytes that are inspected to find the encoding."""
_SHORT = 60
"""Characters of a name in a message."""

Note = Callable[[str], None]
"""Takes what the user should know about how a file was read."""


def _zstd(packed: Any) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(packed, "zstd")


PACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".zst": _zstd,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
"""Endings of packed files, and what unpacks a stream of them."""
_MAGIC = {
    b"\x1f\x8b": "gzip file; its name should end with .gz",
    b"\x28\xb5\x2f\xfd": "Zstandard file; its name should end with .zst",
    b"BZh9": "bzip2 file; its name should end with .bz2",
    b"\xfd7zXZ": "xz file; its name should end with .xz",
    b"PK\x03\x04": "zip file or a workbook: unpack it, or end its name with .xlsx",
    b"\xd0\xcf\x11\xe0": "workbook of an old Excel; its name should end with .xls",
    b"PAR1": "Parquet file; its name should end with .parquet",
    b"ARROW1": "Arrow file; its name should end with .arrow",
    b"%PDF": "PDF, which is not read. Copy its text into a text file",
}


def packer_of(name: str) -> str:
    """The ending of a packed file, or an empty string."""
    return next((ending for ending in PACKERS if name.lower().endswith(ending)), "")


def ignore(note: str) -> None:
    """Leave a note out."""


@dataclass(frozen=True)
class Content:
    """Bytes that can be read from the beginning, as often as needed.

    Attributes:
        name: its name in messages; the ending tells the format.
        open: opens a new stream.
        reading: the options of the user.
        note: takes what the user should know, such as an encoding that was assumed.
    """

    name: str
    open: Callable[[], IO[bytes]]
    reading: ReadConfig = field(default_factory=ReadConfig)
    note: Note = ignore

    @classmethod
    def of_file(cls, path: str | Path, reading: ReadConfig | None = None, note: Note = ignore) -> Content:
        """The content of a file.

        Raises:
            FileMissing: if it does not exist.
        """
        path = existing(path)
        return cls(path.name, lambda: path.open("rb"), reading or ReadConfig(), note)

    @classmethod
    def of_bytes(cls, name: str, content: bytes, reading: ReadConfig | None = None, note: Note = ignore) -> Content:
        """Content that is in memory already."""
        return cls(name, lambda: io.BytesIO(content), reading or ReadConfig(), note)

    @property
    def quoted_name(self) -> str:
        """Its name in messages."""
        return f"'{short_name(self.name)}'"

    @contextmanager
    def lines(self, newline: str = "\n") -> Iterator[IO[str]]:
        """Open its text, unpacked; errors name the file, the line and the fix."""
        try:
            encoding = self.encoding
            with self._unpacked() as file:
                file.read(encoding.mark)
                yield io.TextIOWrapper(file, encoding=encoding.name, newline=newline)
        except UnicodeDecodeError:
            raise DataError(self._undecodable(f"is not {self.encoding.name.upper()} text")) from None
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError):
            raise DataError(self._damaged()) from None
        except OSError as error:
            if packer_of(self.name) and error.errno is None:
                raise DataError(self._damaged()) from None
            raise DataError(
                f"{self.quoted_name} cannot be read: {error.strerror or error}. Check the file and its permissions."
            ) from None

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding that the user names, else the one that its bytes show.

        Raises:
            DataError: for a binary file, or one whose encoding is not obvious.
        """
        with self._unpacked() as file:
            start = file.peek(_START)[:_START]
        try:
            if self.reading.encoding is not None:
                found = named(self.reading.encoding, start)
            else:
                found = find_encoding(start, lambda: islice(self._blocks(), _INSPECTED // _START))
        except NoEncoding as error:
            self._refuse_binary(start)
            raise DataError(self._undecodable(str(error))) from None
        if not found.wide:
            self._refuse_binary(start)
        if found.assumed:
            self.note(f"{short_name(self.name)} {found.assumed}")
        return found

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
            unpack = PACKERS.get(packer_of(self.name))
            file = unpack(packed) if unpack else packed
            with io.BufferedReader(cast("Any", file), _START) as unpacked:
                yield unpacked

    def _blocks(self) -> Iterator[bytes]:
        """The bytes in blocks, up to the place where a packed file is damaged."""
        with suppress(EOFError, OSError, zlib.error, lzma.LZMAError), self._unpacked() as file:
            while block := file.read(_START):
                yield block

    def _refuse_binary(self, start: bytes) -> None:
        for magic, kind in _MAGIC.items():
            if start.startswith(magic) and (b"\0" in start or not magic.isascii()):
                raise DataError(f"{self.quoted_name} is not text: it begins like a {kind}.")
        if b"\0" in start:
            raise DataError(
                f"{self.quoted_name} is a binary file (it has NUL bytes), not text. Give a text file, or name it "
                "by what it is."
            )

    def _damaged(self) -> str:
        kind = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}[packer_of(self.name)]
        return f"The {kind} file {self.quoted_name} cannot be unpacked: it is damaged or was cut short. Copy it again."

    def _undecodable(self, reason: str) -> str:
        """The message about the first line that cannot be decoded; the decoder does not know line numbers."""
        encoding = self.__dict__.get("encoding", Encoding("utf-8"))
        number = line_of_error(self._blocks(), encoding)
        return (
            f"Line {number} of {self.quoted_name} {reason}. Correct that line, or name the encoding of the file: "
            "--encoding windows-1252, shift_jis, …"
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
