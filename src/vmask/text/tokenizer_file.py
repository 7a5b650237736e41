"""The `tokenizer.json` of a stranger: read within limits, and run so that neither file nor text ends the program."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vmask._core.parsing import parse_json
from vmask.errors import DataError, ModelFolderError, VmaskError

LIMIT_BYTES = 256 << 20
GROWTH = 1000
"""How many times longer the rules of a tokenizer may make a text."""


def read_tokenizer(text: str) -> Any:
    """A `tokenizers.Tokenizer`.

    Raises:
        ModelFolderError: if the text is none, or has rules that fill the memory.
    """
    from tokenizers import Tokenizer

    check_tokenizer(text)
    with guarded("tokenizer.json cannot be read"):
        return Tokenizer.from_str(text)


def check_tokenizer(text: str) -> None:
    """Refuse rules that make a text too long, before the library that would obey them sees them.

    Raises:
        ModelFolderError: naming the rule.
    """
    try:
        value = parse_json(text, "it")
    except DataError as error:
        raise ModelFolderError(f"tokenizer.json cannot be read: {error} Copy the folder anew.") from None
    if not isinstance(value, dict):
        raise ModelFolderError("tokenizer.json cannot be read: it is no tokenizer. Copy the folder anew.")
    growth = math.prod(_growth(value.get(part)) for part in ("normalizer", "pre_tokenizer"))
    if growth > GROWTH:
        raise ModelFolderError(
            f"tokenizer.json has rules that make a text {growth:.0g} times as long. Take another tokenizer."
        )


def encode_batch(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    """The texts as the library encodes them.

    Raises:
        ModelFolderError: if it fails on one.
    """
    with guarded("The tokenizer of the model fails on a text"):
        return list(tokenizer.encode_batch(texts))


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn what the library raises into an error of ours: bare exceptions, and panics, which are no exceptions.

    Raises:
        ModelFolderError: with `what` and the reason.
    """
    try:
        yield
    except (VmaskError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ModelFolderError(f"{what}: {reason:.200}. Copy the folder anew, or take another tokenizer.") from None


def _growth(step: Any) -> float:
    """How many times longer a step can make a text, at most."""
    if isinstance(step, list):
        return math.prod(map(_growth, step))
    if not isinstance(step, Mapping):
        return 1.0
    inner = math.prod(_growth(step[key]) for key in ("normalizers", "pretokenizers") if key in step)
    if isinstance(step.get("precompiled_charsmap"), str):
        inner *= _longest_replacement(step["precompiled_charsmap"])
    pattern = step.get("pattern")
    of = pattern.get("String") if isinstance(pattern, Mapping) else None
    for key in ("content", "prepend", "replacement"):
        if isinstance(step.get(key), str):
            inner *= max(len(step[key]) / max(len(of or ""), 1), 1.0)
    return inner


def _longest_replacement(charsmap: str) -> float:
    """The longest text that a precompiled map of sentencepiece puts in the place of a character, at least 1."""
    try:
        content = base64.b64decode(charsmap)
        (size,) = struct.unpack_from("<I", content)
    except (ValueError, struct.error):
        return 1.0  # the library says what is wrong with it
    if size > len(content) - 4:  # the library would allocate it, and end the process where it cannot
        raise ModelFolderError("tokenizer.json has a map of characters that was cut short. Copy the folder anew.")
    return max(map(len, content[4 + size :].split(b"\0")), default=1) or 1.0
