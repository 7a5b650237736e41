"""Compare two models on the same texts: differences with intervals, p-values and verdicts in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.wording import plural
from vmask.errors import ConfigError
from vmask.evaluation.measure import evaluate
from vmask.evaluation.result import Evaluation, Key, in_common, without_nan
from vmask.evaluation.statistics import (
    CONFIDENCE,
    Difference,
    holm,
    paired_difference,
    paired_statistic_difference,
    seeds_difference,
)
from vmask.evaluation.subjects import texts_of
from vmask.metrics.contract import FLOORS, Facts

NOTHING = "no difference that this sample can show"


@dataclass(frozen=True)
class Compared:
    """One score of two models.

    Attributes:
        metric: name of the metric.
        part: which of its scores.
        by: explanation method, or source of the word ranking.
        hide: how words were hidden.
        a: score of the first model; the mean over trainings if there are several.
        b: score of the second model.
        difference: b minus a, with interval and p-value; None if it is not tested.
        p_holm: the p-value corrected for the number of tests (Holm); NaN if there is none.
        better: whether `higher` or `lower` is better, or `neither`.
        compares: whether values of this metric are comparable between models.
        verdict: the conclusion in words.
    """

    metric: str
    part: str
    by: str
    hide: str
    a: float
    b: float
    difference: Difference | None
    p_holm: float
    better: str
    compares: bool
    verdict: str


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two models on the same texts.

    Attributes:
        a: evaluation of the first model.
        b: evaluation of the second model.
        names: names of the two.
        rows: the compared scores, in the order of metrics.
        notes: remarks for the user.
    """

    a: Evaluation
    b: Evaluation
    names: tuple[str, str]
    rows: tuple[Compared, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Comparison({self.names[0]}, {self.names[1]}: {len(self.rows)} rows)"

    def __str__(self) -> str:
        """The comparison as a table, verdicts, and the methods behind them."""
        from vmask.evaluation.score_tables import comparison_text

        return comparison_text(self)

    def how(self) -> str:
        """The methods of intervals and p-values, in words."""
        if len(self.a.found) > 1:
            method = f"Means of {len(self.a.found)} and {len(self.b.found)} trainings are compared (Welch's t)."
        else:
            method = (
                "The same texts are paired: intervals by bootstrap, p-values by permutation. There is one training of "
                "each: other seeds may say otherwise."
            )
        tested = [row.compares for row in self.rows if not isnan(row.p_holm)]
        comparable, others = tested.count(True), tested.count(False)
        tests = plural(len(tested), "test")
        if comparable and others:
            tests = plural(comparable, "test")
            tests += f" of metrics that compare models and, apart, {others} of those that do not"
        return f"{method} Intervals are of 95%, each for itself; p-values are corrected for {tests} (Holm)."

    def to_dict(self) -> dict[str, Any]:
        """All but the evaluations, as JSON values; NaN becomes null."""
        value: dict[str, Any] = without_nan(
            {
                "a": self.names[0],
                "b": self.names[1],
                "facts": dict(self.a.facts),
                "models": [len(self.a.found), len(self.b.found)],
                "rows": [dataclasses.asdict(row) for row in self.rows],
                "how": self.how(),
                "notes": list(self.notes),
            }
        )
        return value


def compare(
    a: Any, b: Any, data: Any, *args: Any, names: tuple[str, str] = ("A", "B"), all_parts: bool = False, **options: Any
) -> Comparison:
    """Evaluate two models on the same texts and compare them.

    Args:
        a: a model, or a list of trainings of it with different seeds.
        b: the other model; a list if `a` is one.
        data: as in `evaluate`; read once, with the columns of `a`.
        args: as in `evaluate`.
        names: names of the two models.
        all_parts: compare every part of every metric, not only the headlines; each counts as a test.
        options: as in `evaluate`.
    """
    model = a[0] if isinstance(a, (list, tuple)) and a else a
    texts = texts_of(data, options.pop("split", None), getattr(model, "about_", {}), options.get("labelled", True))
    first = evaluate(a, texts, *args, **options)
    second = evaluate(b, texts, *args, **options)
    return compare_evaluations(first, second, names, all_parts)


def compare_evaluations(
    a: Evaluation, b: Evaluation, names: tuple[str, str] = ("A", "B"), all_parts: bool = False
) -> Comparison:
    """Compare the evaluations of two models. Differences are b minus a.

    With one training of each, examples are paired: the interval is a paired bootstrap, the p-value a permutation test.
    With several trainings of each, their means are compared (Welch's t). p-values are corrected for the number of tests
    in this comparison (Holm), separately for metrics that are comparable between models and for those that are not.

    Raises:
        ConfigError: if the two were not evaluated on the same texts, or only one of them has several trainings.
    """
    if reason := a.unlike(b):
        raise ConfigError(
            f"The two differ in their {reason}. Evaluate both on the same data, with the same n, seed and options."
        )
    if (len(a.found) == 1) != (len(b.found) == 1):
        raise ConfigError(
            f"There are {len(a.found)} trainings of {names[0]} and {len(b.found)} of {names[1]}. Give one of each, or "
            "at least two of each."
        )
    keys = list(_common(a, b, all_parts))
    differences = [_difference(a, b, key) for key in keys]
    adjusted = np.full(len(keys), np.nan)
    p_values = np.array([np.nan if difference is None else difference.p for difference in differences], np.float64)
    for compares in (True, False):  # metrics that do not compare models must not weaken the tests of those that do
        family = [i for i, key in enumerate(keys) if a.metric(key[0]).across_models == compares]
        adjusted[family] = holm(p_values[family].tolist())
    rows = tuple(
        _row(a, b, key, difference, float(p), names)
        for key, difference, p in zip(keys, differences, adjusted, strict=True)
    )
    notes = dict.fromkeys([*a.notes, *b.notes])
    measured = {key[:2] for key in (*a.measured(), *b.measured()) if key[1] not in FLOORS}
    for metric, by in measured - {key[:2] for key in keys}:
        name = f"{metric} by {by}" if by else metric
        notes[f"{name} is not compared: it was measured for only one of the two."] = None
    return Comparison(a, b, names, rows, tuple(notes))


def _common(a: Evaluation, b: Evaluation, all_parts: bool) -> Iterator[Key]:
    """Keys measured for both models, without baselines; by default only the headlines."""
    headlines = {(score.metric, score.by, score.hide, score.part) for score in a.scores if score.headline}
    keys_of_b = set(b.measured())
    for key in a.measured():
        if key in keys_of_b and key[1] not in FLOORS and (all_parts or key in headlines):
            yield key


def _difference(a: Evaluation, b: Evaluation, key: Key) -> Difference | None:
    """B minus a; None if their examples are not paired, such as the words of two vocabularies."""
    metric, (first, second) = a.metric(key[0]), _values(a, b, key)
    if len(first) > 1:
        return seeds_difference([metric.statistic(x) for x in second], [metric.statistic(x) for x in first])
    if a.found[0][key].over == "words":
        return None
    if metric.averaged:
        return paired_difference(second[0], first[0])
    return paired_statistic_difference(second[0], first[0], metric.statistic)


def _row(
    a: Evaluation, b: Evaluation, key: Key, difference: Difference | None, p: float, names: tuple[str, str]
) -> Compared:
    name, by, hide, part = key
    metric, facts = a.metric(name), Facts.read(name)
    values = [float(np.mean([metric.statistic(x) for x in side])) for side in _values(a, b, key)]
    better = "neither" if part in metric.properties else facts.better
    verdict = _verdict(difference, p, better, metric.across_models, names)
    return Compared(name, part, by, hide, values[0], values[1], difference, p, better, metric.across_models, verdict)


def _values(a: Evaluation, b: Evaluation, key: Key) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """The values of each model of both sides, for the examples that all of them have a value for."""
    first, second = a.values(key), b.values(key)
    if a.found[0][key].over == "words":  # two vocabularies need not share words
        return first, second
    shared = in_common(a.metric(key[0]), [*first, *second])
    return shared[: len(first)], shared[len(first) :]


def _verdict(difference: Difference | None, p: float, better: str, compares: bool, names: tuple[str, str]) -> str:
    if difference is None:
        return "not tested: the examples are words, not texts"
    if not p <= 1 - CONFIDENCE:
        return NOTHING
    higher, lower = (names[1], names[0]) if difference.value > 0 else (names[0], names[1])
    if not compares:
        return f"higher for {higher}, which does not compare models (see naopc)"
    if better == "neither":
        return f"higher for {higher}"
    return f"{higher if better == 'higher' else lower} is better"
