"""Studies of Optuna: the trials of a result file as a study, its sampler, its pruner, its journal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vmask.errors import MissingExtra, VmaskError
from vmask.grid.search_space import Range, Space, Values, space_from_json

MOST_RANDOM = 10
"""Most trials that are drawn at random, before Optuna learns from them; of a small search a third of all."""
COMPLETE_TRIALS, FIRST_PRUNED_AT, TRIALS_AT_STEP = 5, 3, 3
"""A trial is pruned after so many complete ones, at this one of its reports at the earliest, and only where so many
others have that report."""


def import_optuna() -> Any:
    """The module `optuna`, which from then on says nothing below warnings.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise MissingExtra("A search by Optuna", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_study(path: Path, name: str, space: Space, done: Iterable[Mapping[str, Any]], budget: int, seed: int) -> Any:
    """The study in a journal file; made anew if the file is missing, damaged or has other trials.

    Args:
        path: the journal file.
        name: name of the study.
        space: the search space.
        done: the trials so far, as in a result file.
        budget: number of trials in all.
        seed: seed of the sampler, for the next trial.
    """
    optuna = import_optuna()
    by = {
        "sampler": optuna.samplers.TPESampler(seed=seed, n_startup_trials=min(MOST_RANDOM, math.ceil(budget / 3))),
        "pruner": optuna.pruners.MedianPruner(COMPLETE_TRIALS, FIRST_PRUNED_AT, n_min_trials=TRIALS_AT_STEP),
    }
    trials = frozen_trials(space, done)
    try:
        study = optuna.load_study(study_name=name, storage=_storage(path), **by)
        if [_content(trial) for trial in study.trials] == [_content(trial) for trial in trials]:
            return study
    except Exception:  # whatever Optuna raises for a file that is damaged
        pass
    path.unlink(missing_ok=True)
    study = optuna.create_study(study_name=name, storage=_storage(path), direction="maximize", **by)
    study.add_trials(trials)
    return study


def _storage(path: Path) -> Any:
    journal = import_optuna().storages.journal
    lock = journal.JournalFileOpenLock(str(path))  # the default needs symbolic links
    return import_optuna().storages.JournalStorage(journal.JournalFileBackend(str(path), lock))


def _content(trial: Any) -> tuple[Any, ...]:
    """What must be the same in the journal and in the result file."""
    return trial.state, trial.values, trial.params, trial.distributions, trial.intermediate_values


def frozen_trials(space: Space, done: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Trials of a result file as Optuna has them."""
    optuna = import_optuna()
    distributions, states = distributions_of(space), optuna.trial.TrialState
    trials = []
    for trial in done:
        reported = dict(enumerate(map(float, trial["reported"]), 1))
        value = trial["dev_accuracy"]
        if trial["pruned"]:
            value = reported.get(len(reported))  # as Optuna does when it is told of a pruned trial
        trials.append(
            optuna.trial.create_trial(
                state=states.PRUNED if trial["pruned"] else states.COMPLETE,
                value=value,
                params=to_params(space, trial["options"]),
                distributions=distributions,
                user_attrs=attributes_of(trial),
                intermediate_values=reported,
            )
        )
    return trials


def attributes_of(trial: Mapping[str, Any]) -> dict[str, Any]:
    """What Optuna keeps of a trial beside its values."""
    return {name: trial[name] for name in ("best_epoch", "epochs", "seconds") if name in trial}


def distributions_of(space: Space) -> dict[str, Any]:
    """The search space as Optuna has it."""
    return {name: _distribution(values) for name, values in space.items()}


def _distribution(values: Values) -> Any:
    distributions = import_optuna().distributions
    if not isinstance(values, Range):
        return distributions.CategoricalDistribution([_choice(value) for value in values])
    if values.whole:
        return distributions.IntDistribution(values.low, values.high, log=values.log, step=values.step or 1)
    return distributions.FloatDistribution(values.low, values.high, log=values.log, step=values.step)


def _choice(value: Any) -> Any:
    """A listed value as Optuna can keep it: a list, such as window sizes, becomes a text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.dumps(value)


def to_params(space: Space, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as parameters of Optuna."""
    return {name: options[name] if isinstance(v, Range) else _choice(options[name]) for name, v in space.items()}


def to_options(space: Space, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of Optuna as options."""
    return {
        name: params[name] if isinstance(v, Range) else next(one for one in v if _choice(one) == params[name])
        for name, v in space.items()
    }


def importances(record: Mapping[str, Any]) -> dict[str, float]:
    """How much of the variance of dev accuracy over complete trials each option explains by itself, scaled to sum to 1.

    It is estimated by fANOVA.

    Args:
        record: the result file of a search by Optuna.

    Returns:
        Empty if the trials do not tell: if complete ones are missing or all alike.

    Raises:
        MissingExtra: if Optuna is not installed.
    """
    optuna = import_optuna()
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    if len({trial["dev_accuracy"] for trial in record["trials"] if not trial.get("pruned")}) < 2:
        return {}
    try:
        study = optuna.create_study(direction="maximize")
        study.add_trials(frozen_trials(space_from_json(record["asked"]["space"]), record["trials"]))
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    except (VmaskError, ValueError, RuntimeError, LookupError):  # values that are not in the space, or one value alone
        return {}
    return {name: float(share) for name, share in found.items()}
