"""The work behind each route: check the request, query a model, build the answer. It knows nothing of HTTP paths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import Request

from vmask import __version__
from vmask.explain import EXPLAINERS
from vmask.explain.highlight import AGAINST, FOR, STRONG
from vmask.serve.await_result import await_result
from vmask.serve.batcher import Batcher, ModelQuery, PendingQuery
from vmask.serve.config import ServeConfig
from vmask.serve.examples import Example
from vmask.serve.http_errors import InvalidRequest, NotFound, RequestTimeout
from vmask.serve.jobs import Check, JobQueue
from vmask.serve.loaded_model import LoadedModel, find_model
from vmask.serve.monitor import Metrics
from vmask.serve.page_options import (
    available_explainers,
    check_options,
    describe_explainer,
    describe_hides,
    is_instant,
)
from vmask.serve.queries import ExplanationQuery, Prediction, hidden_words_query, prediction_query, top_class_query
from vmask.serve.schemas import ExamplesQuery, ExplainRequest, PredictRequest, TableQuery, WordsQuery
from vmask.serve.tables import ScoredTable, Table, read_table, text_column, write_table

T = TypeVar("T")

EXAMPLE_SECONDS = 2.0
"""How long a request waits for the predictions of all examples before it is answered with their progress."""


class Api:
    """The models, and the threads that compute: one for quick queries, one for explanations, one for tables.

    Args:
        models: the models, at least one.
        settings: limits.
        metrics: records the calls of the models and the lengths of the queues.
    """

    def __init__(self, models: Sequence[LoadedModel], settings: ServeConfig, metrics: Metrics) -> None:
        self.models, self.settings, self._metrics = list(models), settings, metrics
        self._batcher, self._jobs = Batcher(self._record_batch), JobQueue(settings.max_queue)
        self._tables = JobQueue(settings.max_connections, "tables")  # a request has one at a time, so none is refused
        metrics.track_queue("predict", self._batcher.__len__)
        metrics.track_queue("explain", self._jobs.__len__)
        metrics.track_queue("table", self._tables.__len__)

    def _record_batch(self, query: ModelQuery, texts: int, seconds: float) -> None:
        operation, model = query.key[:2]
        self._metrics.record_model_call(model, operation, texts, seconds)

    def start(self) -> None:
        """Load libraries and kernels, and start to predict the examples, before the first request needs them."""
        available_explainers()
        for model in self.models:
            warm_up = replace(prediction_query(model), key=("warm_up", model.name))  # not counted as a prediction
            self._batcher.submit(warm_up, ["a"], [1])
            self._predict_examples(model)

    def close(self, seconds: float = 0.0) -> bool:
        """Cancel all work, wait up to `seconds` for each thread, and return whether all have ended."""
        workers = (self._jobs, self._tables, self._batcher)
        for worker in workers:
            worker.close()  # all at once, then wait
        ended = [worker.close(seconds) for worker in workers]
        return all(ended)

    def options(self) -> dict[str, Any]:
        """Return everything the page needs to draw itself."""
        factor, explainers = self.settings.max_times_default, available_explainers()
        return {
            "version": __version__,
            "models": [model.describe(explainers) for model in self.models],
            "explainers": [describe_explainer(name, explainer, factor) for name, explainer in explainers.items()],
            "hides": describe_hides(),
            "limits": self.settings.limits(),
            "colours": {"for": list(FOR), "against": list(AGAINST), "strong": STRONG},
        }

    async def predict(self, request: Request, body: PredictRequest) -> dict[str, Any]:
        """Predict texts, with hidden words if requested."""
        model = find_model(self.models, body.model)
        self._check_texts(body.texts, self.settings.max_texts)
        hide = _check_hide(model, body.hide)
        query, items = prediction_query(model), list[Any](body.texts)
        if body.hidden is not None:
            query, items = hidden_words_query(model, hide), _hidden_items(body.texts, body.hidden)
        pending = self._batcher.submit(query, items, [model.size(text) for text in body.texts])
        predictions: list[Prediction] = await await_result(request, pending.future)
        return {
            "model": model.name,
            "labels": model.labels,
            "predictions": [_prediction_json(model, prediction, body.words) for prediction in predictions],
        }

    async def explain(self, request: Request, body: ExplainRequest) -> dict[str, Any]:
        """Explain texts: by an instant explainer at once, by another one in the queue."""
        began = time.perf_counter()
        model = find_model(self.models, body.model)
        self._check_texts(body.texts, self.settings.max_explain_texts)
        method = body.explainer or ("mask" if model.ranks_words else "lime")
        explainer = EXPLAINERS.get(method)
        options = check_options(explainer.Options, body.options, self.settings.max_times_default)
        query = ExplanationQuery(method, body.target, body.hide, body.seed, options)
        query.check(model)
        if is_instant(explainer):
            explanations = await self._explain_instantly(request, model, query, body.texts)
        else:
            explanations = await self._explain_in_queue(request, model, query, body.texts)
        return {
            "model": model.name,
            "labels": model.labels,
            "explanations": explanations,
            "milliseconds": round(1000 * (time.perf_counter() - began), 3),
        }

    async def _explain_instantly(
        self, request: Request, model: LoadedModel, query: ExplanationQuery, texts: list[str]
    ) -> list[dict[str, Any]]:
        pending = self._batcher.submit(query.model_query(model), texts, [model.size(text) for text in texts])
        return await await_result(request, pending.future, self.settings.explain_seconds, self._timeout_message)

    async def _explain_in_queue(
        self, request: Request, model: LoadedModel, query: ExplanationQuery, texts: list[str]
    ) -> list[dict[str, Any]]:
        def compute(check: Check) -> list[dict[str, Any]]:
            began = time.perf_counter()
            explanations = query.explain(model, texts, check)
            self._metrics.record_model_call(model.name, "explain", len(texts), time.perf_counter() - began)
            return explanations

        return await _run_job(request, self._jobs, compute, self.settings.explain_seconds, self._timeout_message)

    @property
    def _timeout_message(self) -> str:
        return (
            f"The explanation took longer than the limit of {self.settings.explain_seconds:g} seconds. "
            "Ask for fewer texts or samples, or start the server with a larger --explain-seconds."
        )

    async def words(self, query: WordsQuery) -> dict[str, Any]:
        """Return words of a model, filtered and sorted."""
        model = find_model(self.models, query.model)
        return await asyncio.to_thread(_words_json, model, query)

    async def examples(self, request: Request, query: ExamplesQuery) -> dict[str, Any]:
        """Return test texts with their predictions, or only `preparing` while they are being predicted."""
        model = find_model(self.models, query.model)
        pending = self._predict_examples(model)
        if pending is None or model.examples is None:
            raise NotFound(f"There are no examples for {model.name}. {model.no_examples}")
        try:
            answers = await await_result(request, pending.future, EXAMPLE_SECONDS, cancel=False)
        except RequestTimeout:
            return {"preparing": pending.progress}
        all_examples = model.examples.predicted(answers, model.labels)
        matches = [example for example in all_examples if _matches(example, query)]
        if query.show == "uncertain":
            matches.sort(key=lambda example: example.probability)
        return {
            "model": model.name,
            "dataset": model.examples.dataset,
            "split": model.examples.split,
            "total": len(matches),
            "accuracy": sum(example.right for example in all_examples) / len(all_examples),
            "examples": [example.to_dict() for example in matches[query.offset : query.offset + query.limit]],
        }

    def _predict_examples(self, model: LoadedModel) -> PendingQuery | None:
        """Return the query for the predictions of the examples of a model, submitted on the first call."""
        if model.examples is None:
            return None
        sizes = [model.size(text) for text in model.examples.texts]
        return model.examples.start(lambda texts: self._batcher.submit(top_class_query(model), texts, sizes))

    async def table(self, request: Request, body: bytes, query: TableQuery) -> ScoredTable:
        """Predict every row of a table."""
        model = find_model(self.models, query.model)
        table, texts, column = await _run_job(
            request, self._tables, lambda check: self._read_table(model, body, query, check)
        )
        pending = self._batcher.submit(prediction_query(model), texts, [model.size(text) for text in texts])
        predictions = await await_result(request, pending.future)
        max_bytes = self.settings.max_answer_bytes
        csv = await _run_job(
            request, self._tables, lambda check: write_table(table, model.labels, predictions, max_bytes, check)
        )
        return ScoredTable(model.name, model.labels, table, column, texts, predictions, csv)

    def _read_table(
        self, model: LoadedModel, body: bytes, query: TableQuery, check: Check
    ) -> tuple[Table, list[str], str]:
        """Return the table, its texts, and the name of their column."""
        table = read_table(body, query.filename, self.settings, check)
        column = text_column(table, query.column, model.classifier.about_.get("text"))
        place = table.columns.index(column)
        texts = [row[place] for row in table.rows]
        self._check_lengths(texts, "Row", 1)
        return table, texts, column

    def _check_texts(self, texts: Sequence[str], limit: int) -> None:
        if len(texts) > limit:
            raise InvalidRequest(
                f"There are {len(texts):,} texts; the limit is {limit:,} in a request. Send them in parts."
            )
        self._check_lengths(texts, "Text", 0)

    def _check_lengths(self, texts: Sequence[str], name: str, first: int) -> None:
        limit = self.settings.max_characters
        for number, text in enumerate(texts, first):
            if len(text) > limit:
                raise InvalidRequest(
                    f"{name} {number} has {len(text):,} characters; the limit is {limit:,}. Shorten it."
                )


async def _run_job(
    request: Request,
    queue: JobQueue,
    function: Callable[[Check], T],
    timeout: float | None = None,
    timeout_message: str = "",
) -> T:
    """Run a function in a queue, and cancel it when the request stops waiting. The time in the queue does not count."""
    job = queue.submit(function)
    try:
        await await_result(request, job.started)
        result: T = await await_result(request, job.result, timeout, timeout_message)
        return result
    finally:
        queue.cancel(job, RequestTimeout(timeout_message))  # does nothing to a job that has ended


def _check_hide(model: LoadedModel, requested: str | None) -> str:
    """Return the way of hiding words; it is checked even if no word is hidden."""
    hide = requested or model.hides[0]
    if hide not in model.hides:
        model.predictor.predict_kept([], [], hide)  # raises an error that names the alternatives
    return hide


def _hidden_items(texts: list[str], hidden: list[list[int]]) -> list[Any]:
    """Return the items of a query with hidden words."""
    if len(hidden) != len(texts):
        raise InvalidRequest(f"There are {len(texts)} texts and {len(hidden)} lists in `hidden`. Give one a text.")
    return [(text, words, number) for number, (text, words) in enumerate(zip(texts, hidden, strict=True))]


def _prediction_json(model: LoadedModel, prediction: Prediction, words: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "label": model.labels[prediction.best],
        "probabilities": prediction.probabilities,
        "unseen": prediction.unseen,
    }
    if words:
        values["words"] = [{"start": start, "end": end} for start, end in prediction.spans]
    return values


def _words_json(model: LoadedModel, query: WordsQuery) -> dict[str, Any]:
    substring = query.query.casefold()
    matches = [word for word in model.words() if word.count >= query.min_count and substring in word.word.casefold()]
    if query.sort == "count":
        matches.sort(key=lambda word: -word.count)  # stable: words of equal count stay in the order of importance
    elif query.sort == "word":
        matches.sort(key=lambda word: word.word)
    return {
        "model": model.name,
        "total": len(matches),
        "words": [
            {"word": word.word, "score": word.score, "count": word.count, "known": word.known}
            for word in matches[query.offset : query.offset + query.limit]
        ],
    }


def _matches(example: Example, query: ExamplesQuery) -> bool:
    if query.show in ("right", "wrong") and example.right != (query.show == "right"):
        return False
    if query.label and example.label != query.label:
        return False
    if query.predicted and example.predicted != query.predicted:
        return False
    return query.query.casefold() in example.text.casefold()
