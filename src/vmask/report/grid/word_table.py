"""The words that matter most, where results have them: by the model's own mask, and by sums of explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmask.report.grid.results import GridResults, Record, Setting
from vmask.report.grid.table import Entry, Row, Table

TOP = 10
"""Words of a list."""
OWN = "by the mask"


def word_table(results: GridResults) -> Table[Entry]:
    """The top words of every setting that has any, of its lowest seed."""
    lists = {setting: found for setting in results.settings if (found := _lists(results, setting))}
    columns = sorted({name for found in lists.values() for name in found}, key=lambda name: (name != OWN, name))
    variants = any(setting.variant for setting in lists)
    return Table(
        name="top_words",
        title="The words that matter most",
        heads=("dataset", "model", "method", "variant") if variants else ("dataset", "model", "method"),
        columns=tuple(columns),
        rows=[
            Row(
                tuple(setting) if variants else tuple(setting[:3]),
                tuple(Entry(text=found.get(name, "–")) for name in columns),
            )
            for setting, found in sorted(lists.items())
        ],
        notes=(
            f"The first {TOP} words of the lowest seed: by the importance that the model's mask gives to words, and by "
            "sums of the absolute scores that explanations of single texts give to them.",
        ),
    )


def _lists(results: GridResults, setting: Setting) -> dict[str, str]:
    """What ranks words -> the words, of the lowest seed that has them."""
    found: dict[str, str] = {}
    for (other, _), records in results.records.items():
        if other == setting:
            for _, record in sorted(records.items()):
                for name, rows in _ranked(record).items():
                    found.setdefault(name, ", ".join(str(row[0]) for row in rows[:TOP]))
    return found


def _ranked(record: Record) -> dict[str, Sequence[Sequence[Any]]]:
    """What ranks words -> words with a number each, highest first."""
    importance: Mapping[str, Any] = record.get("importance") or {}
    found = {OWN: importance["top"]} if importance.get("top") else {}
    for explainer, sums in record.get("splime", {}).items():
        if sums.get("absolute"):
            found[f"by {explainer}"] = sums["absolute"]
    return found
