"""Draw groups of rows to hold out: all rows of a group are held out, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from vmask._core.random_streams import numpy_stream
from vmask.errors import DataError


def draw_groups(
    contents: Sequence[Any], groups: Sequence[int], labels: Sequence[Any], count: int, seed: int, stratified: bool
) -> tuple[list[int], list[int]]:
    """Draw groups with about `count` rows in all.

    Groups are tried in random order. The first time round one is taken if that brings the rows of its labels nearer to
    their shares, the second time if it brings the number of rows nearer to `count`. At least one row of every label
    stays.

    Args:
        contents: (N,) what each row is known by, so that the order of the rows does not matter.
        groups: (N,) number of the group of each row.
        labels: (N,) label of each row.
        count: number of rows to hold out.
        seed: seed of the draw.
        stratified: keep the shares of the labels.

    Returns:
        Numbers of the rows that stay and of those held out, both ascending.

    Raises:
        DataError: if no group can be held out.
    """
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    rows = sorted(members.values(), key=lambda group: sorted(contents[row] for row in group))
    contents = [Counter(labels[row] for row in group) for group in rows]
    left = Counter(labels)
    wanted = {label: count * size / len(groups) for label, size in left.items()}
    tried = [int(number) for number in numpy_stream(seed, "hold_out").permutation(len(rows))]
    held, missing = [False] * len(rows), count

    def can_go(number: int) -> bool:
        return not held[number] and all(left[label] > size for label, size in contents[number].items())

    def take(number: int) -> None:
        nonlocal missing
        held[number] = True
        missing -= len(rows[number])
        left.subtract(contents[number])
        for label, size in contents[number].items():
            wanted[label] -= size

    if stratified:
        shares = dict(wanted)
        for number in tried:
            # The change of the sum of squared differences from the shares, each in proportion to its share.
            change = sum(size * (size - 2 * wanted[label]) / shares[label] for label, size in contents[number].items())
            if change < 0 and can_go(number):
                take(number)
    for number in tried:
        size = len(rows[number])
        if abs(missing - size) < abs(missing) and can_go(number):
            take(number)
    if not any(held):
        small = [number for number in tried if can_go(number) and len(rows[number]) <= len(groups) / 2]
        if not small:
            raise DataError(
                f"{count:,} of {len(groups):,} rows are to be held out, but too many of them belong together: the "
                f"largest group has {max(map(len, rows)):,}. Leave --group out, or add --duplicates ignore, or give "
                "a folder with a file for each split."
            )
        take(min(small, key=lambda number: len(rows[number])))
    out = sorted(row for number, group in enumerate(rows) if held[number] for row in group)
    rest = sorted(row for number, group in enumerate(rows) if not held[number] for row in group)
    return rest, out
