"""The queries that a model answers: predictions, with or without hidden words, and explanations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.serve.batcher import ModelQuery
from vmask.serve.cancellable import CancellablePredictor
from vmask.serve.http_errors import InvalidRequest

if TYPE_CHECKING:
    from vmask.serve.loaded_model import LoadedModel


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text.

    Attributes:
        probabilities: one for each class.
        unseen: number of words past the length limit of the model.
        spans: (start, end) of every word.
    """

    probabilities: list[float]
    unseen: int
    spans: tuple[tuple[int, int], ...]

    @property
    def best(self) -> int:
        """Index of the most probable class, the first one of a tie."""
        return argmax(self.probabilities)


def argmax(values: Sequence[float]) -> int:
    """Return the index of the largest value, the first one of a tie."""
    return max(range(len(values)), key=values.__getitem__)


def prediction_query(model: LoadedModel) -> ModelQuery:
    """Return the query for predictions. Its items are texts."""

    def run(texts: list[str]) -> list[Prediction]:
        docs = model.predictor.prepare(texts)
        return [_prediction(doc, row) for doc, row in zip(docs, model.predictor.predict_docs(docs), strict=True)]

    return ModelQuery(("predict", model.name), run, model.budget)


def top_class_query(model: LoadedModel) -> ModelQuery:
    """Return the query for the index and probability of the most probable class. Its items are texts.

    The answers are small, so that those of thousands of texts can be kept.
    """

    def run(texts: list[str]) -> list[tuple[int, float]]:
        rows = model.predictor.predict_docs(model.predictor.prepare(texts))
        return list(zip(rows.argmax(1).tolist(), rows.max(1).tolist(), strict=True))

    return ModelQuery(("score", model.name), run, model.budget)


def hidden_words_query(model: LoadedModel, hide: str) -> ModelQuery:
    """Return the query for predictions with hidden words.

    Its items are (text, indices of its hidden words, index of the text in its request).
    """

    def run(items: list[tuple[str, Sequence[int], int]]) -> list[Prediction | InvalidRequest]:
        docs = model.predictor.prepare([text for text, _, _ in items])
        errors = [
            _hidden_words_error(doc, hidden, number) for doc, (_, hidden, number) in zip(docs, items, strict=True)
        ]
        valid = [i for i, error in enumerate(errors) if error is None]
        keep = [~np.isin(np.arange(len(docs[i].spans)), list(items[i][1]))[None, :] for i in valid]
        rows = iter(model.predictor.predict_kept([docs[i] for i in valid], keep, hide))
        return [
            _prediction(doc, next(rows)[0]) if error is None else error for doc, error in zip(docs, errors, strict=True)
        ]

    return ModelQuery(("hidden", model.name, hide), run, model.budget)


def _prediction(doc: Doc, row: Any) -> Prediction:
    return Prediction(row.tolist(), doc.unseen, doc.spans)


def _hidden_words_error(doc: Doc, hidden: Sequence[int], number: int) -> InvalidRequest | None:
    """Return an error if the index of a hidden word is out of range."""
    words = len(doc.spans)
    wrong = next((index for index in hidden if not 0 <= index < words), None)
    if wrong is None:
        return None
    available = f"words 0 to {words - 1}" if words else "no words"
    unseen = f" (and {doc.unseen:,} past the model's length limit)" if doc.unseen else ""
    return InvalidRequest(f"hidden[{number}] names word {wrong}, but text {number} has {available}{unseen}.")


@dataclass(frozen=True)
class ExplanationQuery:
    """How to explain texts.

    Attributes:
        method: name of the explainer.
        target: label to explain; None for the predicted one.
        hide: how words are hidden; None for the default, and for methods that hide none.
        seed: seed of a random method.
        options: options of the method, already checked.
    """

    method: str
    target: str | None
    hide: str | None
    seed: int
    options: dict[str, Any]

    def check(self, model: LoadedModel) -> None:
        """Validate everything but the texts.

        Raises:
            VmaskError: if the model cannot be explained so.
        """
        self._explanations(model.predictor, ())

    def explain(self, model: LoadedModel, texts: Sequence[str], check: Callable[[], None]) -> list[dict[str, Any]]:
        """Explain texts.

        Args:
            model: the model.
            texts: the texts.
            check: raises an exception if the work is cancelled.

        Returns:
            The explanations as JSON values, with the probabilities of all classes.
        """
        predictor = CancellablePredictor(model.predictor, check)
        explanations = []
        for explanation in self._explanations(predictor, texts):
            explanations.append(explanation)
            check()
        rows = predictor.predict_docs(predictor.prepare(texts)).tolist()
        return [_explanation_json(model, *pair) for pair in zip(explanations, rows, strict=True)]

    def _explanations(self, predictor: Any, texts: Sequence[str]) -> Iterator[Explanation]:
        return explain_texts(
            predictor, texts, self.method, target=self.target, seed=self.seed, hide=self.hide, **self.options
        )

    def model_query(self, model: LoadedModel) -> ModelQuery:
        """Return the query for the batcher. Its items are texts."""
        key = json.dumps([self.method, self.target, self.hide, self.seed, self.options], sort_keys=True, default=str)

        def run(texts: list[str]) -> list[dict[str, Any]]:
            return self.explain(model, texts, lambda: None)

        return ModelQuery(("explain", model.name, key), run, model.budget)


def _explanation_json(model: LoadedModel, explanation: Explanation, probabilities: list[float]) -> dict[str, Any]:
    """Return an explanation as JSON values, with labels as strings and the colour strength of every word."""
    values = explanation.to_dict()
    words = [
        {**word, "strength": strength} for word, strength in zip(values["words"], explanation.strengths(), strict=True)
    ]
    return {
        **values,
        "label": str(explanation.target),
        "probabilities": probabilities,
        "predicted": model.labels[argmax(probabilities)],
        "words": words,
    }
