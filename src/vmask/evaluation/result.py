"""What an evaluation found: a value an example of every metric, and scores with intervals made of them."""

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
"""Names under which values wait beside older ones until `scores.json` names them."""
MOST_MODELS = 10_000
DIGITS = 7
"""Digits of stored values: as many as single precision has."""

Key = tuple[str, str, str, str]
"""Metric, by, hide, part."""


@dataclass(frozen=True)
class Score:
    """One number with its interval.

    Attributes:
        metric: name of the metric.
        part: which of its numbers, e.g. `k=3`.
        by: whose explanations or ranking of words.
        hide: how words were hidden.
        value: the number; of several models the mean over them.
        low: lower end of the 95% interval; NaN where there is none.
        high: upper end.
        wide_low: of several models, lower end of the interval that takes the texts for a sample too; else NaN.
        wide_high: upper end.
        n: examples that have a value, or models where there are several.
        how: what the interval is made of.
        better: whether `higher` or `lower` is better, or `neither`.
        headline: whether it is the part that short tables show.
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
    """What was measured of a model, or of several trainings of it.

    Attributes:
        found: for each model what each metric found, example by example.
        metrics: the options of every metric that was asked for.
        ids: ids of all texts.
        sample: numbers of the texts that were explained.
        labels: the classes.
        confusion: for each model (C, C) number of texts by true class (rows) and predicted class; empty where the true
            ones are not known.
        words: for each explanation method the words that matter most over all texts (SP-LIME), `absolute` and by class.
        facts: what was evaluated on what, with all options.
        notes: what the user should know: metrics left out, and why.
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

    def __repr__(self) -> str:
        models = f"{len(self.found)} models, " if len(self.found) > 1 else ""
        return f"Evaluation({models}{len(self.ids):,} texts, {len(self.sample):,} explained: {', '.join(self.metrics)})"

    def __str__(self) -> str:
        """The scores as tables."""
        from vmask.evaluation.score_tables import evaluation_text

        return evaluation_text(self)

    @classmethod
    def together(cls, evaluations: Sequence[Evaluation]) -> Evaluation:
        """Several trainings of a model that were evaluated one by one, as one evaluation.

        Raises:
            ConfigError: where they were not measured on the same texts by the same metrics.
        """
        if not evaluations:
            raise ConfigError("There is nothing to put together. Give at least one evaluation.")
        first = evaluations[0]
        for other in evaluations[1:]:
            if (reason := other.unlike(first)) or dict(other.metrics) != dict(first.metrics):
                raise ConfigError(f"These differ in their {reason or 'metrics'}. Evaluate them alike.")
        return dataclasses.replace(
            first,
            found=tuple(found for one in evaluations for found in one.found),
            confusion=[table for one in evaluations for table in one.confusion],
            facts={**first.facts, "models": sum(len(one.found) for one in evaluations)},
            notes=tuple(dict.fromkeys(note for one in evaluations for note in one.notes)),
        )

    def unlike(self, other: Evaluation) -> str:
        """In what another evaluation was not measured as this one; empty where the two can be set side by side."""
        for name in ("ids", "sample", "labels"):
            if list(getattr(self, name)) != list(getattr(other, name)):
                return "texts" if name != "labels" else "labels"
        for name in ("texts", "seed", "rank", "explain_hide"):
            if self.facts.get(name) != other.facts.get(name):
                return name
        for name, mine, yours in (
            ("metrics", self.metrics, other.metrics),
            ("explainers", self.facts.get("explainers", {}), other.facts.get("explainers", {})),
        ):
            if different := [one for one in mine if one in yours and mine[one] != yours[one]]:
                return f"options of {different[0]} ({name})"
        return ""

    @cached_property
    def scores(self) -> list[Score]:
        """All numbers with their intervals, in the order of metrics."""
        return [self._score(key) for key in self.measured()]

    def measured(self) -> list[Key]:
        """What was found, in the order of metrics: of all models, or of the first with the others, as agreement is."""
        rest = self.found[1:]
        return [key for key in self.found[0] if all(key in one for one in rest) or not any(key in one for one in rest)]

    def score(self, metric: str, by: str = "", hide: str = "", part: str | None = None) -> Score:
        """One of the scores; by default the headline of a metric, the first of those that fit.

        Raises:
            UnknownName: where there is none, with those that there are.
        """
        for one in self.scores:
            wanted = one.headline if part is None else one.part == part
            if wanted and one.metric == metric and by in ("", one.by) and hide in ("", one.hide):
                return one
        asked = ", ".join(filter(None, (metric, by, hide, part)))
        raise UnknownName("score", asked, {", ".join(filter(None, key)) for key in self.measured()})

    def values(self, key: Key) -> list[NDArray[np.float64]]:
        """For each model that has them the values (N,) or records (N, ...) of the examples.

        Raises:
            UnknownName: where there are none of this metric, by, hide and part.
        """
        if key not in self.found[0]:
            raise UnknownName("series", ", ".join(key), (", ".join(one) for one in self.measured()))
        return [one[key].values for one in self.found if key in one]

    def metric(self, name: str) -> Metric:
        """The metric as it was asked for."""
        kind = METRICS.get(name)
        return kind(make(kind.Options, self.metrics.get(name, {})))

    def _score(self, key: Key) -> Score:
        name, by, hide, part = key
        metric, facts = self.metric(name), Facts.read(name)
        values = self.values(key)
        wide = (np.nan, np.nan)
        if len(values) > 1:
            estimate = seeds_interval([metric.statistic(one) for one in in_common(metric, values)])
            estimate = _without_false_certainty(estimate, "every training")
            if metric.averaged:
                both = seeds_and_examples_interval(np.stack(values))
                wide = (float(np.fmin(both.low, estimate.low)), float(np.fmax(both.high, estimate.high)))
        else:
            estimate = estimated(metric, values[0])
        shown = part == metric.shown or not any(k[:3] == key[:3] and k[3] == metric.shown for k in self.found[0])
        return Score(
            metric=name,
            part=part,
            by=by,
            hide=hide,
            value=estimate.value,
            low=max(estimate.low, facts.low),  # a t interval of few trainings may leave what is possible; NaN stays
            high=min(estimate.high, facts.high),
            wide_low=max(wide[0], facts.low),
            wide_high=min(wide[1], facts.high),
            n=estimate.n,
            how=estimate.how,
            better="neither" if part in metric.properties else facts.better,
            headline=shown,
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it but the values of examples, as JSON values; a number that is none becomes null."""
        return cast(
            "dict[str, Any]",
            without_nan(
                {
                    "facts": dict(self.facts),
                    "metrics": dict(self.metrics),
                    "scores": [dataclasses.asdict(score) for score in self.scores],
                    "labels": list(self.labels),
                    "confusion": self.confusion,
                    "words": dict(self.words),
                    "notes": list(self.notes),
                    "ids": list(self.ids),
                    "sample": list(self.sample),
                }
            ),
        )

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write `scores.json`, and `values.jsonl` with a line a series of values.

        Raises:
            OutputExists: where there is an evaluation already.
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
            for number, one in enumerate(self.found)
            for key, series in one.items()
        ]
        values = "".join(f"{line}\n" for line in lines)
        digest = hashlib.sha256(values.encode()).hexdigest()
        own = _own_values(folder, digest)
        write_text(
            own if (folder / SCORES).exists() else folder / VALUES, values
        )  # old ones stay as long as they count
        write_text(folder / SCORES, to_json({**self.to_dict(), "sha256": {VALUES: digest}}))  # from here on these count
        if own.exists():
            own.replace(folder / VALUES)
        for path in folder.glob(OWN_VALUES):  # of one that was cut off
            path.unlink()
        sweep(folder)
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Evaluation:
        """Read what `save` wrote.

        Raises:
            DataError: where the folder holds no evaluation, or a damaged one.
        """
        folder = Path(folder)
        try:
            saved = _fitting(read_json(folder / SCORES), _SAVED)
            found: list[dict[Key, Series]] = []
            own = _own_values(folder, str(saved.get("sha256", {}).get(VALUES)))
            kept = own if own.exists() else folder / VALUES
            if not kept.is_file():  # a pipe would be waited for
                raise FileNotFoundError
            with kept.open(encoding="utf-8") as lines:
                for row in map(_row, lines):
                    found += [{} for _ in range(row["model"] + 1 - len(found))]
                    key = (row["metric"], row["by"], row["hide"], row["part"])
                    values = np.array(_with_nan(row["values"]), np.float64)
                    found[row["model"]][key] = Series(values, key[3], key[1], key[2], row["over"])
            parts = {name: saved[name] for name in ("metrics", "ids", "sample", "labels", "confusion")}
            rest = {name: saved[name] for name in ("words", "facts")}
            read = cls(tuple(found), **parts, **rest, notes=tuple(saved["notes"]))
            # As they were: values are stored with fewer digits, and resampled means would differ by them.
            read.__dict__["scores"] = [_score_of(one) for one in saved["scores"]]
            return read
        except FileNotFoundError:  # FileMissing is one
            raise DataError(
                f"{folder} holds no evaluation. Make one with: vmask evaluate MODEL DATA --out {folder}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError) as error:
            raise DataError(f"The evaluation in {folder} is damaged: {error}. Make it anew.") from None


def _own_values(folder: Path, digest: str) -> Path:
    """Where values wait until they can take the place of others."""
    return folder / Path(f"values-{digest[:16]}.jsonl").name


def _row(line: str) -> dict[str, Any]:
    """A line of the values."""
    row = _fitting(parse_json(line, f"a line of {VALUES}"), _ROW)
    if not 0 <= row["model"] < MOST_MODELS:
        raise ValueError(f"a line of {VALUES} is of no model")
    return row


def _fitting(value: Any, shape: Any) -> dict[str, Any]:
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
_SAVED = {
    **{"metrics": Values(dict), "ids": [str], "sample": [int], "labels": [(str, bool, *NUMBER)], "facts": dict},
    **{"confusion": [[[int]]], "words": Values(Values((list, dict))), "notes": [str], "scores": [_SCORE]},
}


def in_common(metric: Metric, values: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The values of the examples that all models have one of; of records all, for every example has one."""
    if not metric.averaged:
        return list(values)
    there = np.isfinite(np.stack(values)).all(0)
    return [one[there] for one in values]


def _score_of(saved: Mapping[str, Any]) -> Score:
    numbers = ("value", "low", "high", "wide_low", "wide_high")
    return Score(**{**saved, **{name: float("nan") for name in numbers if saved[name] is None}})


def estimated(metric: Metric, values: NDArray[np.float64]) -> Estimate:
    """The number of a metric with its interval over examples."""
    if metric.averaged:
        return mean_interval(values)
    return _without_false_certainty(statistic_interval(values, metric.statistic), "every resample")


def _without_false_certainty(estimate: Estimate, what: str) -> Estimate:
    """Without an interval where nothing varied, as the F1 of a model without a mistake: that is no certainty."""
    if estimate.low == estimate.high:
        return dataclasses.replace(estimate, low=np.nan, high=np.nan, how=f"no interval: {what} gives the same")
    return estimate


def _rounded(values: NDArray[np.float64]) -> Any:
    """As nested lists, with as many digits as single precision has."""
    return [float(f"{one:.{DIGITS}g}") for one in values] if values.ndim == 1 else [_rounded(row) for row in values]


def without_nan(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [without_nan(one) for one in value]
    return value


def _with_nan(value: Any) -> Any:
    return [_with_nan(one) for one in value] if isinstance(value, list) else float("nan") if value is None else value
