"""Train, dev and test: what a split is, and how a missing one is held out of the others."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.data.card import SplitRule
from vmask.data.rationales import Spans
from vmask.errors import DataError

SHARE = 0.1
"""Rows of dev and of test, each, where no card says how many."""
FEWEST = 10
"""Rows below which nothing can be held out."""


@dataclass(frozen=True)
class Split:
    """Texts with their labels."""

    texts: list[str]
    labels: list[str]
    """One a text; empty where the source has no labels and none were asked for."""
    ids: list[str]
    """Where each row comes from: the `id` column if it is unique, else split and row number (`train-17`)."""
    notes: tuple[str, ...] = ()
    """What was left out."""
    rationales: list[Spans] | None = None
    """For each text the character spans that people marked as the reason of its label; None where the source has
    no rationales. A text without a marked span has an empty tuple."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int]) -> Split:
        """Some of the rows."""
        labels = [self.labels[i] for i in rows] if self.labels else []
        rationales = None if self.rationales is None else [self.rationales[i] for i in rows]
        return Split([self.texts[i] for i in rows], labels, [self.ids[i] for i in rows], rationales=rationales)


def complete(splits: Mapping[str, Split], rule: SplitRule | None) -> tuple[dict[str, Split], tuple[str, ...]]:
    """Hold out the splits that are missing.

    The same rows in another order give the same splits, see `hold_out`.

    Args:
        splits: what there is; `all` stands for `train` where that is missing.
        rule: the card's numbers, or None for 10% each.

    Returns:
        The splits, with train, dev and test first, and what was done, in words.

    Raises:
        DataError: if there are too few rows.
    """
    found = dict(splits)
    whole = "train"
    if "train" not in found:
        found["train"], whole = found.pop("all"), "all rows"
    rule = rule or SplitRule()
    base, notes = len(found["train"]), []
    for name, rows in (("test", rule.test_rows), ("dev", rule.dev_rows)):
        if name in found:
            continue
        if base < FEWEST:
            raise DataError(
                f"There are only {base} rows, too few to hold out a {name} split. Give at least {FEWEST}, "
                f"or a folder with a file for each split: train.csv, dev.csv, test.csv."
            )
        count, how = _count(base, rows, rule.of_rows)
        train = found["train"]
        rest, out, drawn = hold_out(train.texts, train.labels, count, rule.seed, rule.stratified, train.rationales)
        found["train"], found[name] = train.take(rest), train.take(out)
        notes.append(f"No {name} split: held out {how} of {whole} ({count:,} rows), {drawn}, seed {rule.seed}.")
    order = [*("train", "dev", "test"), *(name for name in found if name not in ("train", "dev", "test"))]
    return {name: found[name] for name in order}, tuple(notes)


def _count(base: int, rows: int | None, of_rows: int | None) -> tuple[int, str]:
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
    """Draw rows that are held out of the others. The same rows in another order give the same ones.

    Args:
        texts: of all rows.
        labels: their labels, all strings or all numbers.
        count: rows to hold out, fewer than there are.
        seed: of the draw.
        stratified: keep the shares of the labels, where each has rows enough.
        rationales: of the rows, where they have any.

    Returns:
        The rows that stay and those that are held out, each in their order, and how they were drawn, in words.
    """
    from sklearn.model_selection import train_test_split

    def content(i: int) -> tuple[Any, ...]:
        digest = hashlib.sha256(texts[i].encode("utf-8", "surrogatepass")).hexdigest()
        return digest, labels[i], () if rationales is None else rationales[i], i

    order = sorted(range(len(texts)), key=content)
    in_order = [labels[i] for i in order]
    drawn = "stratified" if stratified else "drawn at random"
    if stratified:
        rarest, least = min(Counter(in_order).items(), key=lambda item: (item[1], item[0]))
        stay = len(order) - count
        # By its share less than one row of a label would stay, or be held out at all.
        if least < 2 or least * stay < len(order) or min(count, stay) < len(set(in_order)):
            drawn = f"not stratified as label '{rarest}' has only {least} row{'s' * (least != 1)}"
    first = [order[in_order.index(label)] for label in sorted(set(in_order))]
    if drawn == "stratified" or not stratified or len(order) - len(first) < count:
        first = []
    else:  # else a rare label could be held out whole, and nothing would be learnt of it
        order = [i for i in order if i not in first]
    if len(order) == count:
        return sorted(first), sorted(order), drawn
    rest, out = train_test_split(
        order, test_size=count, random_state=seed, stratify=in_order if drawn == "stratified" else None
    )
    return sorted([*rest, *first]), sorted(out), drawn


def shared_texts(splits: Mapping[str, Split]) -> tuple[str, ...]:
    """Notes about texts of train that stand in dev or test too, where results on them flatter."""
    train = set(splits["train"].texts)
    notes = []
    for name in ("dev", "test"):
        if count := len(train & set(splits[name].texts)):
            stand = "text of train stands" if count == 1 else "texts of train stand"
            notes.append(f"{count:,} {stand} in {name} too.")
    return tuple(notes)


def fingerprint(splits: Mapping[str, Split]) -> str:
    """The sha256 over the ids, labels and texts of all splits, and over their rationales where there are any."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        split = splits[name]
        for i, text in enumerate(split.texts):
            label = split.labels[i] if split.labels else ""
            digest.update("\0".join((name, split.ids[i], label, text, "")).encode("utf-8", "surrogatepass"))
            if split.rationales is not None:
                digest.update(repr(split.rationales[i]).encode())
    return digest.hexdigest()
