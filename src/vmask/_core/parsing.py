"""Read small untrusted JSON and YAML files within limits; a bad file gives an error that says what is wrong.

Refused are files that are not regular (a pipe or a device may never end), too large, nested too deeply, or expanded too
far by YAML aliases; numbers with too many digits; lone surrogates (half characters), which cannot be written as UTF-8.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from vmask._core.encodings import NoEncoding, find_encoding
from vmask.errors import DataError, FileMissing, VmaskError, VmaskWarning

LIMIT_BYTES = 64 << 20
LIMIT_DEPTH = 100
LIMIT_DIGITS = 300
"""Digits of an integer; more would not fit into a float."""
LIMIT_VALUES = 200_000
"""Values of a YAML file; a value is counted again for each alias."""


def read_json(path: Path, limit_bytes: int = LIMIT_BYTES) -> Any:
    """The value of a JSON file.

    Raises:
        FileMissing: if there is no such file.
        DataError: saying what is wrong with it.
    """
    return parse_json(read_text(path, limit_bytes), f"'{path}'")


def parse_json(text: str | bytes, what: str) -> Any:
    """The value of a JSON text, within the same limits.

    Args:
        text: the JSON; bytes are taken as UTF-8.
        what: its name in error messages, such as "line 3 of 'a.jsonl'".

    Raises:
        DataError: saying what is wrong with it.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(text, parse_int=_parse_int)
    except RecursionError:
        raise DataError(_too_deep(what)) from None
    except ValueError as error:  # also for a number with too many digits, or bytes that are not UTF-8
        raise DataError(f"{what} is not JSON: {_one_line(error)}. Correct it, or make it anew.") from None
    check_value(value, what)
    return value


def read_json_lines(path: Path, limit_bytes: int = LIMIT_BYTES) -> Iterator[tuple[int, Any]]:
    """Yield the line number and the value of each line that is not blank.

    Args:
        path: the file, one value per line.
        limit_bytes: largest size of a line.

    Raises:
        FileMissing: if there is no such file.
        DataError: saying what is wrong with which line.
    """
    with _open(path) as file:
        number = 0
        while line := file.readline(limit_bytes + 1):
            number += 1
            what = f"Line {number} of '{path}'"
            if len(line) > limit_bytes:
                raise DataError(f"{what} is longer than {limit_bytes:,} bytes, the most that is read. Remove it.")
            if line.strip():
                yield number, parse_json(line, what)


def read_yaml(path: Path, limit_bytes: int = 1 << 20) -> Any:
    """The value of a YAML file: mappings, lists, texts, numbers, true, false and null.

    Raises:
        FileMissing: if there is no such file.
        DataError: saying what is wrong with it.
    """
    import yaml

    what = f"'{path}'"
    try:
        loader = yaml.SafeLoader(read_text(path, limit_bytes))
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_aliases(node, what)
            value = loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError:
        raise DataError(_too_deep(what)) from None
    except VmaskError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two for numbers, dates and escapes
        raise DataError(f"{what} is not YAML: {_one_line(error)}. Correct it.") from None
    check_value(value, what)
    return value


def read_text(path: Path, limit_bytes: int = LIMIT_BYTES) -> str:
    """The text of a regular UTF-8 file.

    Raises:
        FileMissing: if there is no such file.
        PermissionError: if it may not be read.
        DataError: if it is not a regular file, is too large, or is not UTF-8.
    """
    try:
        return _read_bytes(path, limit_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not UTF-8 text: {_one_line(error)}. Correct it, or make it anew.") from None


def read_words(path: Path) -> tuple[str, ...]:
    """The words of a text file with a word a line, each once. It is a user's own: UTF-8, UTF-16 or Windows-1252.

    Raises:
        FileMissing, PermissionError, DataError: as `read_text`.
    """
    content = _read_bytes(path, LIMIT_BYTES)
    try:
        encoding = find_encoding(content[: 1 << 16], lambda: [content])
        lines = content[encoding.mark :].decode(encoding.name).splitlines()
    except (NoEncoding, UnicodeDecodeError) as error:
        raise DataError(f"'{path}' cannot be read as text: it {error}. Write it in UTF-8.") from None
    if encoding.assumed:
        warnings.warn(
            f"'{path.name}' is read as {encoding.name}. If that is wrong, write it in UTF-8.", VmaskWarning, 2
        )
    return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))


def _read_bytes(path: Path, limit_bytes: int) -> bytes:
    with _open(path) as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise DataError(f"'{path}' is larger than {limit_bytes:,} bytes, the most that is read. Is it the right file?")
    return content


def _open(path: Path) -> IO[bytes]:
    """Open a regular file; a pipe or a device could block, or never end."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer would block
    except (FileNotFoundError, NotADirectoryError):
        raise FileMissing(f"There is no file '{path}'. Check the name and the folder.") from None
    except PermissionError:  # nothing is wrong with the file
        raise
    except (OSError, ValueError) as error:  # a loop of links, a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"'{path}' cannot be read: {reason}. Name another file.") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError(f"'{path}' is no regular file but a folder, a pipe or a device. Name a file.")
    return open(handle, "rb")  # noqa: PTH123 - it is a handle; the caller closes it


def check_value(value: Any, what: str) -> None:
    """Refuse a value of JSON or YAML that is nested too deeply, or could not be written to a file again.

    Raises:
        DataError: naming `what`.
    """
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > LIMIT_DEPTH:
            raise DataError(_too_deep(what))
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper += item
                deeper += item.values()
            elif isinstance(item, list):
                deeper += item
            elif not isinstance(item, float):
                _check_leaf(item, what)
        level = deeper


def _check_leaf(value: Any, what: str) -> None:
    if isinstance(value, str):
        if has_lone_surrogate(value):
            raise DataError(f"{what} has half a character (a lone surrogate) in {value!r:.60}. Correct it.")
    elif isinstance(value, int):
        if value.bit_length() > 1000:
            raise DataError(f"{what} has a number of more than {LIMIT_DIGITS} digits. Correct it.")
    elif value is not None:  # YAML has dates, sets and bytes too
        raise DataError(f"{what} has {str(value)!r:.60}, a {type(value).__name__}. Put quotes around it.")


def has_lone_surrogate(text: str) -> bool:
    """Whether a text holds half a character, as from a cut JSON escape: UTF-8 cannot write it."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _parse_int(digits: str) -> int:
    if len(digits) > LIMIT_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits, at most {LIMIT_DIGITS} are read")
    return int(digits)


def _check_aliases(root: Any, what: str) -> None:
    """Count the values of a YAML document, once for each alias, without expanding it."""
    sizes: dict[int, int] = {}  # values in a node, itself included; 0 while it is being counted
    stack = [(root, False)]
    while stack:
        node, entered = stack.pop()
        children: list[Any] = []
        for part in node.value if isinstance(node.value, list) else []:
            children += part if isinstance(part, tuple) else (part,)  # an entry of a mapping is a pair
        if entered:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            if sizes[id(node)] > LIMIT_VALUES:
                raise DataError(f"{what} has more than {LIMIT_VALUES:,} values, aliases counted. Make it shorter.")
        elif id(node) not in sizes:
            sizes[id(node)] = 0
            stack.append((node, True))
            stack += [(child, False) for child in children]
        elif not sizes[id(node)]:
            raise DataError(f"{what} has an alias that refers to a value around itself. Write it out.")


def _too_deep(what: str) -> str:
    return f"{what} is nested too deeply: more than {LIMIT_DEPTH} levels. Correct it."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
