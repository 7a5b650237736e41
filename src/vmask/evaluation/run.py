"""Run an evaluation in batches of texts, so that memory does not grow with their number."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.progress import advancing
from vmask.config import EvaluateConfig
from vmask.evaluation.chunk import ExplainedShard, MeasureWork, Measuring, Values
from vmask.evaluation.result import Key
from vmask.explain import EXPLAINERS
from vmask.explain.aggregate import WordSums
from vmask.explain.api import CHUNK
from vmask.explain.contract import Explanation
from vmask.explain.shards import ExplainWork, explain_shards
from vmask.inference.work import Map, numbered, with_jobs
from vmask.metrics.contract import ExplanationMetric, Metric, ModelMetric, Series, Subject
from vmask.text.words import chunks

log = logging.getLogger("vmask")

FLOOR = "random"
"""The baseline method that every other must beat; it is always evaluated too."""
TOP_WORDS = 10
SEEN = 3
"""Minimum occurrences of a word in a ranking by means, because means of rare words are unreliable."""

Explain = Callable[[Iterable[str]], Iterator[Explanation]]
Kept = Callable[[int, Mapping[str, Any], Explain, int], Explain]
"""Stores explanations in files: from the number of a model, the request, a function that explains texts and its batch
size to such a function that uses the files."""


class Run:
    """One evaluation: explains texts and measures metrics, batch by batch."""

    def __init__(
        self,
        config: EvaluateConfig,
        methods: Mapping[str, Mapping[str, Any]],
        metrics: Mapping[str, Metric],
        models: int,
        progress: bool,
        keep: Kept | None,
        threads: int,
        share: Map | None,
    ) -> None:
        self.config, self.methods = config, methods
        self.of_models = {name: metric for name, metric in metrics.items() if isinstance(metric, ModelMetric)}
        self.of_explanations = {
            name: metric for name, metric in metrics.items() if isinstance(metric, ExplanationMetric)
        }
        self.metrics, self.models, self.progress, self.keep = metrics, models, progress, keep
        self.threads, self.share = threads, share
        self.notes: list[str] = []
        self.used: list[str] = []

    def measure(self, subject: Subject, number: int) -> tuple[dict[Key, Series], dict[str, Any]]:
        """The values of all metrics for a model, and the most important words of its explanations."""
        for metric in self.metrics.values():
            if number == 0 and (cost := metric.cost(subject)):
                log.info(cost if self.models == 1 else f"{cost}, for each of {self.models} models")
        values: dict[Key, Series] = {}
        words: dict[str, Any] = {}
        if self.of_explanations:
            self.used = self._usable(subject)
            values, words = self._explained(subject, number)
        for name, metric in self.of_models.items():
            values |= {(name, series.by, series.hide, series.part): series for series in metric.measure(subject)}
        order = list(self.metrics)
        return {key: values[key] for key in sorted(values, key=lambda key: order.index(key[0]))}, words

    def _usable(self, subject: Subject) -> list[str]:
        """The explanation methods that apply to this model."""
        usable = []
        for name in self.methods:
            needs = EXPLAINERS.get(name).needs
            if needs == EXPLAINERS.get("mask").needs and not subject.ranks:
                self.notes.append(f"{name} is left out, because the model gives words no importance.")
            elif needs and not hasattr(subject.predictor, needs):
                self.notes.append(f"{name} is left out, because it looks into the model, which is a plain function.")
            else:
                usable.append(name)
        return usable

    def _explained(self, subject: Subject, number: int) -> tuple[dict[Key, Series], dict[str, Any]]:
        """The values of metrics of explanations, text by text."""
        texts = [subject.texts[i] for i in subject.sample]
        methods = {name: self._method(name, number) for name in self.used}
        streams = {name: self._stream(subject, number, method, texts) for name, method in methods.items()}
        sums = {name: WordSums() for name in self.used if name != FLOOR}
        values: dict[Key, NDArray[np.float64]] = {}
        others = tuple(range(1, len(subject.others) + 1))
        measure = MeasureWork(
            self.of_explanations, methods, subject.hides, self.config.rank, self.config.seed, number, others
        )
        bar = (
            advancing(len(texts), "texts explained and measured") if self.progress else nullcontext(lambda count: None)
        )
        with bar as advance:
            for shard, found in self._measured(subject, measure, self._shards(subject, texts, streams)):
                for name, word_sums in sums.items():
                    for explanation in shard.explanations[name]:
                        word_sums.add(explanation)
                for key, records in found:
                    of_all = values.setdefault(key, np.full((len(texts), *records.shape[1:]), np.nan))
                    of_all[shard.first : shard.first + len(shard.texts)] = records
                advance(len(shard.texts))
        for stream in streams.values():
            next(stream, None)  # a file of explanations is finished when its stream ends
        series = {
            key: Series(self.of_explanations[key[0]].combine(of_all), key[3], key[1], key[2], "sample")
            for key, of_all in values.items()
        }
        return series, {name: _top_words(sums[name], EXPLAINERS.get(name).signed) for name in sums}

    def _measured(
        self, subject: Subject, measure: MeasureWork, shards: Iterator[ExplainedShard]
    ) -> Iterator[tuple[ExplainedShard, Values]]:
        """Each shard with its values: measured in this process, unless others share the work."""
        if self.share is not None:
            return with_jobs(self.share, measure, shards)
        here = Measuring(measure, subject.predictor, subject.others, lambda: subject.randomized)
        return ((shard, here(shard)) for shard in shards)

    def _shards(
        self, subject: Subject, texts: Sequence[str], streams: Mapping[str, Iterator[Explanation]]
    ) -> Iterator[ExplainedShard]:
        """The texts with their explanations, a few at a time."""
        for shard in numbered(chunks(texts, CHUNK)):
            rows = subject.sample[shard.first : shard.first + len(shard.texts)]
            yield ExplainedShard(
                shard.first,
                shard.texts,
                {name: list(islice(stream, len(shard.texts))) for name, stream in streams.items()},
                None if subject.rationales is None else [subject.rationales[i] for i in rows],
                None if subject.labels is None else subject.labels[rows],
            )

    def _method(self, name: str, number: int) -> ExplainWork:
        """How texts are explained by a method."""
        hide = self.config.explain_hide if EXPLAINERS.get(name).hides else None
        return ExplainWork(name, self.methods[name], seed=self.config.seed, hide=hide, model=number)

    def _stream(
        self, subject: Subject, number: int, method: ExplainWork, texts: Sequence[str]
    ) -> Iterator[Explanation]:
        """The explanations of all texts by one method, in order."""
        explain: Explain = partial(method.explain, subject.predictor, workers=self.threads)
        if self.share is not None:
            explain = partial(explain_shards, self.share, method, subject.predictor)
        if self.keep is not None:
            kind = EXPLAINERS.get(method.method)
            request = {
                "method": method.method,
                "options": method.options,
                "seed": method.seed if kind.draws else None,
                "hide": (method.hide or "remove") if kind.hides else None,
            }
            explain = self.keep(number, request, explain, method.at_once(subject.predictor))
        return explain(texts)


def _top_words(sums: WordSums, signed: bool) -> dict[str, Any]:
    """The most important words over all texts: by the sum of absolute scores, and for each class of signed scores.

    Sums of scores that are never negative, such as those of a mask, are highest for frequent words; so these are ranked
    by their mean per occurrence.
    """
    if not signed:
        seen = sums.ranked("count", min_count=SEEN)
        means = sorted(((word.signed / word.count, word.word) for word in seen), key=lambda pair: (-pair[0], pair[1]))
        return {"mean": [[word, mean] for mean, word in means[:TOP_WORDS]]}
    ranked = sums.ranked("absolute")
    labels = dict.fromkeys(label for word in ranked for label in word.by_label)
    return {
        "absolute": [[word.word, word.absolute] for word in ranked[:TOP_WORDS]],
        "by_class": {
            str(label): [[word.word, word.signed] for word in sums.ranked("signed", label=label)[:TOP_WORDS]]
            for label in labels
        },
    }
