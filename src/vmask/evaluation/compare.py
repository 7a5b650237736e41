"""Compare two models on the same texts: differences with intervals and p-values, and what they say in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """One number of two models.

    Attributes:
        metric: name of the metric.
        part: which of its numbers.
        by: whose explanations or ranking of words.
        hide: how words were hidden.
        a: of the first model; of several trainings the mean.
        b: of the second.
        difference: b minus a, with interval and p-value; None where it is not tested.
        p_holm: the p-value corrected for the number of tests (Holm); NaN where there is none.
        better: whether `higher` or `lower` is better, or `neither`.
        compares: whether the metric's values of two models compare.
        verdict: what it says, in words.
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
        a: what was measured of the first.
        b: of the second.
        names: what they are called.
        rows: what was compared, in the order of metrics.
        notes: what the user should know.
    """

    a: Evaluation
    b: Evaluation
    names: tuple[str, str]
    rows: tuple[Compared, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Comparison({self.names[0]}, {self.names[1]}: {len(self.rows)} rows)"

    def __str__(self) -> str:
        """The comparison as a table, in words, and how it was made."""
        from vmask.evaluation.score_tables import comparison_text

        return comparison_text(self)

    def how(self) -> str:
        """How intervals and p-values were made, in words."""
        tested = [row.compares for row in self.rows if row.p_holm == row.p_holm]
        if len(self.a.found) > 1:
            made = f"Means of {len(self.a.found)} and {len(self.b.found)} trainings are compared (Welch's t)."
        else:
            made = (
                "The same texts are paired: intervals by bootstrap, p-values by permutation. There is one training of "
                "each: other seeds may say otherwise."
            )
        yes, no = tested.count(True), tested.count(False)
        both = f"{yes} test{'s' * (yes != 1)} of metrics that compare models and, apart, {no} of those that do not"
        counts = both if yes and no else f"{len(tested)} test{'s' * (len(tested) != 1)}"
        return f"{made} Intervals are of 95%, each for itself; p-values are corrected for {counts} (Holm)."

    def to_dict(self) -> dict[str, Any]:
        """All of it but the evaluations, as JSON values; a number that is none becomes null."""
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
    """Measure two models on the same texts, and compare.

    Args:
        a: a model, or a list of trainings of it with different seeds.
        b: the other; as many kinds of things as `a`.
        data: as for `evaluate`; read once, with the columns of `a`.
        args: as for `evaluate`.
        names: what they are called.
        all_parts: compare every part of every metric, not the headlines alone; each counts for the correction.
        options: as for `evaluate`.
    """
    of_first = a[0] if isinstance(a, (list, tuple)) and a else a
    texts = texts_of(data, options.pop("split", None), getattr(of_first, "about_", {}), options.get("labelled", True))
    first, second = (evaluate(one, texts, *args, **options) for one in (a, b))
    return compare_evaluations(first, second, names, all_parts)


def compare_evaluations(
    a: Evaluation, b: Evaluation, names: tuple[str, str] = ("A", "B"), all_parts: bool = False
) -> Comparison:
    """Compare what was measured of two models. Differences are b minus a.

    Of one model each, examples are paired: the interval is a paired bootstrap's, the p-value a permutation test's. Of
    several trainings each, the means of trainings are compared (Welch's t). p-values are corrected for the number of
    tests in this comparison (Holm), apart for metrics that compare models and for those that do not.

    Raises:
        ConfigError: where the two were not measured on the same texts, or one of them is one model and the other many.
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
    for compares in (True, False):  # what says nothing about models must not cost what does
        family = [at for at, key in enumerate(keys) if a.metric(key[0]).across_models == compares]
        adjusted[family] = holm([np.nan if (one := differences[at]) is None else one.p for at in family])
    rows = tuple(
        _row(a, b, key, difference, float(p), names)
        for key, difference, p in zip(keys, differences, adjusted, strict=True)
    )
    notes = dict.fromkeys([*a.notes, *b.notes])
    of_one = dict.fromkeys(key[:2] for key in (*a.measured(), *b.measured()) if key[1] not in FLOORS)
    for metric, by in of_one.keys() - {key[:2] for key in keys}:
        notes[f"{metric}{f' by {by}' if by else ''} is not compared: it was found of one of the two alone."] = None
    return Comparison(a, b, names, rows, tuple(notes))


def _common(a: Evaluation, b: Evaluation, all_parts: bool) -> Iterator[Key]:
    """What was found of both, yardsticks left out; by default the headlines alone."""
    shown = {(one.metric, one.by, one.hide, one.part) for one in a.scores if one.headline}
    there = set(b.measured())
    for key in a.measured():
        if key in there and key[1] not in FLOORS and (all_parts or key in shown):
            yield key


def _difference(a: Evaluation, b: Evaluation, key: Key) -> Difference | None:
    """How far b is above a; None where their examples are no pairs, as the words of two vocabularies."""
    metric, (first, second) = a.metric(key[0]), _values(a, b, key)
    if len(first) > 1:
        return seeds_difference([metric.statistic(one) for one in second], [metric.statistic(one) for one in first])
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
    values = [float(np.mean([metric.statistic(one) for one in side])) for side in _values(a, b, key)]
    better = "neither" if part in metric.properties else facts.better
    verdict = _verdict(difference, p, better, metric.across_models, names)
    return Compared(name, part, by, hide, values[0], values[1], difference, p, better, metric.across_models, verdict)


def _values(a: Evaluation, b: Evaluation, key: Key) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """The values of each model of both sides, of the examples that all of them have one of."""
    first, second = a.values(key), b.values(key)
    if a.found[0][key].over == "words":  # of two vocabularies
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
