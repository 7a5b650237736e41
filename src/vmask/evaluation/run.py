"""Run an evaluation in batches of texts, so that memory does not grow with their number."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.progress import advancing
from vmask.config import EvaluateConfig, make
from vmask.evaluation.result import Key
from vmask.explain import EXPLAINERS
from vmask.explain.aggregate import WordSums
from vmask.explain.api import CHUNK, at_once, explain_texts, number_of
from vmask.explain.contract import Explanation
from vmask.metrics._case import Case, Questions
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
    ) -> None:
        self.config, self.methods = config, methods
        self.of_models = {name: metric for name, metric in metrics.items() if isinstance(metric, ModelMetric)}
        self.of_explanations = {
            name: metric for name, metric in metrics.items() if isinstance(metric, ExplanationMetric)
        }
        self.metrics, self.models, self.progress, self.keep = metrics, models, progress, keep
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
        streams = {name: self._stream(subject, number, name, texts) for name in self.used}
        sums = {name: WordSums() for name in self.used if name != FLOOR}
        values: dict[Key, NDArray[np.float64]] = {}
        bar = (
            advancing(len(texts), "texts explained and measured") if self.progress else nullcontext(lambda count: None)
        )
        with bar as advance:
            done = 0
            for chunk in chunks(texts, CHUNK):
                explanations = {name: list(islice(stream, len(chunk))) for name, stream in streams.items()}
                for name, word_sums in sums.items():
                    for explanation in explanations[name]:
                        word_sums.add(explanation)
                rows = subject.sample[done : done + len(chunk)]
                for key, new in self._of_chunk(subject, chunk, rows, explanations):
                    records = np.asarray(new, np.float64)
                    of_all = values.setdefault(key, np.full((len(texts), *records.shape[1:]), np.nan))
                    of_all[done : done + len(chunk)] = records
                done += len(chunk)
                advance(len(chunk))
        for stream in streams.values():
            next(stream, None)  # a file of explanations is finished when its stream ends
        series = {
            key: Series(self.of_explanations[key[0]].combine(of_all), key[3], key[1], key[2], "sample")
            for key, of_all in values.items()
        }
        return series, {name: _top_words(sums[name], EXPLAINERS.get(name).signed) for name in sums}

    def _stream(self, subject: Subject, number: int, name: str, texts: Sequence[str]) -> Iterator[Explanation]:
        """The explanations of all texts by one method, in order."""
        explain: Explain = partial(
            self._explain(subject.predictor, name), seed=self.config.seed, workers=self.config.workers
        )
        if self.keep is not None:
            kind, options = EXPLAINERS.get(name), self.methods[name]
            request = {"method": name, "options": options, "seed": self.config.seed if kind.draws else None}
            request["hide"] = (self.config.explain_hide or "remove") if kind.hides else None
            explain = self.keep(number, request, explain, at_once(subject.predictor, kind(make(kind.Options, options))))
        return explain(texts)

    def _explain(self, predictor: Any, name: str) -> Callable[..., Iterator[Explanation]]:
        hide = self.config.explain_hide if EXPLAINERS.get(name).hides else None
        return partial(_explain, predictor, name, dict(self.methods[name]), hide)

    def _of_chunk(
        self,
        subject: Subject,
        chunk: Sequence[str],
        rows: NDArray[np.int64],
        explanations: Mapping[str, Sequence[Explanation]],
    ) -> Iterator[tuple[Key, Sequence[float] | NDArray[Any]]]:
        """Values of a batch of texts for every metric, way of hiding, method and part."""
        docs = subject.predictor.prepare(chunk)
        questions = {hide: Questions(subject.predictor, docs, hide) for hide in ("", *subject.hides)}
        for name, explained in explanations.items():
            targets = [number_of(explanation.target, subject.predictor.labels) for explanation in explained]
            again = (
                partial(self._again, subject.predictor, name, chunk, explained) if EXPLAINERS.get(name).draws else None
            )
            # With another seed of the method, or random scores would be the same for every training.
            others = [
                partial(self._again, other, name, chunk, explained, self.config.seed + number)
                for number, other in enumerate(subject.others, 1)
            ]
            known = hasattr(subject.predictor, "randomized")
            randomized = partial(self._randomized, subject, name, chunk, explained) if known else None
            case = Case(
                questions=questions[""],
                explanations=explained,
                targets=targets,
                rank=self.config.rank,
                rationales=None if subject.rationales is None else [subject.rationales[i] for i in rows],
                again=again,
                others=others,
                seed=self.config.seed,
                labels=None if subject.labels is None else subject.labels[rows],
                randomized=randomized,
            )
            cases = {hide: replace(case, questions=questions[hide]) for hide in questions}
            for metric_name, metric in self.of_explanations.items():
                for hide in subject.hides if metric.hides else ("",):
                    for part, values in metric.measure(cases[hide]).items():
                        yield (metric_name, name, hide, part), values

    def _again(
        self, predictor: Any, name: str, chunk: Sequence[str], explained: Sequence[Explanation], seed: int
    ) -> list[Explanation]:
        """Explain the same texts for the same classes, with another seed or another model."""
        targets = [explanation.target for explanation in explained]
        return list(self._explain(predictor, name)(chunk, seed=seed, workers=1, target=targets))

    def _randomized(
        self, subject: Subject, name: str, chunk: Sequence[str], explained: Sequence[Explanation]
    ) -> dict[str, list[Explanation]]:
        """Explain the same texts for the same classes by the model with randomized weights, by depth."""
        return {
            depth: self._again(model, name, chunk, explained, self.config.seed)
            for depth, model in subject.randomized.items()
        }


def _explain(
    predictor: Any,
    name: str,
    options: dict[str, Any],
    hide: str | None,
    texts: Iterable[str],
    *,
    seed: int,
    workers: int,
    target: Any = None,
) -> Iterator[Explanation]:
    return explain_texts(predictor, texts, name, target=target, seed=seed, hide=hide, workers=workers, **options)


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
