"""Measure the explanations of a few texts: the part of an evaluation that several processes can share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.data.rationales import Spans
from vmask.evaluation.result import Key
from vmask.explain import EXPLAINERS
from vmask.explain.api import number_of
from vmask.explain.contract import Explanation
from vmask.explain.shards import ExplainWork
from vmask.inference.work import Shard
from vmask.metrics._case import Case, Questions
from vmask.metrics.contract import ExplanationMetric

Values = list[tuple[Key, NDArray[np.float64]]]
"""For every metric, method, way of hiding and part: one value or record per text."""


@dataclass(frozen=True)
class ExplainedShard(Shard):
    """Some texts with what is known about them.

    Attributes:
        explanations: one per text, by method.
        rationales: for each text the spans that people marked; None without rationales.
        labels: (N,) number of the true class of each text; with several labels a text (N, C) whether it has each; None
            without labels.
    """

    explanations: Mapping[str, Sequence[Explanation]]
    rationales: Sequence[Spans] | None
    labels: NDArray[Any] | None


@dataclass(frozen=True)
class MeasureWork:
    """Measure the explanations of shards.

    Attributes:
        metrics: the metrics, by name.
        methods: how texts are explained by each method, for metrics that explain them again.
        hides: ways of hiding words.
        rank: whether words are ranked by `signed` or by `absolute` scores.
        seed: random seed.
        model: number of the model.
        others: numbers of the same model trained with other seeds.
    """

    metrics: Mapping[str, ExplanationMetric]
    methods: Mapping[str, ExplainWork]
    hides: tuple[str, ...]
    rank: str
    seed: int
    model: int = 0
    others: tuple[int, ...] = ()

    def begin(self, models: Sequence[Any]) -> Callable[[ExplainedShard], Values]:
        """Measure by the models of this process."""
        predictor, others = models[self.model], [models[number] for number in self.others]
        return Measuring(self, predictor, others, cache(lambda: predictor.randomized(self.seed)))


@dataclass(frozen=True)
class Measuring:
    """Measures the explanations of shards by the models of this process.

    Attributes:
        work: what to measure.
        predictor: the model.
        others: the same model trained with other seeds.
        randomized: gives the model with ever more of its weights drawn anew, by depth.
    """

    work: MeasureWork
    predictor: Any
    others: Sequence[Any]
    randomized: Callable[[], Mapping[str, Any]]

    def __call__(self, shard: ExplainedShard) -> Values:
        """Values of a batch of texts for every metric, way of hiding, method and part."""
        docs = self.predictor.prepare(shard.texts)
        questions = {hide: Questions(self.predictor, docs, hide) for hide in ("", *self.work.hides)}
        found: Values = []
        for name, explained in shard.explanations.items():
            case = self._case(name, shard, explained, questions[""])
            cases = {hide: replace(case, questions=questions[hide]) for hide in questions}
            for metric_name, metric in self.work.metrics.items():
                for hide in self.work.hides if metric.hides else ("",):
                    for part, values in metric.measure(cases[hide]).items():
                        found.append(((metric_name, name, hide, part), np.asarray(values, np.float64)))
        return found

    def _case(self, name: str, shard: ExplainedShard, explained: Sequence[Explanation], questions: Questions) -> Case:
        """The input of the metrics for one method."""
        again = partial(self._again, name, shard.texts, explained)
        # With another seed of the method, or random scores would be the same for every training.
        others = [partial(again, other, self.work.seed + number) for number, other in enumerate(self.others, 1)]
        return Case(
            questions=questions,
            explanations=explained,
            targets=[number_of(explanation.target, self.predictor.labels) for explanation in explained],
            rank=self.work.rank,
            rationales=shard.rationales,
            again=partial(again, self.predictor) if EXPLAINERS.get(name).draws else None,
            others=others,
            seed=self.work.seed,
            labels=shard.labels,
            randomized=partial(self._randomized, again) if hasattr(self.predictor, "randomized") else None,
        )

    def _again(
        self, name: str, texts: Sequence[str], explained: Sequence[Explanation], predictor: Any, seed: int
    ) -> list[Explanation]:
        """Explain the same texts for the same classes, with another seed or another model."""
        targets = [explanation.target for explanation in explained]
        return list(replace(self.work.methods[name], target=targets, seed=seed).explain(predictor, texts))

    def _randomized(self, again: Callable[[Any, int], list[Explanation]]) -> dict[str, list[Explanation]]:
        """Explain the same texts for the same classes by the model with randomized weights, by depth."""
        return {depth: again(model, self.work.seed) for depth, model in self.randomized().items()}
