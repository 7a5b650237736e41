"""Tables of hyperparameter searches by Optuna: what they found, and how much each option matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmask.errors import MissingExtra
from vmask.grid.optuna_study import importances
from vmask.report.grid.overview_tables import HEADS, is_by_optuna, options_text, setting_width
from vmask.report.grid.results import GridResults
from vmask.report.grid.table import DASH, Entry, Row, Table, exact

TRIALS_NOTE = (
    "Accuracy of the best epoch on dev, of one training each, with a seed that no other training has. The first trial "
    "has the defaults; the others are chosen by those before them. A pruned trial ended early, because it had fallen "
    "behind on dev; it is not chosen. Test texts are not looked at. The journals of Optuna are beside the results."
)
IMPORTANCE_NOTE = (
    "By fANOVA: how much of the variance of dev accuracy over complete trials each option explains by itself, scaled "
    "so that the options of a search have 100 together. Of few trials it is rough, and it says nothing beyond the "
    f"values that were tried. {DASH}: the trials do not tell."
)


def optuna_table(results: GridResults) -> Table[Entry]:
    """The first and the best trial of every search by Optuna."""
    searches = {setting: search for setting, search in sorted(results.searches.items()) if is_by_optuna(search)}
    width = setting_width(searches)
    rows = []
    for setting, search in searches.items():
        trials, chosen = search["trials"], search["trials"][search["chosen"]]
        pruned = sum(bool(trial.get("pruned")) for trial in trials)
        entries = (
            Entry(text=f"{len(trials)}" + (f", {pruned} pruned" if pruned else "")),
            Entry(exact(100 * trials[0]["dev_accuracy"]), note=options_text(trials[0]["options"])),
            Entry(exact(100 * chosen["dev_accuracy"]), note=options_text(chosen["options"])),
            Entry(text=str(search["chosen"] + 1)),
        )
        rows.append(Row(setting[:width], entries))
    return Table(
        name="optuna",
        title="Hyperparameters by Optuna: what was found on dev",
        heads=HEADS[:width],
        columns=("trials", "first", "best", "chosen trial"),
        rows=rows,
        notes=(TRIALS_NOTE,),
        unit="percent",
    )


def importance_table(results: GridResults) -> Table[Entry]:
    """How much every option matters for each search by Optuna, and its best value."""
    searches = {setting: search for setting, search in sorted(results.searches.items()) if is_by_optuna(search)}
    width = setting_width(searches)
    rows, note = [], IMPORTANCE_NOTE
    for setting, search in searches.items():
        shares: dict[str, float] = {}
        try:
            shares = importances(search)
        except MissingExtra as error:
            note = f"The importance of options is left out. {error}"
        best: Mapping[str, Any] = search["trials"][search["chosen"]]["options"]
        tried: Mapping[str, Any] = search["asked"].get("space", {})
        for name in sorted(tried, key=lambda name: (-shares.get(name, 0.0), name)):
            share = Entry(exact(100 * shares[name])) if name in shares else Entry(text=DASH)
            entries = (share, Entry(text=_value(best.get(name))), Entry(text=_tried(tried[name])))
            rows.append(Row((*setting[:width], name), entries))
    return Table(
        name="importance",
        title="Hyperparameters by Optuna: how much each option matters",
        heads=(*HEADS[:width], "option"),
        columns=("importance", "best value", "tried"),
        rows=rows,
        notes=(note,),
        unit="percent",
    )


def _value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _tried(values: Any) -> str:
    """The values or the range of an option in words."""
    if isinstance(values, list):
        return ", ".join(map(_value, values))
    step = f", step {_value(values['step'])}" if values.get("step") is not None else ""
    log = ", log scale" if values.get("log") else ""
    return f"{_value(values.get('low'))} to {_value(values.get('high'))}{step}{log}"
