"""One evaluation: texts are explained and measured a few at a time, so memory does not grow with their number."""

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
"""The explanation method that every other must beat; it is always measured too."""
TOP_WORDS = 10
SEEN = 3
"""Places that a word must stand in where words are ranked by a mean, of which a rare word's says little."""
NAN = float("nan")

Explain = Callable[[Iterable[str]], Iterator[Explanation]]
Kept = Callable[[int, Mapping[str, Any], Explain, int], Explain]
"""What keeps explanations in files: of the number of a model, what is asked of it, what explains texts, and how many of
those it works on together."""


class Run:
    """One evaluation. Texts are explained and measured a few at a time, so memory does not grow with their number."""

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
        self.of_models = {name: one for name, one in metrics.items() if isinstance(one, ModelMetric)}
        self.of_explanations = {name: one for name, one in metrics.items() if isinstance(one, ExplanationMetric)}
        self.metrics, self.models, self.progress, self.keep = metrics, models, progress, keep
        self.notes: list[str] = []
        self.used: list[str] = []

    def measure(self, subject: Subject, number: int) -> tuple[dict[Key, Series], dict[str, Any]]:
        """All that the metrics find of a model, and the words that matter most by its explanations."""
        for metric in self.metrics.values():
            if number == 0 and (cost := metric.cost(subject)):
                log.info(f"{cost}{f', for each of {self.models} models' * (self.models > 1)}")
        found: dict[Key, Series] = {}
        words: dict[str, Any] = {}
        if self.of_explanations:
            self.used = self._usable(subject)
            found, words = self._explained(subject, number)
        for name, metric in self.of_models.items():
            found |= {(name, one.by, one.hide, one.part): one for one in metric.measure(subject)}
        order = list(self.metrics)
        return {key: found[key] for key in sorted(found, key=lambda key: order.index(key[0]))}, words

    def _usable(self, subject: Subject) -> list[str]:
        """The methods that this model can be explained by."""
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
        """What metrics of explanations find, text by text."""
        texts = [subject.texts[i] for i in subject.sample]
        streams = {name: self._stream(subject, number, name, texts) for name in self.used}
        sums = {name: WordSums() for name in self.used if name != FLOOR}
        values: dict[Key, list[float]] = {}
        bar = (
            advancing(len(texts), "texts explained and measured") if self.progress else nullcontext(lambda count: None)
        )
        with bar as advance:
            done = 0
            for chunk in chunks(texts, CHUNK):
                explanations = {name: list(islice(stream, len(chunk))) for name, stream in streams.items()}
                for name, one in sums.items():
                    for explanation in explanations[name]:
                        one.add(explanation)
                rows = subject.sample[done : done + len(chunk)]
                for key, some in self._of_chunk(subject, chunk, rows, explanations):
                    row = values.setdefault(key, [])
                    row += [NAN] * (done - len(row)) + [float(one) for one in some]
                done += len(chunk)
                advance(len(chunk))
        for stream in streams.values():
            next(stream, None)  # a file of explanations is finished when its stream ends
        found = {
            key: Series(np.array(row + [NAN] * (done - len(row))), key[3], key[1], key[2], "sample")
            for key, row in values.items()
        }
        return found, {name: _top_words(one, EXPLAINERS.get(name).signed) for name, one in sums.items()}

    def _stream(self, subject: Subject, number: int, name: str, texts: Sequence[str]) -> Iterator[Explanation]:
        """The explanations of all texts by one method, one after the other."""
        explain = self._explain(subject.predictor, name)
        started: Explain = partial(explain, seed=self.config.seed, workers=self.config.workers)
        if self.keep is not None:
            kind, options = EXPLAINERS.get(name), self.methods[name]
            asked = {"method": name, "options": options, "seed": self.config.seed if kind.draws else None}
            asked["hide"] = (self.config.explain_hide or "remove") if kind.hides else None
            started = self.keep(number, asked, started, at_once(subject.predictor, kind(make(kind.Options, options))))
        return started(texts)

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
        """A value for each of a few texts, of every metric, way of hiding, method and part."""
        docs = subject.predictor.prepare(chunk)
        asked = {hide: Questions(subject.predictor, docs, hide) for hide in ("", *subject.hides)}
        for name, explained in explanations.items():
            targets = [number_of(one.target, subject.predictor.labels) for one in explained]
            again = (
                partial(self._again, subject.predictor, name, chunk, explained) if EXPLAINERS.get(name).draws else None
            )
            # Another seed of the method too: else random scores would be the same for every training.
            others = [
                partial(self._again, other, name, chunk, explained, self.config.seed + number)
                for number, other in enumerate(subject.others, 1)
            ]
            whole = Case(
                questions=asked[""],
                explanations=explained,
                targets=targets,
                rank=self.config.rank,
                rationales=None if subject.rationales is None else [subject.rationales[i] for i in rows],
                again=again,
                others=others,
                seed=self.config.seed,
            )
            cases = {hide: replace(whole, questions=questions) for hide, questions in asked.items()}
            for metric_name, metric in self.of_explanations.items():
                for hide in subject.hides if metric.hides else ("",):
                    for part, some in metric.measure(cases[hide]).items():
                        yield (metric_name, name, hide, part), some

    def _again(
        self, predictor: Any, name: str, chunk: Sequence[str], explained: Sequence[Explanation], seed: int
    ) -> list[Explanation]:
        """The same texts explained for the same classes, with another seed or of another model."""
        targets = [one.target for one in explained]
        return list(self._explain(predictor, name)(chunk, seed=seed, workers=1, target=targets))


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
    """The words that matter most over all texts: by the sum of absolute scores, and of each class by that of signed.

    A sum of scores that are never below 0, as a mask's, is highest for frequent words; there it is the mean of a place.
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
