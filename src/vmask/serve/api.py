"""The work behind each route: check the request, query a model, build the answer. It knows nothing of HTTP paths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request

from vmask import __version__
from vmask.config import make
from vmask.data.config import ReadConfig
from vmask.explain import EXPLAINERS
from vmask.explain.highlight import AGAINST, FOR, STRONG
from vmask.serve.batcher import Batcher, ModelQuery, PendingQuery
from vmask.serve.config import ServeConfig
from vmask.serve.edits import EditedModel, Editor
from vmask.serve.http_errors import InvalidRequest, NotFound, RequestTimeout
from vmask.serve.jobs import Check, JobQueue, await_result
from vmask.serve.loaded_model import LoadedModel, find_model
from vmask.serve.monitor import Metrics
from vmask.serve.page import available_explainers, check_options, describe_explainer, describe_hides, is_instant
from vmask.serve.queries import (
    ExplanationQuery,
    Prediction,
    hidden_words_query,
    prediction_query,
    several_json,
    top_class_query,
)
from vmask.serve.schemas import (
    EditRequest,
    ExamplesQuery,
    ExplainRequest,
    PredictRequest,
    TableQuery,
    WordEdit,
    WordsQuery,
)
from vmask.serve.tables import Table, read_table, summarize_table, text_column, write_table

EXAMPLE_SECONDS = 2.0
"""How long a request waits for the predictions of all examples before it is answered with their progress."""


class Api:
    """The models, and the threads that compute: one each for quick queries, explanations, tables, and edits of models.

    Args:
        models: the models, at least one.
        settings: limits.
        metrics: records the calls of the models and the lengths of the queues.
    """

    def __init__(self, models: Sequence[LoadedModel], settings: ServeConfig, metrics: Metrics) -> None:
        self.models, self.settings, self._metrics = list(models), settings, metrics
        self._batcher, self._jobs = Batcher(self._record_batch), JobQueue(settings.max_queue)
        # A request has one of these at a time, so none is refused.
        self._tables, self._edits = (JobQueue(settings.max_connections, name) for name in ("tables", "edits"))
        self._example_queries: dict[str, PendingQuery] = {}
        self._editors = {model.name: Editor(model) for model in self.models}
        metrics.track_queue("predict", self._batcher.__len__)
        metrics.track_queue("explain", self._jobs.__len__)
        metrics.track_queue("table", self._tables.__len__)
        metrics.track_queue("edit", self._edits.__len__)

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
        workers = (self._jobs, self._tables, self._edits, self._batcher)
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
        model = (await self._edited(request, body.model, body.edit)).model
        self._check_texts(body.texts, self.settings.max_texts)
        hide = _check_hide(model, body.hide)
        query, items = prediction_query(model), list[Any](body.texts)
        if body.hidden is not None:
            query, items = hidden_words_query(model, hide), _hidden_items(body.texts, body.hidden)
        pending = self._submit(model, query, body.texts, items)
        predictions: list[Prediction] = await await_result(request, pending.future)
        return {
            "model": model.name,
            "labels": model.labels,
            "predictions": [_prediction_json(model, prediction, body.words) for prediction in predictions],
        }

    async def explain(self, request: Request, body: ExplainRequest) -> dict[str, Any]:
        """Explain texts: by an instant explainer at once, by another one in the queue."""
        began = time.perf_counter()
        model = (await self._edited(request, body.model, body.edit)).model
        self._check_texts(body.texts, self.settings.max_explain_texts)
        method = body.explainer or ("mask" if model.ranks_words else "lime")
        explainer = EXPLAINERS.get(method)
        options = check_options(explainer.Options, body.options, self.settings.max_times_default)
        query = ExplanationQuery(method, body.target, body.hide, body.seed, options)
        query.check(model)
        seconds = self.settings.explain_seconds
        timeout_message = (
            f"The explanation took longer than the limit of {seconds:g} seconds. "
            "Ask for fewer texts or samples, or start the server with a larger --explain-seconds."
        )

        def compute(check: Check) -> list[dict[str, Any]]:
            computing_since = time.perf_counter()
            explanations = query.explain(model, body.texts, check)
            elapsed = time.perf_counter() - computing_since
            self._metrics.record_model_call(model.name, "explain", len(body.texts), elapsed)
            return explanations

        if is_instant(explainer):
            pending = self._submit(model, query.model_query(model), body.texts)
            explanations = await await_result(request, pending.future, seconds, timeout_message)
        else:
            explanations = await self._jobs.run(request, compute, seconds, timeout_message)
        return {
            "model": model.name,
            "labels": model.labels,
            "explanations": explanations,
            "milliseconds": round(1000 * (time.perf_counter() - began), 3),
        }

    async def words(self, query: WordsQuery) -> dict[str, Any]:
        """Return words of a model, filtered and sorted."""
        model = find_model(self.models, query.model)
        return await asyncio.to_thread(_words_json, model, self._editors[model.name], query)

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
        all_examples = model.examples.with_predictions(answers, model.labels)
        matches = [example for example in all_examples if _matches(example, query)]
        if query.show == "uncertain":
            matches.sort(key=lambda example: example["probability"])
        return {
            "model": model.name,
            "dataset": model.examples.dataset,
            "split": model.examples.split,
            "total": len(matches),
            "accuracy": sum(example["right"] for example in all_examples) / len(all_examples),
            "examples": matches[query.offset : query.offset + query.limit],
        }

    async def edit(self, request: Request, body: EditRequest) -> dict[str, Any]:
        """Return what an edit does to the examples of a model, without `cost` while they are being predicted."""
        edited = await self._edited(request, body.model, body.edit)
        answer = edited.describe()
        before = self._predict_examples(find_model(self.models, body.model))
        if before is None:
            return answer
        try:
            old = await await_result(request, before.future, EXAMPLE_SECONDS, cancel=False)
        except RequestTimeout:
            return {**answer, "preparing": before.progress}
        pending = edited.pending  # another thread may drop it
        if pending is None:
            pending = self._submit(edited.model, top_class_query(edited.model), edited.affected_texts())
            edited.pending = pending
        edited.waiting += 1
        try:
            new = await await_result(request, pending.future, EXAMPLE_SECONDS, cancel=False)
        except RequestTimeout:
            return {**answer, "preparing": pending.progress}
        except Exception as error:
            if edited.waiting == 1:  # nobody else waits for the answer that this client does not
                edited.drop(error)
            raise
        finally:
            edited.waiting -= 1
        return {**answer, "cost": await asyncio.to_thread(edited.cost, old, new)}

    async def _edited(self, request: Request, name: str | None, edit: WordEdit | None) -> EditedModel:
        """Return a model with the edit of a request."""
        model = find_model(self.models, name)
        if edit is None:
            return EditedModel(model)
        words, limit = len(edit.hide) + len(edit.show), self.settings.max_edit_words
        if words > limit:
            raise InvalidRequest(f"The edit has {words:,} words; the limit is {limit:,}. Leave some out.")
        editor, hide, show = self._editors[model.name], edit.hide, edit.show
        return await self._edits.run(request, lambda check: editor.edited(hide, show))

    def _predict_examples(self, model: LoadedModel) -> PendingQuery | None:
        """Return the query for the predictions of the examples of a model, submitted on the first call."""
        if model.examples is None:
            return None
        if model.name not in self._example_queries:
            pending = self._submit(model, top_class_query(model), model.examples.texts)
            self._example_queries[model.name] = pending
        return self._example_queries[model.name]

    async def table(self, request: Request, body: bytes, query: TableQuery) -> dict[str, Any]:
        """Predict every row of a table; `csv` of the answer, as bytes, is the table with the predictions."""
        model = find_model(self.models, query.model)
        reading = make(ReadConfig, {"encoding": query.encoding, "sheet": query.sheet})

        def read(check: Check) -> tuple[Table, str, list[str]]:
            table = read_table(body, query.filename, self.settings, check, reading)
            column = text_column(table, query.column, model.classifier.about_.get("text"))
            place = table.columns.index(column)
            texts = [row[place] for row in table.rows]
            self._check_lengths(texts, "Row", 1)
            return table, column, texts

        def write(check: Check) -> dict[str, Any]:
            csv = write_table(table, model.labels, predictions, self.settings.max_answer_bytes, check)
            summary = summarize_table(table, texts, model.labels, predictions)
            return {"model": model.name, "labels": model.labels, "column": column, **summary, "csv": csv}

        table, column, texts = await self._tables.run(request, read)
        pending = self._submit(model, prediction_query(model), texts)
        predictions: list[Prediction] = await await_result(request, pending.future)
        return await self._tables.run(request, write)

    def _submit(
        self, model: LoadedModel, query: ModelQuery, texts: Sequence[str], items: Sequence[Any] | None = None
    ) -> PendingQuery:
        """Let the batcher answer a query; its items are the texts, or one for each text."""
        return self._batcher.submit(query, texts if items is None else items, [model.size(text) for text in texts])

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
        **several_json(model.labels, prediction),
        "probabilities": prediction.probabilities,
        "answered": model.answers(prediction.probabilities),
        "unseen": prediction.unseen,
    }
    if words:
        values["words"] = [
            {"start": start, "end": end, "hidden": hidden}
            for (start, end), hidden in zip(prediction.spans, prediction.hidden, strict=True)
        ]
    return values


def _words_json(model: LoadedModel, editor: Editor, query: WordsQuery) -> dict[str, Any]:
    substring = query.query.casefold()
    matches = [word for word in model.words() if word.count >= query.min_count and substring in word.word.casefold()]
    if query.sort == "count":
        matches.sort(key=lambda word: -word.count)  # stable: words of equal count stay in the order of importance
    elif query.sort == "word":
        matches.sort(key=lambda word: word.word)
    listed = matches[query.offset : query.offset + query.limit]
    names = [word.word for word in listed]
    return {
        "model": model.name,
        "total": len(matches),
        "words": [
            {
                "word": word.word,
                "score": word.score if model.ranks_words else None,
                "count": word.count,
                "known": word.known,
                "hidden": hidden,
                "editable": editable,
            }
            for word, hidden, editable in zip(listed, model.hides_words(names), editor.knows(names), strict=True)
        ],
    }


def _matches(example: dict[str, Any], query: ExamplesQuery) -> bool:
    if query.show in ("right", "wrong") and example["right"] != (query.show == "right"):
        return False
    if query.label and query.label not in example.get("labels", [example["label"]]):
        return False
    if query.predicted and query.predicted not in example.get("predicted_labels", [example["predicted"]]):
        return False
    return query.query.casefold() in example["text"].casefold()
