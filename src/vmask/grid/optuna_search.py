"""Hyperparameter search by Optuna: each trial is chosen by those before, and ended early if it falls behind on dev.

The result file is the truth. A study is opened for every trial, with a sampler whose seed derives from that of the
search, the combination and the number of the trial, so that an interrupted search goes on as if it had not been, on any
machine. The journal is Optuna's own file of the same trials.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vmask._core.random_streams import derive
from vmask.errors import TrainingDiverged
from vmask.grid.cell import Combination
from vmask.grid.optuna_study import attributes_of, distributions_of, import_optuna, open_study, to_options, to_params
from vmask.grid.search import number_of_trials, search_record, trials_so_far
from vmask.grid.search_space import Range, Space, space_from_json
from vmask.training.progress import ProgressCallback, StopTraining
from vmask.training.run_config import Plan

Train = Callable[[Mapping[str, Any], int, ProgressCallback], dict[str, Any]]
"""Trains with some options, the number of the trial from 1, and a callback; gives `dev_accuracy` and more."""


class DevReports(ProgressCallback):
    """Reports the dev accuracy of every epoch that may be chosen, and ends the training if it is to be pruned.

    Not reported are epochs that do not compete, such as those in which beta still falls, epochs that miss a constraint
    of the mask, and those of the first of two stages.

    Args:
        report: is given an accuracy and the number of the report from 1; gives whether the trial is to end.

    Attributes:
        reported: what was reported.
        epochs: number of epochs that are done.
        best_epoch: number of the best one of those that were reported, from 1; 0 for none.
    """

    def __init__(self, report: Callable[[float, int], bool]) -> None:
        self._report = report
        self._in_last_stage = True
        self.reported: list[float] = []
        self.epochs = self.best_epoch = 0

    def stage(self, number: int, total: int) -> None:
        """Keep whether it is the last."""
        self._in_last_stage = number == total

    def epoch(self, row: Mapping[str, Any], best: bool) -> None:
        """Report the epoch.

        Raises:
            StopTraining: if the trial is to end.
        """
        self.epochs += 1
        if not self._in_last_stage or not row["competes"] or row.get("excess", 0.0) > 0:
            return
        if row["dev_accuracy"] > max(self.reported, default=-1.0):
            self.best_epoch = self.epochs
        self.reported.append(row["dev_accuracy"])
        if self._report(row["dev_accuracy"], len(self.reported)):
            raise StopTraining


def next_optuna_trial(
    of: Combination,
    request: Mapping[str, Any],
    unfinished: Mapping[str, Any] | None,
    journal: str | None,
    plan: Plan,
    train: Train,
    facts: Mapping[str, Any],
) -> tuple[dict[str, Any], str]:
    """Do the next trial of a search by Optuna.

    Args:
        of: the combination.
        request: the request, see `search_request`.
        unfinished: the record of the trials so far, see `unfinished_search`.
        journal: the journal of the trials so far; it is made anew from the record if it is missing or damaged.
        plan: the options without the search, whose values the first trial has.
        train: does a training.
        facts: versions and machine, see `provenance.facts`.

    Returns:
        The record with the new trial, see `search_record`, and the journal.
    """
    states = import_optuna().trial.TrialState
    done = trials_so_far(unfinished, facts)
    space, number = space_from_json(request["space"]), len(done) + 1
    seed = derive(request["seed"], "optuna", of.key, number) % 2**32
    with TemporaryDirectory(prefix="vmask-") as folder:
        path = Path(folder) / "journal.log"
        path.write_text(journal or "", encoding="utf-8")
        study = open_study(path, of.key, space, done, number_of_trials(request), seed)
        if not done:
            study.enqueue_trial(to_params(space, first_options(space, plan)))
        asked = study.ask(distributions_of(space))
        options = to_options(space, asked.params)
        same = next((trial for trial in done if trial["options"] == options), None)
        trial = _done_before(same, asked) if same else _done_now(options, asked, number, train)
        for name, value in attributes_of(trial).items():
            asked.set_user_attr(name, value)
        if trial["pruned"]:
            study.tell(asked, state=states.PRUNED)
        else:
            study.tell(asked, trial["dev_accuracy"])
        return search_record(of, request, [*done, trial], facts), path.read_text(encoding="utf-8")


def first_options(space: Space, plan: Plan) -> dict[str, Any]:
    """The options of the first trial: the first of listed values, the number of a range that is nearest to the default.

    Args:
        space: the search space.
        plan: the options without the search.
    """
    first: dict[str, Any] = {}
    for name, values in space.items():
        if isinstance(values, Range):
            found = plan.holder_of(name)
            first[name] = values.nearest(None if found is None else getattr(*found))
        else:
            first[name] = values[0]
    return first


def _done_now(options: Mapping[str, Any], asked: Any, number: int, train: Train) -> dict[str, Any]:
    """Train; a training that diverges counts as pruned."""
    started = time.perf_counter()

    def report(accuracy: float, step: int) -> bool:
        asked.report(accuracy, step)
        return bool(asked.should_prune())

    dev = DevReports(report)
    try:
        return {"options": options, **train(options, number, dev), "pruned": False, "reported": dev.reported}
    except (StopTraining, TrainingDiverged):
        return {
            "options": options,
            "dev_accuracy": max(dev.reported, default=0.0),
            "best_epoch": dev.best_epoch,
            "epochs": dev.epochs,
            "seconds": round(time.perf_counter() - started, 1),
            "pruned": True,
            "reported": dev.reported,
        }


def _done_before(same: Mapping[str, Any], asked: Any) -> dict[str, Any]:
    """The result of a trial with the same options, whose training would be the same."""
    for step, accuracy in enumerate(same["reported"], 1):
        asked.report(accuracy, step)
    return {**same, "seconds": 0.0}
