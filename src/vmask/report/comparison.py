"""Two models on a self-contained HTML page: differences with intervals, their words, the same texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask.data.label_sets import label_text
from vmask.evaluation.score_tables import ARROWS, called, comparison_words
from vmask.explain import EXPLAINERS
from vmask.explain.api import as_predictor, explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.decisions import leading, predicted_labels, thresholds_of
from vmask.report import templating
from vmask.report.formatting import has_interval
from vmask.report.svg import Scale
from vmask.text.words import chunks

if TYPE_CHECKING:
    from vmask.evaluation.compare import Comparison
    from vmask.inference.word_importance import WordImportance

SHOWN = 20
"""Texts that are shown, at most."""
AT_ONCE = 2000
"""Texts that are predicted at a time."""


@dataclass(frozen=True)
class Side:
    """One of the two models: its name, such as its folder, and its most important words; None if it ranks none."""

    name: str
    words: Sequence[WordImportance] | None


@dataclass(frozen=True)
class Seen:
    """A text as one model sees it: the predicted class, and explanations of it by method."""

    label: str
    probability: float
    explanations: Mapping[str, Explanation]


@dataclass(frozen=True)
class Pair:
    """A text as two models see it.

    Attributes:
        group: who is right about it, or whether they agree where the true class is not known.
        true: its class; empty where it is not known.
    """

    text: str
    group: str
    true: str
    a: Seen
    b: Seen


def render_comparison(
    title: str, comparison: Comparison, sides: tuple[Side, Side], pairs: Sequence[Pair], how: Mapping[str, str]
) -> str:
    """The page as one HTML document without anything from outside, not even a script; `how` says how it was made."""
    a, b = sides
    return templating.render(
        "comparison.html",
        title=title,
        lead=f"A is {a.name}, B is {b.name}. Differences are B minus A.",
        verdicts=comparison_words(comparison),
        rows=[(called(row) + ARROWS[row.better], row) for row in comparison.rows],
        scale=_scale(comparison),
        how_tested=comparison.how(),
        sides=sides,
        shared={word.word for word in a.words or ()} & {word.word for word in b.words or ()},
        signed=_signed(pairs),
        pairs=[
            (group[0].upper() + group[1:], list(members))
            for group, members in groupby(pairs, key=lambda pair: pair.group)
        ],
        how=how,
    )


def _scale(comparison: Comparison) -> Scale:
    """A scale on which every interval has room, with 0 in its middle."""
    differences = [row.difference for row in comparison.rows if row.difference is not None]
    ends = [abs(end) for row in differences if has_interval(row) for end in (row.value, row.low, row.high)]
    reach = max(ends, default=0.0) or 1.0
    return Scale(-reach, reach, 8, 172)


def _signed(pairs: Sequence[Pair]) -> dict[str, bool]:
    """Method -> whether its scores have a sign, for all methods that explain a text."""
    seen = [side for pair in pairs for side in (pair.a, pair.b)]
    return {method: explanation.signed for side in seen for method, explanation in side.explanations.items()}


def pairs_of(
    a: Any, b: Any, texts: Sequence[str], labels: Sequence[Any] | None, explainers: Mapping[str, Any], **options: Any
) -> list[Pair]:
    """The texts that tell two models apart, explained by both.

    Args:
        a: a model, as for `explain_texts`.
        b: another.
        texts: of these some are shown.
        labels: their true classes, where they are known.
        explainers: method -> its options; one that a model does not have is left out on its side.
        options: of `explain_texts`, such as `hide`.
    """
    predictors = [as_predictor(model) for model in (a, b)]
    probabilities = [_probabilities(predictor, texts) for predictor in predictors]
    classes = [str(label) for label in predictors[0].labels]
    true = None if labels is None else [_name(label, classes) for label in labels]
    names = [_predicted(predictor, rows) for predictor, rows in zip(predictors, probabilities, strict=True)]
    numbers, groups = choose(probabilities[0], probabilities[1], names[0], names[1], true)
    chosen = [texts[number] for number in numbers]
    sides = [
        list(_seen(predictor, rows[numbers], chosen, explainers, options))
        for predictor, rows in zip(predictors, probabilities, strict=True)
    ]
    return [
        Pair(text, group, "" if true is None else true[number], first, second)
        for text, group, number, first, second in zip(chosen, groups, numbers, *sides, strict=True)
    ]


def choose(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    named_a: Sequence[str],
    named_b: Sequence[str],
    true: Sequence[str] | None,
    most: int = SHOWN,
) -> tuple[list[int], list[str]]:
    """Numbers of the texts that are shown, and the group of each: as many of every group as there is room for.

    In a group those come first on which the probabilities (N, C) of the two lie furthest apart, ties by position.

    Args:
        a: of the first model.
        b: of the second.
        named_a: (N) what the first predicts.
        named_b: what the second predicts.
        true: what is right (N), where it is known.
        most: texts, at most.
    """
    best_a, best_b = np.array(named_a, object), np.array(named_b, object)
    if true is None:
        members = {"they differ": best_a != best_b, "they agree": best_a == best_b}
    else:
        right_a, right_b = best_a == np.array(true, object), best_b == np.array(true, object)
        members = {
            "only A is right": right_a & ~right_b,
            "only B is right": right_b & ~right_a,
            "both are wrong": ~right_a & ~right_b,
            "both are right": right_a & right_b,
        }
    apart = np.abs(a - b).max(1, initial=0.0)
    ranked = {
        name: sorted(np.flatnonzero(there).tolist(), key=lambda i: (-apart[i], i)) for name, there in members.items()
    }
    taken = dict.fromkeys(ranked, 0)
    while sum(taken.values()) < most and any(taken[name] < len(ranked[name]) for name in ranked):
        for name in ranked:  # one of each in turn, so that a small group leaves its room to the others
            if taken[name] < len(ranked[name]) and sum(taken.values()) < most:
                taken[name] += 1
    chosen = [(number, name) for name in ranked for number in ranked[name][: taken[name]]]
    return [number for number, _ in chosen], [name for _, name in chosen]


def _probabilities(predictor: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities of all texts."""
    parts = [predictor.predict_docs(predictor.prepare(some)) for some in chunks(texts, AT_ONCE)]
    return np.concatenate(parts) if parts else np.zeros((0, len(predictor.labels)), np.float32)


def _seen(
    predictor: Any,
    probabilities: NDArray[np.float32],
    texts: Sequence[str],
    explainers: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Iterator[Seen]:
    by_method = {
        method: list(explain_texts(predictor, texts, method, **_fitting(method, options), **own))
        for method, own in explainers.items()
        if EXPLAINERS.get(method).applies_to(predictor)
    }
    leads, names = leading(probabilities, thresholds_of(predictor)), _predicted(predictor, probabilities)
    for number, row in enumerate(probabilities):
        explained = {method: some[number] for method, some in by_method.items()}
        yield Seen(names[number], float(row[leads[number]]), explained)


def _predicted(predictor: Any, probabilities: NDArray[np.float32]) -> list[str]:
    """The name of what is predicted for each text, from probabilities (N, C)."""
    thresholds, labels = thresholds_of(predictor), [str(label) for label in predictor.labels]
    if thresholds is None:
        return [labels[number] for number in leading(probabilities)]
    return [label_text(predicted_labels(row, labels, thresholds)) for row in probabilities]


def _name(label: Any, classes: Sequence[str]) -> str:
    """The name of a label, or of several in the order of the classes."""
    if not isinstance(label, tuple):
        return str(label)
    names = set(map(str, label))
    return label_text((*(name for name in classes if name in names), *sorted(names.difference(classes))))


def _fitting(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without a way of hiding for a method that hides nothing."""
    return {name: value for name, value in options.items() if name != "hide" or EXPLAINERS.get(method).hides}
