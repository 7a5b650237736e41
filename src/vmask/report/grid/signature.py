"""The line under a table that says what its numbers are of: seeds, texts, code, machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def signature(cells: Sequence[Mapping[int, Mapping[str, Any]]], *more: str) -> str:
    """What numbers are of, as the records of their cells tell it.

    Args:
        cells: for each cell, seed -> the file.
        more: what else is told, before it.
    """
    records = [record for by_seed in cells for record in by_seed.values()]
    texts = among(record["measured"]["n"] for record in records if "measured" in record)
    parts = [*more, f"n {texts} texts" if texts else "", count_seeds([list(by_seed) for by_seed in cells])]
    return "; ".join(filter(None, [*parts, made_by(records)]))


def made_by(records: Iterable[Mapping[str, Any]]) -> str:
    """The code and the machines."""
    facts = [record["facts"] for record in records]
    versions = among(one["versions"].get("vmask", "?") for one in facts)
    commits = among(one["commit"] or "no commit" for one in facts)
    threads = among(one["threads"] for one in facts if "threads" in one)
    machines = among(one["machine"] for one in facts)
    return "; ".join(filter(None, [f"vmask {versions} ({commits})", f"threads {threads}" if threads else "", machines]))


def count_seeds(seeds: Sequence[Sequence[int]]) -> str:
    """How many trainings a cell has, and which seeds."""
    run = [one for one in seeds if one]
    least, most = min(map(len, run)), max(map(len, run))
    every = sorted({seed for one in run for seed in one})
    whole = every == list(range(every[0], every[-1] + 1)) and len(every) > 1
    which = f"{every[0]}-{every[-1]}" if whole else ", ".join(map(str, every))
    count = str(most) if least == most else f"{least} to {most}"
    return f"{count} {'seed' if most == 1 else 'seeds'} a cell ({which})"


def among(values: Iterable[Any]) -> str:
    """Different values in their order; numbers by size."""
    found = list(dict.fromkeys(values))
    if all(isinstance(one, int) for one in found):
        return ", ".join(f"{one:,}" for one in sorted(found))
    return ", ".join(sorted(map(str, found)))
