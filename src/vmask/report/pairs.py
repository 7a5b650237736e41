"""Texts as two models see them: which are shown, and how each model explains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.explain import EXPLAINERS
from vmask.explain.api import as_predictor, explain_texts
from vmask.explain.contract import Explanation
from vmask.text.words import chunks

SHOWN = 20
"""Texts that are shown, at most."""
AT_ONCE = 2000
"""Texts that are predicted at a time."""


@dataclass(frozen=True)
class Seen:
    """A text as one model sees it.

    Attributes:
        label: the predicted class.
        probability: of it.
        explanations: method -> explanation of the predicted class.
    """

    label: str
    probability: float
    explanations: Mapping[str, Explanation]


@dataclass(frozen=True)
class Pair:
    """A text as two models see it.

    Attributes:
        text: the text.
        group: who is right about it, or whether they agree where the true class is not known.
        true: its class; empty where it is not known.
        a: as the first model sees it.
        b: as the second does.
    """

    text: str
    group: str
    true: str
    a: Seen
    b: Seen


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
    asked = [as_predictor(one) for one in (a, b)]
    found = [_probabilities(one, texts) for one in asked]
    true = None if labels is None else [str(label) for label in labels]
    numbers, groups = choose(found[0], found[1], [str(label) for label in asked[0].labels], true)
    chosen = [texts[number] for number in numbers]
    sides = [list(_seen(one, p[numbers], chosen, explainers, options)) for one, p in zip(asked, found, strict=True)]
    return [
        Pair(text, group, "" if true is None else true[number], first, second)
        for text, group, number, first, second in zip(chosen, groups, numbers, *sides, strict=True)
    ]


def choose(
    a: NDArray[np.float32], b: NDArray[np.float32], labels: Sequence[str], true: Sequence[str] | None, most: int = SHOWN
) -> tuple[list[int], list[str]]:
    """Numbers of the texts that are shown, and the group of each: as many of every group as there is room for.

    In a group those come first on which the probabilities (N, C) of the two lie furthest apart, ties by position.

    Args:
        a: of the first model.
        b: of the second.
        labels: the classes (C).
        true: the right ones (N), where they are known.
        most: texts, at most.
    """
    best_a, best_b = a.argmax(1), b.argmax(1)
    if true is None:
        members = {"they differ": best_a != best_b, "they agree": best_a == best_b}
    else:
        right = np.array([labels.index(one) if one in labels else -1 for one in true])
        right_a, right_b = best_a == right, best_b == right
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
    for number, row in enumerate(probabilities):
        best = int(row.argmax())
        explained = {method: some[number] for method, some in by_method.items()}
        yield Seen(str(predictor.labels[best]), float(row[best]), explained)


def _fitting(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without a way of hiding for a method that hides nothing."""
    return {name: value for name, value in options.items() if name != "hide" or EXPLAINERS.get(method).hides}
