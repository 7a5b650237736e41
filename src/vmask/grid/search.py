"""Hyperparameter search on the dev set: a few trials of every combination with one seed. Test texts are never read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vmask.grid.cell import Combination, identity
from vmask.grid.experiment import OPTUNA, Experiment, Search
from vmask.grid.search_space import space_to_json
from vmask.grid.store import Store


def search_request(search: Search, of: Combination) -> dict[str, Any]:
    """Everything that determines the result of a search."""
    request: dict[str, Any] = {"options": dict(of.options), "seed": search.seed}
    if search.engine == OPTUNA:
        space = space_to_json(search.options_of(of) or {})
        return {**request, "trials": search.trials, "engine": OPTUNA, "space": space}
    return {**request, "trials": search.trials_of(of)}


def number_of_trials(request: Mapping[str, Any]) -> int:
    """Number of trials that a search is to make."""
    trials = request["trials"]
    return trials if isinstance(trials, int) else len(trials)


def unfinished_search(store: Store, of: Combination, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record of a search that was interrupted, or by Optuna has failed; None if it has no trials."""
    record = store.read(store.search(of.key))
    if record is None or record.get("status") == "done" or record.get("identity") != identity(request):
        return None
    return record if "trials" in record else None


def trials_so_far(unfinished: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The trials of an interrupted search that count, see `unfinished_search`: those of the same versions and data."""
    return list(unfinished["trials"]) if unfinished is not None and _same_facts(unfinished, facts) else []


def next_trial(
    of: Combination,
    request: Mapping[str, Any],
    unfinished: Mapping[str, Any] | None,
    trial: Callable[[Mapping[str, Any]], dict[str, Any]],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Do the next trial of a list.

    Args:
        of: the combination.
        request: the request, see `search_request`.
        unfinished: the record of the trials so far, see `unfinished_search`.
        trial: trains with some options and gives `dev_accuracy` and more.
        facts: versions and machine, see `provenance.facts`.

    Returns:
        The record with the new trial, see `search_record`.
    """
    done = trials_so_far(unfinished, facts)
    options = request["trials"][len(done)]
    done.append({"options": options, **trial(options)})
    return search_record(of, request, done, facts)


def search_record(
    of: Combination, request: Mapping[str, Any], done: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The record of a search after some trials; its `status` is `done` if these are all."""
    left = len(done) < number_of_trials(request)
    return {
        "status": "running" if left else "done",
        "chosen": None if left else best(done),
        "combination": of.to_dict(),
        "identity": identity(request),
        "asked": request,
        "trials": done,
        "facts": facts,
    }


def _same_facts(record: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the trials of a record were made by the same versions on the same data, at any commit, on any machine."""
    anywhere = {"commit": "", "machine": ""}
    return {**record.get("facts", {}), **anywhere} == {**facts, **anywhere}


def best(trials: Sequence[Mapping[str, Any]]) -> int:
    """The index of the trial with the highest dev accuracy, the earliest of ties; pruned ones only if all are."""
    return max(
        range(len(trials)),
        key=lambda number: (not trials[number].get("pruned"), trials[number]["dev_accuracy"], -number),
    )


def chosen_options(store: Store, experiment: Experiment, of: Combination) -> dict[str, Any] | None:
    """The options that a combination's cells are trained with, including those chosen by the search.

    On a dataset that is not searched on, the trial is taken that is best on average over those that are; by Optuna
    there is one such dataset.

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
    if len(trials) == 1:
        return {**of.options, **trials[0][best(trials[0])]["options"]}
    means = [{"dev_accuracy": sum(trial["dev_accuracy"] for trial in same)} for same in zip(*trials, strict=True)]
    return {**of.options, **trials[0][best(means)]["options"]}
