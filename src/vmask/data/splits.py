"""Splits of a dataset (train, dev and test), and how missing ones are held out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask._core.wording import plural
from vmask.data.card import SplitRule
from vmask.data.rationales import Spans
from vmask.errors import DataError

SHARE = 0.1
"""Share of the rows held out for dev, and for test, if no card gives a number."""
FEWEST = 10
"""Fewest rows from which a split can be held out."""


@dataclass(frozen=True)
class Split:
    """Texts with their labels."""

    texts: list[str]
    labels: list[str]
    """One per text; empty if the source has no labels and none are required."""
    ids: list[str]
    """Ids of the rows: the `id` column if it is unique, else split and row number (`train-17`)."""
    notes: tuple[str, ...] = ()
    """What was left out."""
    rationales: list[Spans] | None = None
    """For each text the character spans that people marked as the reason for its label; None if the source has no
    rationales. A text without a marked span has an empty tuple."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int]) -> Split:
        """A split of the given rows."""
        labels = [self.labels[i] for i in rows] if self.labels else []
        rationales = None if self.rationales is None else [self.rationales[i] for i in rows]
        return Split([self.texts[i] for i in rows], labels, [self.ids[i] for i in rows], rationales=rationales)


def complete(splits: Mapping[str, Split], rule: SplitRule | None) -> tuple[dict[str, Split], tuple[str, ...]]:
    """Hold out the splits that are missing.

    The same rows in another order give the same splits, see `hold_out`.

    Args:
        splits: the splits of the source; `all` is used if `train` is missing.
        rule: the card's numbers, or None for 10% each.

    Returns:
        The splits, with train, dev and test first, and notes on what was held out.

    Raises:
        DataError: if there are too few rows.
    """
    result = dict(splits)
    whole = "train"
    if "train" not in result:
        result["train"], whole = result.pop("all"), "all rows"
    rule = rule or SplitRule()
    base, notes = len(result["train"]), []
    for name, rows in (("test", rule.test_rows), ("dev", rule.dev_rows)):
        if name in result:
            continue
        if base < FEWEST:
            raise DataError(
                f"There are only {base} rows, too few to hold out a {name} split. Give at least {FEWEST}, "
                f"or a folder with a file for each split: train.csv, dev.csv, test.csv."
            )
        count, share = _count(base, rows, rule.of_rows)
        train = result["train"]
        rest, out, drawn = hold_out(train.texts, train.labels, count, rule.seed, rule.stratified, train.rationales)
        result["train"], result[name] = train.take(rest), train.take(out)
        notes.append(f"No {name} split: held out {share} of {whole} ({count:,} rows), {drawn}, seed {rule.seed}.")
    order = dict.fromkeys(("train", "dev", "test", *result))
    return {name: result[name] for name in order}, tuple(notes)


def _count(base: int, rows: int | None, of_rows: int | None) -> tuple[int, str]:
    """How many of `base` rows to hold out, and their share in percent."""
    if rows is not None and (of_rows is None or base == of_rows) and rows < base:
        return rows, f"{100 * rows / base:.3g}%"
    share = rows / of_rows if rows is not None and of_rows else SHARE
    return max(1, round(share * base)), f"{100 * share:.3g}%"


def hold_out(
    texts: Sequence[str],
    labels: Sequence[Any],
    count: int,
    seed: int,
    stratified: bool = True,
    rationales: Sequence[Spans] | None = None,
) -> tuple[list[int], list[int], str]:
    """Draw rows to hold out. The result does not depend on the order of the rows.

    Args:
        texts: the texts of all rows.
        labels: their labels, all strings or all numbers.
        count: number of rows to hold out, fewer than there are.
        seed: seed of the draw.
        stratified: keep the shares of the labels, if each has enough rows.
        rationales: the rationales of the rows, if any.

    Returns:
        Numbers of the rows that stay and of those held out, both ascending, and a description of the draw.
    """
    from sklearn.model_selection import train_test_split

    def content(i: int) -> tuple[Any, ...]:
        digest = hashlib.sha256(texts[i].encode("utf-8", "surrogatepass")).hexdigest()
        return digest, labels[i], () if rationales is None else rationales[i], i

    order = sorted(range(len(texts)), key=content)
    labels_in_order = [labels[i] for i in order]
    drawn = "stratified" if stratified else "drawn at random"
    if stratified:
        rarest, least = min(Counter(labels_in_order).items(), key=lambda item: (item[1], item[0]))
        stay = len(order) - count
        # In proportion, less than one row of a label would stay, or be held out.
        if least < 2 or least * stay < len(order) or min(count, stay) < len(set(labels_in_order)):
            drawn = f"not stratified as label '{rarest}' has only {plural(least, 'row')}"
    first = [order[labels_in_order.index(label)] for label in sorted(set(labels_in_order))]
    if drawn == "stratified" or not stratified or len(order) - len(first) < count:
        first = []
    else:  # one row of each label stays: a rare label could be held out completely and never be learnt
        order = [i for i in order if i not in first]
    if len(order) == count:
        return sorted(first), sorted(order), drawn
    rest, out = train_test_split(
        order, test_size=count, random_state=seed, stratify=labels_in_order if drawn == "stratified" else None
    )
    return sorted([*rest, *first]), sorted(out), drawn


def shared_texts(splits: Mapping[str, Split]) -> tuple[str, ...]:
    """Notes about texts of train that are in dev or test too, which makes results on them too good."""
    train = set(splits["train"].texts)
    notes = []
    for name in ("dev", "test"):
        if count := len(train & set(splits[name].texts)):
            stand = "text of train stands" if count == 1 else "texts of train stand"
            notes.append(f"{count:,} {stand} in {name} too.")
    return tuple(notes)


def fingerprint(splits: Mapping[str, Split]) -> str:
    """The sha256 over the ids, labels and texts of all splits, and their rationales if any."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        split = splits[name]
        for i, text in enumerate(split.texts):
            label = split.labels[i] if split.labels else ""
            digest.update("\0".join((name, split.ids[i], label, text, "")).encode("utf-8", "surrogatepass"))
            if split.rationales is not None:
                digest.update(repr(split.rationales[i]).encode())
    return digest.hexdigest()
