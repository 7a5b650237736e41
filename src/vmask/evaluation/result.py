"""The result of an evaluation: one value per example for every metric, and scores with intervals."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import sweep, to_json, write_text
from vmask._core.json_schema import NOTHING, NUMBER, Values, misfit
from vmask._core.parsing import parse_json, read_json
from vmask.config import make
from vmask.errors import ConfigError, DataError, OutputExists, UnknownName
from vmask.evaluation.statistics import (
    Estimate,
    mean_interval,
    seeds_and_examples_interval,
    seeds_interval,
    statistic_interval,
)
from vmask.metrics import METRICS
from vmask.metrics.contract import Facts, Metric, Series

SCORES, VALUES = "scores.json", "values.jsonl"
"""Files of a saved evaluation."""
OWN_VALUES = f"values-{'[0-9a-f]' * 16}.jsonl"
"""Names of new values while `scores.json` still belongs to older ones."""
MOST_MODELS = 10_000
DIGITS = 7
"""Significant digits of stored values, those of single precision."""

Key = tuple[str, str, str, str]
"""Metric, by, hide, part."""


@dataclass(frozen=True)
class Score:
    """One score with its interval.

    Attributes:
        metric: name of the metric.
        part: which of its scores, e.g. `k=3`.
        by: explanation method, or source of the word ranking.
        hide: how words were hidden.
        value: the score; the mean over models if there are several.
        low: lower end of the 95% interval; NaN if there is none.
        high: upper end.
        wide_low: for several models, lower end of the interval over models and texts; else NaN.
        wide_high: upper end.
        n: number of examples with a value; number of models if there are several.
        how: method of the interval.
        better: whether `higher` or `lower` is better, or `neither`.
        headline: whether short tables show this part.
    """

    metric: str
    part: str
    by: str
    hide: str
    value: float
    low: float
    high: float
    wide_low: float
    wide_high: float
    n: int
    how: str
    better: str
    headline: bool


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The evaluation of a model, or of several trainings of it.

    Attributes:
        found: for each model the values of each metric, example by example.
        metrics: the options of every metric.
        ids: ids of all texts.
        sample: numbers of the explained texts.
        labels: the classes.
        confusion: for each model the confusion matrix (C, C), true classes as rows; empty without true labels,
            and where a text may have several.
        by_label: for each model the scores of every label, where a text may have several, see `label_scores`.
        words: for each explanation method the most important words over all texts (SP-LIME), `absolute` and by class.
        facts: data, models and options of the evaluation.
        notes: remarks for the user, such as metrics left out and why.
    """

    found: tuple[Mapping[Key, Series], ...]
    metrics: Mapping[str, Mapping[str, Any]]
    ids: Sequence[str]
    sample: Sequence[int]
    labels: Sequence[Any]
    confusion: Sequence[Sequence[Sequence[int]]]
    words: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    by_label: Sequence[Sequence[Mapping[str, Any]]] = ()

    def __repr__(self) -> str:
        models = f"{len(self.found)} models, " if len(self.found) > 1 else ""
        return f"Evaluation({models}{len(self.ids):,} texts, {len(self.sample):,} explained: {', '.join(self.metrics)})"

    def __str__(self) -> str:
        """The scores as tables."""
        from vmask.evaluation.score_tables import evaluation_text

        return evaluation_text(self)

    @classmethod
    def together(cls, evaluations: Sequence[Evaluation]) -> Evaluation:
        """Join evaluations of several trainings of a model.

        Raises:
            ConfigError: if they do not have the same texts and metrics.
        """
        if not evaluations:
            raise ConfigError("There is nothing to put together. Give at least one evaluation.")
        first = evaluations[0]
        for other in evaluations[1:]:
            if (reason := other.unlike(first)) or dict(other.metrics) != dict(first.metrics):
                raise ConfigError(f"These differ in their {reason or 'metrics'}. Evaluate them with the same options.")
        return dataclasses.replace(
            first,
            found=tuple(series for evaluation in evaluations for series in evaluation.found),
            confusion=[table for evaluation in evaluations for table in evaluation.confusion],
            by_label=[rows for evaluation in evaluations for rows in evaluation.by_label],
            facts={**first.facts, "models": sum(len(evaluation.found) for evaluation in evaluations)},
            notes=tuple(dict.fromkeys(note for evaluation in evaluations for note in evaluation.notes)),
        )

    def unlike(self, other: Evaluation) -> str:
        """The first difference in data or options to another evaluation; empty if the two are comparable."""
        for name in ("ids", "sample", "labels"):
            if list(getattr(self, name)) != list(getattr(other, name)):
                return "texts" if name != "labels" else "labels"
        for name in ("texts", "seed", "rank", "explain_hide"):
            if self.facts.get(name) != other.facts.get(name):
                return name
        for kind, mine, theirs in (
            ("metrics", self.metrics, other.metrics),
            ("explainers", self.facts.get("explainers", {}), other.facts.get("explainers", {})),
        ):
            for name in mine:
                if name in theirs and mine[name] != theirs[name]:
                    return f"options of {name} ({kind})"
        return ""

    @cached_property
    def scores(self) -> list[Score]:
        """All scores with their intervals, in the order of metrics."""
        return [self._score(key) for key in self.measured()]

    def measured(self) -> list[Key]:
        """Keys of what was measured, in the order of metrics.

        That is for all models, or once for the first model together with the others, such as their agreement.
        """
        rest = self.found[1:]
        keys = []
        for key in self.found[0]:
            models = sum(key in series for series in rest)
            if models in (0, len(rest)):
                keys.append(key)
        return keys

    def score(self, metric: str, by: str = "", hide: str = "", part: str | None = None) -> Score:
        """The first score that matches; by default the headline of a metric.

        Raises:
            UnknownName: if there is none; the message lists the scores.
        """
        for score in self.scores:
            right_part = score.headline if part is None else score.part == part
            if right_part and score.metric == metric and by in ("", score.by) and hide in ("", score.hide):
                return score
        name = ", ".join(filter(None, (metric, by, hide, part)))
        raise UnknownName("score", name, {", ".join(filter(None, key)) for key in self.measured()})

    def values(self, key: Key) -> list[NDArray[np.float64]]:
        """For each model that has them, the values (N,) or records (N, ...) of the examples.

        Raises:
            UnknownName: if there are none with this metric, by, hide and part.
        """
        if key not in self.found[0]:
            raise UnknownName("series", ", ".join(key), (", ".join(known) for known in self.measured()))
        return [series[key].values for series in self.found if key in series]

    def metric(self, name: str) -> Metric:
        """The metric with the options of this evaluation."""
        kind = METRICS.get(name)
        return kind(make(kind.Options, self.metrics.get(name, {})))

    def _score(self, key: Key) -> Score:
        name, by, hide, part = key
        metric, facts = self.metric(name), Facts.read(name)
        values = self.values(key)
        wide = (np.nan, np.nan)
        if len(values) > 1:
            estimate = seeds_interval([metric.statistic(x) for x in in_common(metric, values)])
            estimate = _without_false_certainty(estimate, "every training")
            if metric.averaged:
                both = seeds_and_examples_interval(np.stack(values))
                wide = (float(np.fmin(both.low, estimate.low)), float(np.fmax(both.high, estimate.high)))
        else:
            estimate = estimated(metric, values[0])
        headline = part == metric.shown or (name, by, hide, metric.shown) not in self.found[0]
        return Score(
            metric=name,
            part=part,
            by=by,
            hide=hide,
            value=estimate.value,
            low=max(estimate.low, facts.low),  # a t interval of few trainings may exceed the range; NaN stays
            high=min(estimate.high, facts.high),
            wide_low=max(wide[0], facts.low),
            wide_high=min(wide[1], facts.high),
            n=estimate.n,
            how=estimate.how,
            better="neither" if part in metric.properties else facts.better,
            headline=headline,
        )

    def to_dict(self) -> dict[str, Any]:
        """All but the values of examples, as JSON values; NaN becomes null."""
        return cast(
            "dict[str, Any]",
            without_nan(
                {
                    "facts": dict(self.facts),
                    "metrics": dict(self.metrics),
                    "scores": [dataclasses.asdict(score) for score in self.scores],
                    "labels": list(self.labels),
                    "confusion": self.confusion,
                    **({"by_label": self.by_label} if self.by_label else {}),
                    "words": dict(self.words),
                    "notes": list(self.notes),
                    "ids": list(self.ids),
                    "sample": list(self.sample),
                }
            ),
        )

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write `scores.json`, and `values.jsonl` with one line per series of values.

        Raises:
            OutputExists: if the folder has an evaluation already.
        """
        folder = Path(folder)
        if (folder / SCORES).exists() and not overwrite:
            raise OutputExists(f"{folder} has a {SCORES} already. Choose another folder, or add --overwrite.")
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps(
                {"model": number, **dict(zip(("metric", "by", "hide", "part"), key, strict=True))}
                | {"over": series.over, "values": without_nan(_rounded(series.values))}
            )
            for number, all_series in enumerate(self.found)
            for key, series in all_series.items()
        ]
        values = "".join(f"{line}\n" for line in lines)
        digest = hashlib.sha256(values.encode()).hexdigest()
        own = _own_values(folder, digest)
        # Old values stay until `scores.json` is replaced; from then on the new ones are valid.
        write_text(own if (folder / SCORES).exists() else folder / VALUES, values)
        write_text(folder / SCORES, to_json({**self.to_dict(), "sha256": {VALUES: digest}}))
        if own.exists():
            own.replace(folder / VALUES)
        for path in folder.glob(OWN_VALUES):  # left by an interrupted save
            path.unlink()
        sweep(folder)
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Evaluation:
        """Read what `save` wrote.

        Raises:
            DataError: if the folder has no evaluation, or a damaged one.
        """
        folder = Path(folder)
        try:
            saved = _fitting(read_json(folder / SCORES), _SAVED)
            models: list[dict[Key, Series]] = []
            own = _own_values(folder, str(saved.get("sha256", {}).get(VALUES)))
            path = own if own.exists() else folder / VALUES
            if not path.is_file():  # opening a pipe would block
                raise FileNotFoundError
            with path.open(encoding="utf-8") as lines:
                for row in map(_row, lines):
                    models += [{} for _ in range(row["model"] + 1 - len(models))]
                    key = (row["metric"], row["by"], row["hide"], row["part"])
                    values = np.array(_with_nan(row["values"]), np.float64)
                    models[row["model"]][key] = Series(values, key[3], key[1], key[2], row["over"])
            names = ("metrics", "ids", "sample", "labels", "confusion", "words", "facts")
            by_label = _with_nan(saved.get("by_label", []))
            named = {name: saved[name] for name in names}
            evaluation = cls(tuple(models), **named, by_label=by_label, notes=tuple(saved["notes"]))
            # Scores as saved: values are stored with fewer digits, so intervals computed from them would differ.
            evaluation.__dict__["scores"] = [_score_of(score) for score in saved["scores"]]
            return evaluation
        except FileNotFoundError:  # FileMissing is one
            raise DataError(
                f"{folder} holds no evaluation. Make one with: vmask evaluate MODEL DATA --out {folder}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError) as error:
            raise DataError(f"The evaluation in {folder} is damaged: {error}. Make it anew.") from None


def _own_values(folder: Path, digest: str) -> Path:
    """Path of new values until they can replace others."""
    return folder / Path(f"values-{digest[:16]}.jsonl").name


def _row(line: str) -> dict[str, Any]:
    """A line of the values, checked."""
    row = _fitting(parse_json(line, f"a line of {VALUES}"), _ROW)
    if not 0 <= row["model"] < MOST_MODELS:
        raise ValueError(f"a line of {VALUES} has no valid model number")
    return row


def _fitting(value: Any, shape: Any) -> dict[str, Any]:
    """The value, if it has the shape; else ValueError."""
    if wrong := misfit(value, shape):
        raise ValueError(wrong)
    return cast("dict[str, Any]", value)


_ROW = {
    **dict.fromkeys(("metric", "by", "hide", "part", "over"), str),
    **{"model": int, "values": [(*NUMBER, NOTHING, [(*NUMBER, NOTHING)])]},
}
_SCORE = {
    **dict.fromkeys(("metric", "family", "by", "hide", "part", "over", "how", "better"), str),
    **dict.fromkeys(("value", "low", "high", "wide_low", "wide_high"), (*NUMBER, NOTHING)),
    "n": int,
}
_LABEL = {
    **{"label": (str, bool, *NUMBER), "threshold": NUMBER, "support": int, "predicted": int},
    **dict.fromkeys(("precision", "recall", "f1"), (*NUMBER, NOTHING)),
}
_SAVED = {
    **{"metrics": Values(dict), "ids": [str], "sample": [int], "labels": [(str, bool, *NUMBER)], "facts": dict},
    **{
        "confusion": [[[int]]],
        "by_label": [[_LABEL]],
        "words": Values(Values((list, dict))),
        "notes": [str],
        "scores": [_SCORE],
    },
}


def in_common(metric: Metric, values: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The values of the examples that have a value for all models; all records, because every example has one."""
    if not metric.averaged:
        return list(values)
    shared = np.isfinite(np.stack(values)).all(0)
    return [x[shared] for x in values]


def _score_of(saved: Mapping[str, Any]) -> Score:
    numbers = ("value", "low", "high", "wide_low", "wide_high")
    return Score(**{**saved, **{name: float("nan") for name in numbers if saved[name] is None}})


def estimated(metric: Metric, values: NDArray[np.float64]) -> Estimate:
    """The score of a metric with its interval over examples."""
    if metric.averaged:
        return mean_interval(values)
    records = values[np.isfinite(values.reshape(len(values), -1)).all(1)]
    return _without_false_certainty(statistic_interval(records, metric.statistic), "every resample")


def _without_false_certainty(estimate: Estimate, what: str) -> Estimate:
    """Drop an interval of zero width, such as for the F1 of a model without mistakes: it does not mean certainty."""
    if estimate.low == estimate.high:
        return dataclasses.replace(estimate, low=np.nan, high=np.nan, how=f"no interval: {what} gives the same")
    return estimate


def _rounded(values: NDArray[np.float64]) -> Any:
    """Nested lists of the values, rounded to `DIGITS`."""
    if values.ndim > 1:
        return [_rounded(row) for row in values]
    return [float(f"{value:.{DIGITS}g}") for value in values]


def without_nan(value: Any) -> Any:
    """JSON values with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [without_nan(item) for item in value]
    return value


def _with_nan(value: Any) -> Any:
    """Numbers or nested lists of them, with NaN for None."""
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_nan(item) for key, item in value.items()}
    return float("nan") if value is None else value
