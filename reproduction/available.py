"""Which datasets and models have results, in the order of the paper, and the numbers that figures draw."""

from __future__ import annotations

from collections.abc import Iterable

from reproduction.results import DATASETS, MODELS, TITLES, Results, ScoreKey
from vmask.report.figures.curves import Point
from vmask.report.grid.results import over_seeds

WORDS, LOCAL = "words", "local"
"""The stages whose results are drawn: of words, and of explanations of single texts."""
POST_HOC = "post_hoc_accuracy"


def datasets(results: Results, stage: str, masks: Iterable[str] = ("vmask",)) -> list[str]:
    """Datasets for which one of the training methods has results of a stage: those of the paper first, in its order."""
    masks = tuple(masks)
    found = {dataset for dataset, _, mask, name in results.records if name == stage and mask in masks}
    return [*(one for one in DATASETS if one in found), *sorted(found.difference(DATASETS))]


def models(results: Results, dataset: str, stage: str, masks: Iterable[str] = ("vmask",)) -> list[str]:
    """Models that have such results for a dataset, in the order of the paper."""
    masks = tuple(masks)
    found = {model for of, model, mask, name in results.records if (of, name) == (dataset, stage) and mask in masks}
    order = [results.model(model) for model in MODELS]
    return [*(one for one in order if one in found), *sorted(found.difference(order))]


def pairs(results: Results, stage: str, masks: Iterable[str] = ("vmask",)) -> list[tuple[str, str]]:
    """Dataset and model of all such results."""
    masks = tuple(masks)
    return [(one, model) for one in datasets(results, stage, masks) for model in models(results, one, stage, masks)]


def shown(name: str) -> str:
    """What a dataset, model or method is called in print."""
    return TITLES.get(name, name)


def curve(results: Results, dataset: str, model: str, mask: str, by: str) -> list[Point]:
    """Post-hoc accuracy of a training method over k = 1, 2, …, with words ranked `by` the mask, a floor or another."""
    points = []
    for k in range(1, 11):
        by_seed = results.scored(dataset, model, mask, WORDS, ScoreKey(POST_HOC, by=by, part=f"k={k}"))
        found = over_seeds(by_seed)
        if found is not None:
            points.append(Point(k, found.value, found.low, found.high, len(by_seed)))
    return points
