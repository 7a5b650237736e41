"""The schema of result files, so that one that was changed by hand is named before a report fails on it.

Shapes are those of `vmask._core.json_schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmask._core.json_schema import NOTHING, NUMBER, Values, misfit
from vmask.errors import DataError

_OF = {"dataset": str, "model": str, "mask": str, "variant": str}
_FACTS = {
    **{"versions": Values(str), "machine": str, "commit": (str, NOTHING), "threads": int, "data": str},
    **{"numbers": Values(int), "code": str},  # `code`: in older files
}
_ROWS = [[(str, *NUMBER)]]
_IMPORTANCE = {
    **{"words": int, "top": _ROWS, "top_seen_5": _ROWS, "frequent": _ROWS},
    **{"drawn": [[NUMBER]], "mean": NUMBER, "by_lime": _ROWS},
}
_SPLIME = {"absolute": _ROWS, "by_class": Values(_ROWS), "mean": _ROWS}
_SCORE = {
    **dict.fromkeys(("metric", "by", "hide", "part"), str),
    **dict.fromkeys(("value", "low", "high"), (*NUMBER, NOTHING)),
    "n": int,
}
_EXAMPLE = {"text": str, "label": (str, *NUMBER), "predicted": (str, *NUMBER), "spans": [[int]]}
_MEASURED = {
    **{"hide": [str], "n": int, "fingerprint": (str, NOTHING), "explainers": Values(dict)},
    **{"data": (str, NOTHING), "split": (str, NOTHING), "texts": str, "ranking": (str, NOTHING)},
}
_TRAINED = {
    **{"test_accuracy": (*NUMBER, NOTHING), "dev_accuracy": NUMBER, "seconds_per_epoch": NUMBER},
    "options": {"train": {"epochs": int}},
    "dataset": {"name": str, "fingerprint": str, "notes": [str]},
    "vectors": {
        "files": Values(str),
        "coverage": ({"types": NUMBER, "tokens": NUMBER, "missing": [str]}, NOTHING),
        "of": ([str], NOTHING),
    },
    "parameters": {"all": int, "trained": int},
    "history": [{"epoch": int}],
    "visible": (Values((*NUMBER, NOTHING)), NOTHING),
    "test": ({"labels": [str], "predicted": [int]}, NOTHING),
}
_STAGE = {
    "measured": _MEASURED,
    "metrics": Values(dict),
    "scores": [_SCORE],
    "values": [{"metric": str, "values": (str, list)}],
    "splime": Values(_SPLIME),
    "examples": [_EXAMPLE],
    "importance": (_IMPORTANCE, NOTHING),
}
_CELL = {
    **{"cell": {**_OF, "seed": int}, "stage": str, "identity": str, "seconds": NUMBER, "facts": _FACTS},
    "asked": {"n": (int, NOTHING)},
}
_RANGE = {"low": NUMBER, "high": NUMBER, "log": bool, "step": (*NUMBER, NOTHING)}
_SEARCH = {
    **{"combination": _OF, "identity": str, "facts": _FACTS},
    "asked": {"seed": int, "trials": ([dict], int), "space": Values((_RANGE, list))},
    "trials": [
        {"options": dict, "dev_accuracy": NUMBER, "seconds": NUMBER, "pruned": bool, "reported": [NUMBER]},
    ],
}
_DATA = {
    **{"name": str, "fingerprint": str, "notes": [str], "classes": int, "labels": [str], "average_length": NUMBER},
    **{"rows": Values(int), "threshold": (int, NOTHING), "max_words": (int, NOTHING), "words_kept": (int, NOTHING)},
    **{"telling": [str], "test_labels": (str, NOTHING)},
}
_UNFINISHED = {"status": str, "facts": dict, "cell": dict, "dataset": dict, "measured": dict}


def check_record(record: Mapping[str, Any], path: Path) -> None:
    """Check that the values of a result file have the types that its readers expect.

    Raises:
        DataError: with the file and the place in it.
    """
    kind = path.parent.name
    shape: Any = _DATA
    if kind != "data":
        shape = _UNFINISHED
        if record.get("status") == "done" and kind == "search":
            shape = {**_SEARCH, "chosen": int}
        elif kind == "search" and (record.get("status") == "running" or "trials" in record):
            shape = _SEARCH
        elif record.get("status") == "done":
            shape = {**_CELL, **(_TRAINED if record.get("stage") == "train" else _STAGE)}
    if wrong := misfit(record, shape):
        raise DataError(f"{path} is damaged: {wrong}. Remove it, and the grid makes it anew.")
    chosen, trials = record.get("chosen"), record.get("trials", ())
    if kind == "search" and isinstance(chosen, int) and not 0 <= chosen < len(trials):
        raise DataError(f"{path} is damaged: it has no trial number {chosen}. Remove it, and the grid makes it anew.")
