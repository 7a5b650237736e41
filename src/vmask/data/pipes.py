"""Read the lines of a stream that can be read only once, such as standard input."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any, cast

from vmask._core.encodings import FALLBACK, FALLBACK_NAME, Encoding, NoEncoding, by_mark, check_fallback, named
from vmask.data.config import ReadConfig
from vmask.data.streams import LONGEST_LINE, Note, ignore
from vmask.errors import DataError

_NAME_IT = "Correct that line, or name the encoding: --encoding windows-1252, shift_jis, …"


def read_lines(stream: IO[Any], reading: ReadConfig | None = None, note: Note = ignore) -> Iterator[str]:
    """Iterate over the lines of a stream, without their ends.

    Its encoding is UTF-16 where it begins so, else UTF-8. If the first line that is not UTF-8 comes before any other
    with letters beyond ASCII, it and those after it are read as Windows-1252.

    Args:
        stream: of bytes or text; of `sys.stdin` the bytes are read, whatever the locale.
        reading: the encoding.
        note: takes a sentence about an encoding that was assumed.
    """
    lines: Any = getattr(stream, "buffer", stream)
    wrapped = None if hasattr(lines, "peek") or not hasattr(lines, "readinto") else io.BufferedReader(lines)
    try:
        yield from _lines(wrapped or lines, (reading or ReadConfig()).encoding, note)
    finally:
        if wrapped is not None:
            wrapped.detach()  # or it would close the stream, which is not ours


def _lines(stream: Any, name: str | None, note: Note) -> Iterator[str]:
    start = stream.peek(4) if hasattr(stream, "peek") else b""
    found = by_mark(start) if name is None else named(name, start)
    if found is not None:
        if found.assumed:
            note(f"The input {found.assumed}")
        stream.read(found.mark)
    decode = _Decoder(found or Encoding("utf-8"), found is None or found.name == "utf-8", note)
    if found is not None and found.wide:
        text = io.TextIOWrapper(stream, found.name, newline="\n")
        try:
            yield from _each(text, decode)
        finally:
            text.detach()
    else:
        yield from _each(stream, decode)


class _Decoder:
    """Decodes line by line."""

    def __init__(self, encoding: Encoding, may_change: bool, note: Note) -> None:
        self.encoding, self.may_change, self.note = encoding, may_change, note

    def __call__(self, line: bytes | str, number: int) -> str:
        if isinstance(line, str):
            return line
        try:
            text = line.decode(self.encoding.name)
        except UnicodeDecodeError:
            if not self.may_change:
                name = FALLBACK_NAME if self.encoding.assumed else self.encoding.name.upper()
                raise DataError(f"Line {number} of the input is not {name} text. {_NAME_IT}") from None
            text = self._by_fallback(line, number)
        if not line.isascii():
            self.may_change = False
        return text

    def _by_fallback(self, line: bytes, number: int) -> str:
        try:
            check_fallback(line)
        except NoEncoding as error:
            raise DataError(f"Line {number} of the input {error}. {_NAME_IT}") from None
        assumed = f"is not UTF-8; read as {FALLBACK_NAME}. Name another with --encoding."
        self.encoding = Encoding(FALLBACK, assumed=assumed)
        self.note(f"The input {assumed}")
        return line.decode(FALLBACK)


def _each(lines: IO[Any], decode: _Decoder) -> Iterator[str]:
    number = 0
    while line := _next(lines, number + 1, decode):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataError(f"Line {number} of the input has more than {LONGEST_LINE:,} characters. Is it a text?")
        yield decode(line, number).rstrip("\n").removesuffix("\r")


def _next(lines: IO[Any], number: int, decode: _Decoder) -> bytes | str:
    try:
        return cast("bytes | str", lines.readline(LONGEST_LINE + 1))
    except UnicodeDecodeError:  # of UTF-16 and UTF-32, which are decoded in blocks
        name = decode.encoding.name.upper()
        raise DataError(f"Line {number} of the input, or one soon after it, is not {name} text. {_NAME_IT}") from None
