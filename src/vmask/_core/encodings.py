"""Find the encoding of a text: UTF-8, UTF-16 or UTF-32 by their marks, else Windows-1252.

Bytes that are not UTF-8 are taken for Windows-1252, the encoding of Western European and American files, only where
nothing speaks against it: control characters, bytes that it does not have, letters of another script, or text that
is UTF-8 but for a few bytes.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

FALLBACK = "cp1252"
FALLBACK_NAME = "Windows-1252"
_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_INVALID = re.compile("[\udc80-\udcff]")  # how the decoder marks bytes that are not UTF-8
_HIGH = bytes(range(0x80, 0x100))
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HIGH_LETTERS = bytes(range(0xC0, 0x100))
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1A, 0x1B})
_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"
_INVALID_PER_VALID = 20
"""Bytes that are not UTF-8 for each that is part of a character in UTF-8, for the fallback."""
_ACCENTED, _FEW_LETTERS = 0.45, 16
"""Largest share of accented letters in a Western text, and the number of them from which that is asked."""


@dataclass(frozen=True)
class Encoding:
    """How bytes become text.

    Attributes:
        name: the name of a codec.
        mark: number of bytes of the byte-order mark.
        assumed: what the user should know, with the name of the file before it; empty if nothing was assumed.
    """

    name: str
    mark: int = 0
    assumed: str = ""

    @property
    def wide(self) -> bool:
        """Whether a character has several bytes, some of which are zero."""
        return self.name.startswith(("utf-16", "utf-32"))


class NoEncoding(ValueError):
    """No encoding fits; the message says what speaks against each."""


def is_encoding(name: str) -> bool:
    """Whether there is a text encoding of that name."""
    try:
        return "a".encode(name).decode(name) == "a"
    except (LookupError, ValueError, TypeError):  # unknown, a NUL in it, or not an encoding of text, such as hex
        return False


def by_mark(start: bytes) -> Encoding | None:
    """The encoding that the first bytes show: by a byte-order mark, or UTF-16 without one."""
    for mark, name in _MARKS:
        if start.startswith(mark):
            return Encoding(name, len(mark))
    return _utf16_without_mark(start)


def named(name: str, start: bytes) -> Encoding:
    """The encoding that the user names; a mark of the same family is left out, and decides the order of bytes."""
    mark = by_mark(start)
    canonical = codecs.lookup(name).name
    if mark is not None and mark.mark and mark.name.startswith(canonical):
        return mark
    return Encoding(canonical)


def find_encoding(start: bytes, blocks: Callable[[], Iterable[bytes]]) -> Encoding:
    """The encoding of a text.

    Args:
        start: its first bytes.
        blocks: gives its bytes from the beginning, all or the first part of them.

    Raises:
        NoEncoding: if none fits.
    """
    found = by_mark(start)
    if found is not None:
        return found
    high = invalid = 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    pending = False
    for block in blocks():
        if pending or not block.isascii():
            high += _count(block, _HIGH)
            invalid += len(_INVALID.findall(decoder.decode(block)))
            pending = bool(decoder.getstate()[0])
    invalid += len(_INVALID.findall(decoder.decode(b"", final=True)))
    valid = high - invalid
    if not invalid:
        return Encoding("utf-8")
    if valid > invalid:
        raise NoEncoding("is not UTF-8 text, though nearly all of the file is")
    _check_fallback(blocks())
    if valid * _INVALID_PER_VALID > invalid:
        raise NoEncoding("is not UTF-8 text, though some of the file is")
    return Encoding(FALLBACK, assumed=f"is not UTF-8; read as {FALLBACK_NAME}. Name another with --encoding.")


def line_of_error(blocks: Iterable[bytes], encoding: Encoding) -> int:
    """The number of the first line that cannot be decoded; the last one if all can."""
    number = 1
    decoder = codecs.getincrementaldecoder(encoding.name)()
    ended = False
    skip = encoding.mark
    for block in chain(blocks, [b""]):
        ended = not block
        block, skip = block[skip:], 0
        try:
            number += decoder.decode(block, ended).count("\n")
        except UnicodeDecodeError as error:
            return number + error.object[: error.start].decode(encoding.name, "ignore").count("\n")
    return number


def check_fallback(text: bytes) -> None:
    """Refuse bytes that are not Windows-1252 text.

    Raises:
        NoEncoding: saying what speaks against it.
    """
    _check_fallback([text])


def _check_fallback(blocks: Iterable[bytes]) -> None:
    undefined = controls = accented = letters = 0
    for block in blocks:
        undefined += _count(block, _UNDEFINED)
        controls += _count(block, _CONTROLS)
        accented += _count(block, _HIGH_LETTERS)
        letters += _count(block, _LETTERS)
    if undefined or controls:
        raise NoEncoding(f"is neither UTF-8 nor {FALLBACK_NAME} text")
    if accented >= _FEW_LETTERS and accented > _ACCENTED * (accented + letters):
        raise NoEncoding("is not UTF-8 text, and by its letters in another script than Latin")


def _count(block: bytes, kinds: bytes) -> int:
    return len(block) - len(block.translate(None, kinds))


def _utf16_without_mark(start: bytes) -> Encoding | None:
    """UTF-16 that begins with two characters of ASCII and has nothing but text in its first part."""
    for name, zero in (("utf-16-le", 1), ("utf-16-be", 0)):
        if len(start) < 4 or start[zero] or start[zero + 2] or b"\0" in start[1 - zero :: 2]:
            continue
        decoder = codecs.getincrementaldecoder(name)("replace")
        text = decoder.decode(start)
        odd = any(unicodedata.category(letter) in ("Cc", "Cn", "Co", "Cs") for letter in set(text) - set("\t\n\v\f\r"))
        if not odd and "\ufffd" not in text:
            return Encoding(name, assumed=f"is read as {name.upper()} by its look. Name another with --encoding.")
    return None
