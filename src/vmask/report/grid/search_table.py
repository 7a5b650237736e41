"""The table of hyperparameters: what was tried on dev, how it went, what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from vmask.report.grid.results import GridResults, Record
from vmask.report.grid.table import DASH, Entry, Row, Table, exact

DEFAULT = "default"
NOTE = (
    "Accuracy of the best epoch on dev, of one training each, with a seed that no other training has; the highest is "
    "chosen, ties to the earlier. Test texts are not looked at. A model that is not listed had one set of options."
)

AnyEntry = TypeVar("AnyEntry", bound=Entry)


def search_table(results: GridResults) -> Table[Entry]:
    """Every trial with its dev accuracy; which one was chosen."""
    most = most_trials(results.searches.values())
    variants = any(setting.variant for setting in results.searches)
    return Table(
        name="search",
        title="Hyperparameters: what was tried, and its accuracy on dev",
        heads=("dataset", "model", "method", "variant") if variants else ("dataset", "model", "method"),
        columns=trial_columns(most),
        rows=[
            Row(tuple(setting) if variants else tuple(setting[:3]), trials(search, most, Entry, DASH))
            for setting, search in sorted(results.searches.items())
        ],
        notes=(NOTE,),
        unit="percent",
    )


def most_trials(searches: Any) -> int:
    """Trials of the search that has the most."""
    return max((len(search["trials"]) for search in searches), default=1)


def trial_columns(most: int) -> tuple[str, ...]:
    """The columns of a table of searches."""
    return (*(f"trial {number}" for number in range(1, most + 1)), "chosen")


def trials(search: Record, most: int, make: Callable[..., AnyEntry], missing: str) -> tuple[AnyEntry, ...]:
    """The entries of a search: every trial with its options, and which one was chosen.

    Args:
        search: the file.
        most: trials of the table.
        make: the kind of entry.
        missing: what stands for a trial that the search does not have.
    """
    tried = [make(exact(100 * one["dev_accuracy"]), note=options(one["options"])) for one in search["trials"]]
    empty = [make(text=missing)] * (most - len(tried))
    chosen = search["chosen"]
    return (*tried, *empty, make(text=f"{chosen + 1}: {options(search['trials'][chosen]['options'])}"))


def options(chosen: Mapping[str, Any]) -> str:
    """Options by their short names, such as `filters 200, beta 0.3`."""
    short = {name.partition("__")[2] or name: value for name, value in chosen.items()}
    return ", ".join(f"{name} {f'{v:g}' if isinstance(v, float) else v}" for name, v in short.items()) or DEFAULT
