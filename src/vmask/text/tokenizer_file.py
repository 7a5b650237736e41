"""Read an untrusted `tokenizer.json` within limits, and run it so that neither file nor text crashes the program."""

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
"""Largest factor by which the rules of a tokenizer may lengthen a text."""


def read_tokenizer(text: str) -> Any:
    """Parse `tokenizer.json` into a `tokenizers.Tokenizer`.

    Raises:
        ModelFolderError: if the text is not a tokenizer, or has rules that fill the memory.
    """
    from tokenizers import Tokenizer

    check_tokenizer(text)
    with guarded("tokenizer.json cannot be read"):
        return Tokenizer.from_str(text)


def check_tokenizer(text: str) -> None:
    """Refuse rules that make a text too long, before the library applies them.

    Raises:
        ModelFolderError: naming the rule.
    """
    try:
        value = parse_json(text, "it")
    except DataError as error:
        raise ModelFolderError(f"tokenizer.json cannot be read: {error} Copy the folder again.") from None
    if not isinstance(value, dict):
        raise ModelFolderError("tokenizer.json cannot be read: it is no tokenizer. Copy the folder again.")
    growth = math.prod(_growth(value.get(part)) for part in ("normalizer", "pre_tokenizer"))
    if growth > GROWTH:
        raise ModelFolderError(
            f"tokenizer.json has rules that make a text {growth:.0g} times as long. Choose another tokenizer."
        )


def encode_batch(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    """Encode texts with a `tokenizers.Tokenizer`.

    Raises:
        ModelFolderError: if the library fails on a text.
    """
    with guarded("The tokenizer of the model fails on a text"):
        return list(tokenizer.encode_batch(texts))


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn errors of the library, bare exceptions and panics (not an `Exception`), into a `ModelFolderError`.

    Raises:
        ModelFolderError: with `what` and the reason.
    """
    try:
        yield
    except (VmaskError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ModelFolderError(f"{what}: {reason:.200}. Copy the folder again, or choose another tokenizer.") from None


def _growth(step: Any) -> float:
    """Largest factor by which a step can lengthen a text."""
    if isinstance(step, list):
        return math.prod(map(_growth, step))
    if not isinstance(step, Mapping):
        return 1.0
    growth = math.prod(_growth(step[key]) for key in ("normalizers", "pretokenizers") if key in step)
    if isinstance(step.get("precompiled_charsmap"), str):
        growth *= _longest_replacement(step["precompiled_charsmap"])
    pattern = step.get("pattern")
    replaced = pattern.get("String") if isinstance(pattern, Mapping) else None
    for key in ("content", "prepend", "replacement"):
        if isinstance(step.get(key), str):
            growth *= max(len(step[key]) / max(len(replaced or ""), 1), 1.0)
    return growth


def _longest_replacement(charsmap: str) -> float:
    """Length of the longest replacement of a character in a precompiled map of sentencepiece, at least 1."""
    try:
        content = base64.b64decode(charsmap)
        (size,) = struct.unpack_from("<I", content)
    except (ValueError, struct.error):
        return 1.0  # the library reports what is wrong with it
    if size > len(content) - 4:  # the library would allocate it, and abort the process if it cannot
        raise ModelFolderError("tokenizer.json has a map of characters that was cut short. Copy the folder again.")
    return max(map(len, content[4 + size :].split(b"\0")), default=1) or 1.0
