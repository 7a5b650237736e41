"""Tables beside those of metrics: top words, searches of hyperparameters, datasets, trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from vmask.grid.experiment import OPTUNA
from vmask.report.grid.metric_tables import datasets_of, methods_of
from vmask.report.grid.results import GridResults, Record, Setting
from vmask.report.grid.table import DASH, Entry, Row, Table, exact

HEADS = ("dataset", "model", "method", "variant")
"""Of rows that are settings; the last is left out where no setting has a variant."""
TOP_WORDS = 10
BY_MASK = "by the mask"
SPLITS = ("train", "dev", "test")
DEFAULT = "default"
SEARCH_NOTE = (
    "Accuracy of the best epoch on dev, of one training each, with a seed that no other training has; the highest is "
    "chosen, ties to the earlier. Test texts are not looked at. A model that is not listed had one set of options."
)

AnyEntry = TypeVar("AnyEntry", bound=Entry)


def word_table(results: GridResults) -> Table[Entry]:
    """The top words of every setting that has any, of its lowest seed."""
    lists = {setting: words for setting in results.settings if (words := _word_lists(results, setting))}
    columns = sorted({name for words in lists.values() for name in words}, key=lambda name: (name != BY_MASK, name))
    width = setting_width(lists)
    return Table(
        name="top_words",
        title="The words that matter most",
        heads=HEADS[:width],
        columns=tuple(columns),
        rows=[
            Row(setting[:width], tuple(Entry(text=words.get(name, DASH)) for name in columns))
            for setting, words in sorted(lists.items())
        ],
        notes=(
            f"The first {TOP_WORDS} words of the lowest seed: by the importance that the model's mask gives to words, "
            "and by sums of the absolute scores that explanations of single texts give to them.",
        ),
    )


def setting_width(settings: Iterable[Setting]) -> int:
    """How many of the heads rows have."""
    return len(HEADS) if any(setting.variant for setting in settings) else len(HEADS) - 1


def _word_lists(results: GridResults, setting: Setting) -> dict[str, str]:
    """What ranks words -> the words, of the lowest seed that has them."""
    lists: dict[str, str] = {}
    for (other, _), records in results.records.items():
        if other == setting:
            for _, record in sorted(records.items()):
                for name, rows in _rankings(record).items():
                    lists.setdefault(name, ", ".join(str(row[0]) for row in rows[:TOP_WORDS]))
    return lists


def _rankings(record: Record) -> dict[str, Sequence[Sequence[Any]]]:
    """What ranks words -> words with a number each, highest first."""
    importance: Mapping[str, Any] = record.get("importance") or {}
    rankings = {BY_MASK: importance["top"]} if importance.get("top") else {}
    for explainer, sums in record.get("splime", {}).items():
        if sums.get("absolute"):
            rankings[f"by {explainer}"] = sums["absolute"]
    return rankings


def search_table(results: GridResults) -> Table[Entry]:
    """Every trial of a list with its dev accuracy; which one was chosen."""
    searches = {setting: search for setting, search in results.searches.items() if not is_by_optuna(search)}
    most = most_trials(searches.values())
    width = setting_width(searches)
    return Table(
        name="search",
        title="Hyperparameters: what was tried, and its accuracy on dev",
        heads=HEADS[:width],
        columns=trial_columns(most),
        rows=[Row(setting[:width], trials(search, most, Entry, DASH)) for setting, search in sorted(searches.items())],
        notes=(SEARCH_NOTE,),
        unit="percent",
    )


def is_by_optuna(search: Record) -> bool:
    """Whether Optuna chose the trials of a search."""
    return bool(search.get("asked", {}).get("engine") == OPTUNA)


def most_trials(searches: Iterable[Record]) -> int:
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
    tried = [
        make(exact(100 * trial["dev_accuracy"]), note=options_text(trial["options"])) for trial in search["trials"]
    ]
    empty = [make(text=missing)] * (most - len(tried))
    chosen = search["chosen"]
    return (*tried, *empty, make(text=f"{chosen + 1}: {options_text(search['trials'][chosen]['options'])}"))


def options_text(chosen: Mapping[str, Any]) -> str:
    """Options by their short names, such as `filters 200, beta 0.3`."""
    short = {name.partition("__")[2] or name: value for name, value in chosen.items()}
    return ", ".join(f"{name} {f'{v:g}' if isinstance(v, float) else v}" for name, v in short.items()) or DEFAULT


def dataset_table(results: GridResults) -> Table[Entry]:
    """The datasets with their sizes."""
    return Table(
        name="datasets",
        title="Datasets",
        heads=("dataset",),
        columns=("title", "classes", *SPLITS, "words a text"),
        rows=[
            Row(
                (name,),
                (
                    Entry(text=str(facts.get("title") or name)),
                    Entry(text=str(facts["classes"])),
                    *(Entry(text=f"{facts['rows'].get(split, 0):,}") for split in SPLITS),
                    Entry(text=f"{facts['average_length']:g}"),
                ),
            )
            for name, facts in sorted(results.datasets.items())
        ],
    )


def trainings_table(results: GridResults, baseline: str) -> Table[Entry]:
    """How many trainings every method and variant has on every dataset."""
    datasets = datasets_of(results)
    width = setting_width(results.settings)
    rows = []
    for method in methods_of(results, baseline):
        counts = [len(results.stage(Setting(dataset, *method))) for dataset in datasets]
        rows.append(Row(method[: width - 1], tuple(Entry(exact(count or None)) for count in counts)))
    return Table(
        name="trainings",
        title="Trainings, one for each seed",
        heads=HEADS[1:width],
        columns=tuple(datasets),
        rows=rows,
        digits=0,
    )
