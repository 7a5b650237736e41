"""What the server does for a request: checks it, asks a model, shapes the answer. Knows nothing of routes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request

from vmask import __version__
from vmask.explain import EXPLAINERS
from vmask.explain.highlight import AGAINST, FOR, STRONG
from vmask.serve.await_result import answer_to
from vmask.serve.batcher import Asked, Batcher, Kind
from vmask.serve.config import ServeConfig
from vmask.serve.examples import Example
from vmask.serve.http_errors import NotHere, Refusal, TimeUp
from vmask.serve.jobs import JobQueue
from vmask.serve.loaded_model import Served, find_model
from vmask.serve.monitor import Metrics
from vmask.serve.page_options import check_options, describe_explainer, describe_hides, explainer_kinds, is_instant
from vmask.serve.queries import Explaining, Prediction, predicting, predicting_hidden, scoring
from vmask.serve.schemas import ExplainRequest, PredictRequest, Show, Sort
from vmask.serve.tables import Check, Table, read_table, text_column, write_table

T = TypeVar("T")

EXAMPLE_SECONDS = 2.0
"""How long a request waits for the predictions of all examples before it is told how far they are."""


class ScoredTable(NamedTuple):
    """A table with predictions.

    Attributes:
        csv: its bytes.
        column: the one that its texts are from.
        empty: texts that consist of nothing, or of white space.
    """

    csv: bytes
    column: str
    empty: int


class Api:
    """The models, a thread for what is quick, one for explanations and one for tables.

    Args:
        models: at least one.
        settings: limits.
        metrics: told what the models do, and how many wait.
    """

    def __init__(self, models: Sequence[Served], settings: ServeConfig, metrics: Metrics) -> None:
        self.models, self.settings, self._metrics = list(models), settings, metrics
        self._batcher, self._jobs = Batcher(self._called), JobQueue(settings.max_queue)
        self._tables = JobQueue(settings.max_connections, "tables")  # a request has one at a time: none is refused
        metrics.watch("predict", self._batcher.__len__)
        metrics.watch("explain", self._jobs.__len__)
        metrics.watch("table", self._tables.__len__)

    def _called(self, kind: Kind, units: int, seconds: float) -> None:
        what, model = kind.key[:2]
        self._metrics.computed(model, what, units, seconds)

    def start(self) -> None:
        """Begin with what takes a while and will be asked for: libraries, kernels, the predictions of examples."""
        explainer_kinds()
        for served in self.models:
            warm_up = replace(predicting(served), key=("warm_up", served.name))  # not counted among the predictions
            self._batcher.ask(warm_up, ["a"], [1])
            self._ask_examples(served)

    def close(self, seconds: float = 0.0) -> bool:
        """End all work, and wait so long for it to end. Returns whether it has."""
        parts = (self._jobs, self._tables, self._batcher)
        for part in parts:
            part.close()  # all at once, then wait
        ended = [part.close(seconds) for part in parts]
        return all(ended)

    def options(self) -> dict[str, Any]:
        """All that the page needs to offer what there is."""
        most, kinds = self.settings.max_times_default, explainer_kinds()
        return {
            "version": __version__,
            "models": [served.describe(kinds) for served in self.models],
            "explainers": [describe_explainer(name, kind, most) for name, kind in kinds.items()],
            "hides": describe_hides(),
            "limits": self.settings.limits(),
            "colours": {"for": list(FOR), "against": list(AGAINST), "strong": STRONG},
        }

    async def predict(self, request: Request, asked: PredictRequest) -> dict[str, Any]:
        """Predictions of texts, with words hidden where that is asked."""
        served = find_model(self.models, asked.model)
        texts = asked.texts
        self._check_texts(texts, self.settings.max_texts)
        hide = _hide(served, asked.hide)
        sizes = [served.size(text) for text in texts]
        if asked.hidden is None:
            question = self._batcher.ask(predicting(served), texts, sizes)
        else:
            question = self._batcher.ask(*_hidden(served, texts, asked.hidden, hide), sizes)
        found: list[Prediction] = await answer_to(request, question.future)
        return {
            "model": served.name,
            "labels": served.labels,
            "predictions": [_shown(served, one, asked.words) for one in found],
        }

    async def explain(self, request: Request, asked: ExplainRequest) -> dict[str, Any]:
        """Explanations of texts: quick ones at once, others in their turn."""
        began = time.perf_counter()
        served = find_model(self.models, asked.model)
        texts = asked.texts
        self._check_texts(texts, self.settings.max_explain_texts)
        method = asked.explainer or ("mask" if served.ranks else "lime")
        kind = EXPLAINERS.get(method)
        options = check_options(kind.Options, asked.options, self.settings.max_times_default)
        explaining = Explaining(method, asked.target, asked.hide, asked.seed, options)
        explaining.check(served)
        if is_instant(kind):
            found = await self._explain_now(request, served, explaining, texts)
        else:
            found = await self._explain_later(request, served, explaining, texts)
        milliseconds = round(1000 * (time.perf_counter() - began), 3)
        return {
            "model": served.name,
            "labels": served.labels,
            "explanations": found,
            "milliseconds": milliseconds,
        }

    async def _explain_now(
        self, request: Request, served: Served, explaining: Explaining, texts: list[str]
    ) -> list[dict[str, Any]]:
        question = self._batcher.ask(explaining.kind(served), texts, [served.size(text) for text in texts])
        return await answer_to(request, question.future, self.settings.explain_seconds, self._late)

    async def _explain_later(
        self, request: Request, served: Served, explaining: Explaining, texts: list[str]
    ) -> list[dict[str, Any]]:
        def work(check: Check) -> list[dict[str, Any]]:
            began = time.perf_counter()
            found = explaining.explain(served, texts, check)
            self._metrics.computed(served.name, "explain", len(texts), time.perf_counter() - began)
            return found

        return await _done(request, self._jobs, work, self.settings.explain_seconds, self._late)

    @property
    def _late(self) -> str:
        return (
            f"The explanation took longer than the limit of {self.settings.explain_seconds:g} seconds. "
            "Ask for fewer texts or samples, or start the server with a larger --explain-seconds."
        )

    async def words(
        self, model: str | None, query: str, min_count: int, sort: Sort, limit: int, offset: int
    ) -> dict[str, Any]:
        """Some words of a model."""
        served = find_model(self.models, model)
        return await asyncio.to_thread(_words, served, query, min_count, sort, limit, offset)

    async def examples(
        self,
        request: Request,
        model: str | None,
        show: Show,
        label: str | None,
        predicted: str | None,
        query: str,
        limit: int,
        offset: int,
    ) -> dict[str, Any]:
        """Some test texts with their predictions; `preparing` alone where those are not there yet."""
        served = find_model(self.models, model)
        question = self._ask_examples(served)
        if question is None or served.examples is None:
            raise NotHere(f"There are no examples for {served.name}. {served.no_examples}")
        try:
            answers = await answer_to(request, question.future, EXAMPLE_SECONDS, keep=True)
        except TimeUp:
            return {"preparing": question.share_done}
        everything = served.examples.predicted(answers, served.labels)
        chosen = [one for one in everything if _matches(one, show, label, predicted, query.casefold())]
        if show == "uncertain":
            chosen.sort(key=lambda one: one.probability)
        return {
            "model": served.name,
            "dataset": served.examples.dataset,
            "split": served.examples.split,
            "total": len(chosen),
            "accuracy": sum(one.right for one in everything) / len(everything),
            "examples": [one.to_dict() for one in chosen[offset : offset + limit]],
        }

    def _ask_examples(self, served: Served) -> Asked | None:
        """The question for the predictions of a model's examples, asked once."""
        if served.examples is None:
            return None
        sizes = [served.size(text) for text in served.examples.texts]
        return served.examples.start(lambda texts: self._batcher.ask(scoring(served), texts, sizes))

    async def table(
        self, request: Request, body: bytes, model: str | None, column: str | None, filename: str
    ) -> ScoredTable:
        """A table with predictions, as CSV."""
        served = find_model(self.models, model)
        table, texts, name = await _done(
            request, self._tables, lambda check: self._read_table(served, body, column, filename, check)
        )
        question = self._batcher.ask(predicting(served), texts, [served.size(text) for text in texts])
        found = await answer_to(request, question.future)
        most = self.settings.max_answer_bytes
        scored = await _done(request, self._tables, lambda check: write_table(table, served.labels, found, most, check))
        return ScoredTable(scored, name, sum(not text.strip() for text in texts))

    def _read_table(
        self, served: Served, body: bytes, column: str | None, filename: str, check: Check
    ) -> tuple[Table, list[str], str]:
        table = read_table(body, filename, self.settings, check)
        name = text_column(table, column, served.classifier.about_.get("text"))
        place = table.columns.index(name)
        texts = [row[place] for row in table.rows]
        self._check_lengths(texts, "row")
        return table, texts, name

    def _check_texts(self, texts: Sequence[str], most: int) -> None:
        if len(texts) > most:
            raise Refusal(f"There are {len(texts):,} texts; the limit is {most:,} in a request. Send them in parts.")
        self._check_lengths(texts, "text")

    def _check_lengths(self, texts: Sequence[str], what: str) -> None:
        most = self.settings.max_characters
        for number, text in enumerate(texts, what == "row"):
            if len(text) > most:
                raise Refusal(
                    f"{what.capitalize()} {number} has {len(text):,} characters; the limit is {most:,}. Shorten it."
                )


async def _done(
    request: Request, queue: JobQueue, work: Callable[[Check], T], seconds: float | None = None, late: str = ""
) -> T:
    """What comes of some work in a queue; the work ends as soon as nobody waits for it."""
    job = queue.submit(work)
    try:
        await answer_to(request, job.started)
        found: T = await answer_to(request, job.result, seconds, late)
        return found
    finally:
        queue.stop(job, TimeUp(late))  # whatever ended the wait: nobody wants the rest


def _hide(served: Served, asked: str | None) -> str:
    """The way of hiding words, checked also where no word is hidden."""
    hide = asked or served.hides[0]
    if hide not in served.hides:
        served.predictor.predict_kept([], [], hide)  # it says why not, and what else there is
    return hide


def _hidden(served: Served, texts: list[str], hidden: list[list[int]], hide: str) -> tuple[Kind, list[Any]]:
    """The question and its units where words are hidden."""
    if len(hidden) != len(texts):
        raise Refusal(f"There are {len(texts)} texts and {len(hidden)} lists in `hidden`. Give one a text.")
    units = [(text, words, number) for number, (text, words) in enumerate(zip(texts, hidden, strict=True))]
    return predicting_hidden(served, hide), units


def _shown(served: Served, prediction: Prediction, words: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "label": served.labels[prediction.best],
        "probabilities": prediction.probabilities,
        "unseen": prediction.unseen,
    }
    if words:
        shown["words"] = [{"start": start, "end": end} for start, end in prediction.spans]
    return shown


def _words(served: Served, query: str, min_count: int, sort: Sort, limit: int, offset: int) -> dict[str, Any]:
    part = query.casefold()
    chosen = [word for word in served.words() if word.count >= min_count and part in word.word.casefold()]
    if sort == "count":
        chosen.sort(key=lambda word: -word.count)  # stable: words of a count stay in the order of importance
    elif sort == "word":
        chosen.sort(key=lambda word: word.word)
    return {
        "model": served.name,
        "total": len(chosen),
        "words": [
            {"word": word.word, "score": word.score, "count": word.count, "known": word.known}
            for word in chosen[offset : offset + limit]
        ],
    }


def _matches(example: Example, show: Show, label: str | None, predicted: str | None, query: str) -> bool:
    if show in ("right", "wrong") and example.right != (show == "right"):
        return False
    if label and example.label != label:
        return False
    if predicted and example.predicted != predicted:
        return False
    return query in example.text.casefold()
