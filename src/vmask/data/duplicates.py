"""Texts that are the same or nearly the same, and texts that have more than one label."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vmask._core.wording import plural
from vmask.data.label_sets import label_text
from vmask.data.near_duplicates import SIMILAR, near_groups
from vmask.errors import short

if TYPE_CHECKING:
    from vmask.data.splits import Split

MOST_CHARACTERS = 5_000_000
"""Characters of a dataset up to which its near-duplicates are counted where nobody asked for them."""
_LISTED = 3  # texts with several labels, in a note


def normalise(text: str) -> str:
    r"""A text without what exact duplicates may differ in: the form of characters (NFKC), case and white space.

    >>> normalise("  A ﬁne\nFILM ") == normalise("a fine film")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def duplicate_groups(texts: Sequence[str], near: bool = False) -> list[int]:
    """(N,) a number for each text; texts that are the same have the same number, with `near` similar ones too.

    Which texts are grouped does not depend on their order.
    """
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(normalise(text), len(numbers)) for text in texts]
    if near:
        merged = near_groups(list(numbers))
        groups = [merged[group] for group in groups]
    return groups


def connected(*groupings: Sequence[int]) -> list[int]:
    """(N,) a number for each row; rows that any of the groupings joins, or that others join, have the same number."""
    parents: dict[tuple[int, int], tuple[int, int]] = {}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        parents.setdefault(node, node)
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    rows = list(zip(*groupings, strict=True))
    for row in rows:
        first, *others = ((number, group) for number, group in enumerate(row))
        for other in others:
            parents[root(other)] = root(first)
    numbers: dict[tuple[int, int], int] = {}
    return [numbers.setdefault(root((0, row[0])), len(numbers)) for row in rows]


@dataclass(frozen=True)
class Conflict:
    """Rows with the same text and different labels: for each its split, number in the split, id and label."""

    rows: tuple[tuple[str, int, str, str], ...]


def conflicts(splits: Mapping[str, Split]) -> list[Conflict]:
    """The texts that have more than one label, with all of their rows, in the order of the splits."""
    rows: defaultdict[str, list[tuple[str, int, str, str]]] = defaultdict(list)
    labels: dict[str, str] = {}
    several: dict[str, None] = {}
    keys = {name: [normalise(text) for text in split.texts] for name, split in splits.items() if split.labels}
    for name, texts in keys.items():
        for text, label in zip(texts, splits[name].labels, strict=True):
            if labels.setdefault(text, label) != label:
                several[text] = None
    for name, texts in keys.items():
        for number, text in enumerate(texts):
            if text in several:
                split = splits[name]
                rows[text].append((name, number, split.ids[number], split.labels[number]))
    return [Conflict(tuple(rows[text])) for text in several]


def conflict_notes(splits: Mapping[str, Split]) -> tuple[str, ...]:
    """A note on texts with more than one label. It names rows and not texts, which may have to stay private."""
    found = conflicts(splits)
    if not found:
        return ()
    examples = "; ".join(
        ", ".join(f"{id} ({short(label_text(label))})" for _, _, id, label in conflict.rows[:3])
        for conflict in found[:_LISTED]
    )
    more = "" if len(found) <= _LISTED else " …"
    has = "text has" if len(found) == 1 else "texts have"
    return (f"{len(found):,} {has} more than one label: rows {examples}{more}",)


def copies_note(texts: Iterable[str]) -> tuple[str, ...]:
    """A note on rows whose text another row has too, of data from which splits are held out."""
    counts = Counter(normalise(text) for text in texts)
    copies = sum(counts.values()) - len(counts)
    if not copies:
        return ()
    return (f"{plural(copies, 'row repeats', 'rows repeat')} the text of another row.",)


def near_note(splits: Mapping[str, Split], held_out: bool, asked: bool) -> tuple[str, ...]:
    """A note on texts that are nearly the same.

    Args:
        splits: all splits.
        held_out: whether dev or test were drawn from train; then all texts are counted, else those of dev and test.
        asked: whether they were asked for; otherwise the texts of a large dataset are not looked at.
    """
    texts = [text for split in splits.values() for text in split.texts]
    if not asked and sum(map(len, texts)) > MOST_CHARACTERS:
        return (
            f"Near-duplicates were not counted, as the texts have more than {MOST_CHARACTERS:,} characters. "
            "--duplicates near does it.",
        )
    exact = duplicate_groups(texts)
    first = {group: row for row, group in reversed(list(enumerate(exact)))}
    rows = sorted(first.values())
    near = near_groups([normalise(texts[row]) for row in rows])
    sizes = Counter(near)
    group_of = {exact[row]: group for row, group in zip(rows, near, strict=True)}
    like = f"(they share {SIMILAR:.0%} or more of their runs of five characters)"
    if held_out:
        count = sum(size for size in sizes.values() if size > 1)
        kept = "; they are kept in one split" if asked else ". --duplicates near keeps them in one split"
        return (f"{count:,} different texts are nearly the same as another {like}{kept}.",) if count else ()
    notes = []
    numbers, start = {}, 0
    for name, split in splits.items():
        numbers[name] = range(start, start := start + len(split))
    train = {group_of[exact[row]] for row in numbers["train"]}
    train_exact = {exact[row] for row in numbers["train"]}
    for name in ("dev", "test"):
        new = [row for row in numbers.get(name, ()) if exact[row] not in train_exact]
        if count := sum(group_of[exact[row]] in train for row in new):
            is_nearly = "text of {} is" if count == 1 else "texts of {} are"
            notes.append(
                f"{count:,} more {is_nearly.format(name)} nearly the same as one of train "
                f"({count / len(splits[name]):.1%}) {like}."
            )
    return tuple(notes)
