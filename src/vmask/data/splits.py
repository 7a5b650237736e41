"""Splits of a dataset (train, dev and test), and how missing ones are held out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vmask._core.wording import plural
from vmask.config import SplitConfig
from vmask.data.card import SplitRule
from vmask.data.draw_groups import draw_groups
from vmask.data.duplicates import connected, duplicate_groups, normalise
from vmask.data.rationales import Spans
from vmask.data.times import times_of
from vmask.errors import DataError

SHARE = 0.1
"""Share of the rows held out for dev, and for test, if no card gives a number."""
FEWEST = 10
"""Fewest rows from which a split can be held out."""


@dataclass(frozen=True)
class Split:
    """Texts with their labels."""

    texts: list[str]
    labels: list[Any]
    """One per text, or a tuple of labels where it may have several; empty if the source has no labels and none are
    required."""
    ids: list[str]
    """Ids of the rows: the `id` column if it is unique, else split and row number (`train-17`)."""
    notes: tuple[str, ...] = ()
    """What was left out."""
    rationales: list[Spans] | None = None
    """For each text the character spans that people marked as the reason for its label; None if the source has no
    rationales. A text without a marked span has an empty tuple."""
    columns: Mapping[str, list[Any]] = field(default_factory=dict)
    """Further columns that were asked for, by name: a value per text."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int]) -> Split:
        """A split of the given rows."""
        labels = [self.labels[i] for i in rows] if self.labels else []
        rationales = None if self.rationales is None else [self.rationales[i] for i in rows]
        columns = {name: [values[i] for i in rows] for name, values in self.columns.items()}
        return Split(
            [self.texts[i] for i in rows],
            labels,
            [self.ids[i] for i in rows],
            rationales=rationales,
            columns=columns,
        )


def complete(
    splits: Mapping[str, Split],
    rule: SplitRule | None,
    how: SplitConfig | None = None,
    strata: Callable[[Split], list[str]] | None = None,
) -> tuple[dict[str, Split], tuple[str, ...]]:
    """Hold out the splits that are missing.

    The same rows in another order give the same splits, see `hold_out`.

    Args:
        splits: the splits of the source; `all` is used if `train` is missing.
        rule: the card's numbers, or None for 10% each.
        how: which rows must stay together; by default each is drawn alone.
        strata: gives what is kept in proportion, by default the labels.

    Returns:
        The splits, with train, dev and test first, and notes on what was held out.

    Raises:
        DataError: if there are too few rows, or nothing is to be held out though `how` says by what.
    """
    result, how = dict(splits), how or SplitConfig(duplicates="ignore")
    whole = "train"
    if "train" not in result:
        result["train"], whole = result.pop("all"), "all rows"
    missing = [name for name in ("test", "dev") if name not in result]
    if (by := how.group or how.time) and not missing:
        raise DataError(
            f"The data has a dev and a test split of its own, so nothing is held out by '{by}'. Leave --group and "
            "--time out."
        )
    rule = rule or SplitRule()
    base, notes = len(result["train"]), []
    groups = _groups(result["train"], how) if missing else []
    for name in missing:
        rows = rule.test_rows if name == "test" else rule.dev_rows
        if base < FEWEST:
            raise DataError(
                f"There are only {base} rows, too few to hold out a {name} split. Give at least "
                f"{FEWEST}, or a folder with a file for each split: train.csv, dev.csv, test.csv."
            )
        count, share = _count(base, rows, rule.of_rows)
        train = result["train"]
        if how.time is not None:
            rest, out = _latest(train, count, how.time)
            drawn = f"the latest by '{how.time}'"
        else:
            labels = train.labels if strata is None else strata(train)
            rest, out, drawn = hold_out(
                train.texts, labels, count, rule.seed, rule.stratified, train.rationales, groups
            )
            drawn += f", seed {rule.seed}"
            groups = [groups[i] for i in rest]
        if how.group is not None:
            drawn += f", all rows of a '{how.group}' in one split"
        if len(out) != count:
            share = f"{100 * len(out) / base:.3g}%"
        result["train"], result[name] = train.take(rest), train.take(out)
        notes.append(f"No {name} split: held out {share} of {whole} ({plural(len(out), 'row')}), {drawn}.")
    if how.time is not None and how.duplicates != "ignore":
        notes += _drop_repeated(result, missing, how.duplicates == "near")
    order = dict.fromkeys(("train", "dev", "test", *result))
    return {name: result[name] for name in order}, tuple(notes)


def _groups(train: Split, how: SplitConfig) -> list[int]:
    """(N,) number of the group of each row; rows of a group stay in one split."""
    groupings = [list(range(len(train)))]
    if how.time is None and how.duplicates != "ignore":
        groupings = [duplicate_groups(train.texts, how.duplicates == "near")]
    if how.group is not None:
        numbers: dict[Any, int] = {}
        names = [_group_name(value, row) for row, value in enumerate(train.columns[how.group])]
        groupings.append([numbers.setdefault(name, len(numbers)) for name in names])
    return connected(*groupings) if len(groupings) > 1 else groupings[0]


def _group_name(value: Any, row: int) -> Any:
    """What rows of a group have in common; a row without a value is a group of its own."""
    text = "" if value is None else str(value).strip()
    return text if text and text.lower() != "nan" else row


def _latest(train: Split, count: int, column: str) -> tuple[list[int], list[int]]:
    """The rows before and from the moment from which on there are about `count` rows."""
    times = times_of(train.columns[column], train.ids, column)
    order = sorted(range(len(times)), key=lambda row: times[row])
    cuts = [at for at in range(1, len(order)) if times[order[at - 1]] < times[order[at]]]
    if not cuts:
        raise DataError(f"--time: all rows have the same value in '{column}', so none is later. Leave --time out.")
    cut = min(cuts, key=lambda at: (abs(len(order) - at - count), at))
    return sorted(order[:cut]), sorted(order[cut:])


def _drop_repeated(splits: dict[str, Split], held_out: Sequence[str], near: bool) -> list[str]:
    """Leave out of the splits that were cut by time the texts that an earlier split has. Returns notes."""
    order = ["train", *(name for name in ("dev", "test") if name in held_out)]
    groups = iter(duplicate_groups([text for name in order for text in splits[name].texts], near))
    seen: set[int] = set()
    notes = []
    for name in order:
        split = splits[name]
        numbers = [next(groups) for _ in range(len(split))]
        fresh = [row for row, number in enumerate(numbers) if number not in seen]
        seen |= set(numbers)
        if name == "train" or len(fresh) == len(split):
            continue
        if not fresh:
            raise DataError(f"Every text of {name} occurs earlier too. Add --duplicates ignore to keep them.")
        splits[name] = split.take(fresh)
        left = plural(len(split) - len(fresh), "row")
        notes.append(f"Left out {left} of {name} whose text occurs earlier; --duplicates ignore keeps them.")
    return notes


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
    groups: Sequence[int] | None = None,
) -> tuple[list[int], list[int], str]:
    """Draw rows to hold out. The result does not depend on the order of the rows.

    Without groups of several rows each row is drawn alone, as if there were no groups.

    Args:
        texts: the texts of all rows.
        labels: their labels, all strings or all numbers.
        count: number of rows to hold out, fewer than there are.
        seed: seed of the draw.
        stratified: keep the shares of the labels, if each has enough rows.
        rationales: the rationales of the rows, if any.
        groups: (N,) number of the group of each row; all rows of a group are held out or none, so that their number
            may differ a little from `count`.

    Returns:
        Numbers of the rows that stay and of those held out, both ascending, and a description of the draw.
    """
    from sklearn.model_selection import train_test_split

    def content(i: int) -> tuple[Any, ...]:
        digest = hashlib.sha256(texts[i].encode("utf-8", "surrogatepass")).hexdigest()
        return digest, labels[i], () if rationales is None else rationales[i]

    contents = [content(i) for i in range(len(texts))]
    order = sorted(range(len(texts)), key=lambda i: (contents[i], i))
    if groups is not None and len(set(groups)) < len(texts):
        rest, out = draw_groups(contents, groups, labels, count, seed, stratified)
        return rest, out, "stratified" if stratified else "drawn at random"
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
    """Notes about texts of dev or test that are in train too, which makes results on them too good."""
    train = {normalise(text) for text in splits["train"].texts}
    notes = []
    for name in ("dev", "test"):
        if count := sum(normalise(text) in train for text in splits[name].texts):
            stand = f"text of {name} stands" if count == 1 else f"texts of {name} stand"
            notes.append(f"{count:,} {stand} in train too ({count / len(splits[name]):.1%}).")
    return tuple(notes)


def fingerprint(splits: Mapping[str, Split]) -> str:
    """The sha256 over the ids, labels and texts of all splits, and their rationales if any."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        split = splits[name]
        for i, text in enumerate(split.texts):
            label = split.labels[i] if split.labels else ""
            label = label if isinstance(label, str) else "\x1f".join(("", *label))
            digest.update("\0".join((name, split.ids[i], label, text, "")).encode("utf-8", "surrogatepass"))
            if split.rationales is not None:
                digest.update(repr(split.rationales[i]).encode())
    return digest.hexdigest()
