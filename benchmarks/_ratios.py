"""Contenders that take turns, and the ratio of their times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def turns(names: Mapping, number: int) -> list[str]:
    """The contenders, the other way round every other time."""
    return list(names) if number % 2 else list(names)[::-1]


def timed(jobs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each job in each repeat; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for repeat in range(repeats):
        for name in turns(jobs, repeat):
            started = time.perf_counter()
            jobs[name]()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def ratio(
    what: str,
    seconds: Mapping[str, list[float]],
    above: str,
    below: str,
    *,
    most: float | None = None,
    least: float | None = None,
) -> dict:
    """Median of the ratios within each repeat, with the smallest, the largest and the bar that it is held to."""
    values = [a / b for a, b in zip(seconds[above], seconds[below], strict=True)]
    median = statistics.median(values)
    held = (most is None or median <= most) and (least is None or median >= least)
    row = {"what": what, "median": round(median, 3), "min": round(min(values), 3), "max": round(max(values), 3)}
    row |= {"milliseconds": {name: round(1000 * statistics.median(seconds[name]), 3) for name in (above, below)}}
    row |= {"bar": least if most is None else most, "held": held}
    sign = "" if row["bar"] is None else f"  bar {'<=' if most is not None else '>='} {row['bar']}"
    spread = f"({row['min']:.3f} to {row['max']:.3f})"
    print(f"{what:70} {median:7.3f}  {spread}{sign}{'' if held else '  MISSED'}", flush=True)
    return row
