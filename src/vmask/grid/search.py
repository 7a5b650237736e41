"""Search for hyperparameters on the dev set: a few trials of every combination, with one seed. Test is never read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vmask._core.locks import taking_turns
from vmask.grid.cell import Combination, identity, short_name
from vmask.grid.spec import Search
from vmask.grid.store import Store


def asked_of_search(search: Search, of: Combination) -> dict[str, Any]:
    """All that decides what a search finds."""
    return {"options": dict(of.options), "seed": search.seed, "trials": search.trials(of)}


def run_search(
    store: Store,
    search: Search,
    of: Combination,
    trial: Callable[[Mapping[str, Any]], dict[str, Any]],
    facts: Mapping[str, Any],
) -> None:
    """Try what is left to try, and write the file after every trial, so that a search goes on where it was cut off.

    Args:
        store: where the file is.
        search: what is tried.
        of: the combination.
        trial: trains with some options and says how it went on dev, as `dev_accuracy` and more.
        facts: of the machine and the versions.
    """
    asked = asked_of_search(search, of)
    path, wanted = store.search(of.key), identity(asked)

    def there(*states: str) -> list[dict[str, Any]]:
        """The trials that are written down already, by another process too."""
        before = store.read(path) or {}
        same = before.get("identity") == wanted and before.get("status") in states and _alike(before, facts)
        return list(before["trials"]) if same else []

    done = there("running")
    about = {"dataset": short_name(of.dataset), "model": short_name(of.model), "mask": of.mask, "variant": of.variant}
    while len(done) < len(asked["trials"]):
        options = asked["trials"][len(done)]
        done.append({"options": options, **trial(options)})
        record = {"combination": about, "identity": wanted, "asked": asked, "trials": done, "facts": facts}
        left = len(done) < len(asked["trials"])
        with taking_turns(path.parent):
            others = there("running", "done")
            if left and len(others) >= len(done):  # another grid is at it too, and further on
                done = others
                continue
            state = {"status": "running" if left else "done", "chosen": None if left else best(done)}
            store.write(path, {**state, **record})


def _alike(before: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether its trials were made by the same versions on a like machine, whatever the commit."""
    found = before.get("facts", {})
    return {**found, "commit": ""} == {**facts, "commit": ""}


def best(trials: Sequence[Mapping[str, Any]]) -> int:
    """The number of the trial with the highest dev accuracy, ties to the earlier one."""
    return max(range(len(trials)), key=lambda number: (trials[number]["dev_accuracy"], -number))


def chosen_options(store: Store, search: Search | None, of: Combination) -> dict[str, Any] | None:
    """The options that a combination's cells are trained with, those of the search included.

    Returns:
        None where the search is still to be done.
    """
    if search is None:
        return dict(of.options)
    trials = search.trials(of)
    if len(trials) == 1:  # nothing to choose from
        return {**of.options, **trials[0]}
    record = store.read(store.search(of.key))
    wanted = identity(asked_of_search(search, of))
    if record is None or record.get("status") != "done" or record.get("identity") != wanted:
        return None
    return {**of.options, **record["trials"][record["chosen"]]["options"]}
