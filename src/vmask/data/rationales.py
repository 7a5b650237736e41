"""Human rationales: the character spans of a text that people marked as the reason for its label.

| source | spans |
|---|---|
| rows with `text` and `rationales` | `[[start, end], ...]` in characters of the text, end not included |
| rows with `tokens` and `rationale_spans` | the same in tokens, as in ERASER; the text is the tokens joined by spaces |
| trees of the Stanford Sentiment Treebank | every word that people did not rate as neutral |

Characters are counted as in Python: one for each Unicode code point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vmask.data.readers import Row, iter_texts
from vmask.errors import DataError, short

Spans = tuple[tuple[int, int], ...]
"""Each [start, end) in characters of a text, sorted; they may overlap. Empty if nothing is marked."""

COLUMN = "rationales"
"""The column with spans in characters."""

_NEUTRAL = "2"
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", r"\/": "/", r"\*": "*"}
# One step of a tree: a leaf with its word, the start of an inner node, or the end of one. Words end at a plain space
# only: some contain a no-break space.
_STEP = re.compile(r" *(?:\(([0-4]) +([^() ]+) *\)|\(([0-4])(?= *\()|\))")


def as_spans(value: Any, text: str, where: str) -> Spans | None:
    """The spans of a row, sorted.

    Args:
        value: the value of the column `rationales`; None if it is missing.
        text: the text of the row.
        where: name of the row in messages.

    Raises:
        DataError: if the value is not a list of spans in the text.
    """
    if value is None:
        return None
    if not _all_spans(value, len(text)) or any(start == end for start, end in value):
        raise DataError(
            f"{where}: '{COLUMN}' is {short(value)}; it must be a list of [start, end] in characters of the text, "
            f"with 0 <= start < end <= {len(text)}. Correct it, or rename the column if it is something else."
        )
    return tuple(sorted((start, end) for start, end in value))


def _all_spans(value: Any, length: int) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(span, (list, tuple))
        and len(span) == 2
        and all(type(offset) is int for offset in span)  # a bool is an int for isinstance
        and 0 <= span[0] <= span[1] <= length
        for span in value
    )


# Rows of tokens -----------------------------------------------------------------------------------------


def are_tokens(rows: Sequence[Row]) -> bool:
    """Whether rows have tokens in place of a text, and rationales as spans of tokens."""
    return any("rationale_spans" in row for row in rows) and all("tokens" in row and "text" not in row for row in rows)


def join_tokens(rows: Iterable[Row], where: str) -> Iterator[Row]:
    """Replace `tokens` and `rationale_spans` of rows by `text` and `rationales`.

    Empty spans, of which ERASER has some, are left out.

    Raises:
        DataError: if tokens are not strings, or a span is outside of them.
    """
    for number, row in enumerate(rows, 1):
        row = dict(row)
        tokens, spans = row.pop("tokens", None) or [], row.pop("rationale_spans", None)
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise DataError(
                f"Row {number} of {where}: 'tokens' is {short(tokens)}; it must be a list of strings. Correct it."
            )
        if spans is not None and not _all_spans(spans, len(tokens)):
            raise DataError(
                f"Row {number} of {where}: 'rationale_spans' is {short(spans)}; it must be a list of [start, end] in "
                f"tokens, with 0 <= start <= end <= {len(tokens)}. Correct it."
            )
        ends = _ends(tokens)
        marked = [(ends[a] - len(tokens[a]), ends[b - 1]) for a, b in spans or [] if any(tokens[a:b])]
        yield {**row, "text": " ".join(tokens), COLUMN: None if spans is None else marked}


def _ends(words: Iterable[str]) -> list[int]:
    """The end of each word in the text, in which the words are joined by single spaces."""
    ends: list[int] = []
    for word in words:
        ends.append((ends[-1] + 1 if ends else 0) + len(word))
    return ends


# Trees --------------------------------------------------------------------------------------------------


def read_trees(path: str | Path) -> Iterator[Row]:
    """Read the sentences of a file with one bracketed tree per line, such as `(3 (2 It) (4 (2 's) (4 lovely)))`.

    The label is that of the root, the rationale every leaf that is not neutral.

    Raises:
        DataError: for a line that is not a tree.
    """
    for number, line in enumerate(iter_texts(path), 1):
        if not line.strip():
            continue
        leaves = _leaves(line.strip())
        if not leaves:
            raise DataError(
                f"Line {number} of '{Path(path).name}' is not a tree such as (3 (2 It) (4 (2 's) (4 lovely))). "
                "Close every bracket, and give every node a label from 0 to 4 and every leaf one word."
            )
        words = [word for _, word in leaves]
        marked = [
            (end - len(word), end) for end, (label, word) in zip(_ends(words), leaves, strict=True) if label != _NEUTRAL
        ]
        yield {"text": " ".join(words), "label": line.strip()[1], COLUMN: marked}


def _leaves(tree: str) -> list[tuple[str, str]]:
    """Label and word of each leaf; empty if this is not one complete tree."""
    leaves, at, depth = [], 0, 0
    while at < len(tree):
        step = _STEP.match(tree, at)
        if step is None or (at and depth < 1):  # nothing may follow the end of the root
            return []
        label, word, node = step.groups()
        if word:
            for escaped, plain in _ESCAPED.items():
                word = word.replace(escaped, plain)
            leaves.append((label, word))
        else:
            depth += 1 if node else -1
        at = step.end()
    return leaves if depth == 0 else []
