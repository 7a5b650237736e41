"""Hyperparameter search on the dev set: a few trials of every combination with one seed. Test texts are never read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vmask._core.locks import taking_turns
from vmask.grid.cell import Combination, identity
from vmask.grid.experiment import Experiment, Search
from vmask.grid.store import Store


def search_request(search: Search, of: Combination) -> dict[str, Any]:
    """Everything that determines the result of a search."""
    return {"options": dict(of.options), "seed": search.seed, "trials": search.trials_of(of)}


def run_search(
    store: Store,
    search: Search,
    of: Combination,
    trial: Callable[[Mapping[str, Any]], dict[str, Any]],
    facts: Mapping[str, Any],
) -> None:
    """Do the remaining trials and write the file after each, so that an interrupted search can be continued.

    Args:
        store: the result files.
        search: the options to try.
        of: the combination.
        trial: trains with some options and gives `dev_accuracy` and more.
        facts: versions and machine, see `provenance.facts`.
    """
    request = search_request(search, of)
    path, requested = store.search(of.key), identity(request)

    def recorded_trials(*states: str) -> list[dict[str, Any]]:
        """The trials in the file, including those of other processes."""
        record = store.read(path) or {}
        usable = record.get("identity") == requested and record.get("status") in states and _same_facts(record, facts)
        return list(record["trials"]) if usable else []

    done = recorded_trials("running")
    while len(done) < len(request["trials"]):
        options = request["trials"][len(done)]
        done.append({"options": options, **trial(options)})
        record = {
            "combination": of.to_dict(),
            "identity": requested,
            "asked": request,
            "trials": done,
            "facts": facts,
        }
        left = len(done) < len(request["trials"])
        with taking_turns(path.parent):
            recorded = recorded_trials("running", "done")
            if left and len(recorded) >= len(done):  # another grid does the same search, and is further on
                done = recorded
                continue
            state = {"status": "running" if left else "done", "chosen": None if left else best(done)}
            store.write(path, {**state, **record})


def _same_facts(record: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the trials of a record were made by the same versions on the same kind of machine, at any commit."""
    return {**record.get("facts", {}), "commit": ""} == {**facts, "commit": ""}


def best(trials: Sequence[Mapping[str, Any]]) -> int:
    """The index of the trial with the highest dev accuracy, the earliest of ties."""
    return max(range(len(trials)), key=lambda number: (trials[number]["dev_accuracy"], -number))


def chosen_options(store: Store, experiment: Experiment, of: Combination) -> dict[str, Any] | None:
    """The options that a combination's cells are trained with, including those chosen by the search.

    On a dataset that is not searched on, the trial is taken that is best on average over those that are.

    Returns:
        None if a search is not done yet.
    """
    trials: list[list[dict[str, Any]]] = []
    for searched in experiment.searches_for(of):
        assert experiment.search is not None
        record = store.read(store.search(searched.key))
        requested = identity(search_request(experiment.search, searched))
        if record is None or record.get("status") != "done" or record.get("identity") != requested:
            return None
        trials.append(record["trials"])
    if not trials:
        return dict(of.options)
    means = [{"dev_accuracy": sum(trial["dev_accuracy"] for trial in same)} for same in zip(*trials, strict=True)]
    return {**of.options, **trials[0][best(means)]["options"]}
