"""The queries that a model answers: predictions, and explanations that can be cancelled while they are computed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vmask.data.label_sets import label_text
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.inference.decisions import leading, predicted_labels, thresholds_of
from vmask.inference.gradients import Answer, AtSeam
from vmask.serve.batcher import ModelQuery
from vmask.serve.http_errors import InvalidRequest
from vmask.serve.jobs import Check

if TYPE_CHECKING:
    from vmask.serve.loaded_model import LoadedModel

QUICK_POSITIONS, SLOW_POSITIONS, GPU_POSITIONS = 65_536, 1024, 65_536
"""Token positions of a slice: for a word model, for an encoder on a CPU, on a GPU. An encoder of the size of MiniLM
takes about a second for one on one core. The limit is a number of positions and not a time, so that equal requests get
equal answers (to 1e-6, as sums in another order round differently)."""

TopClass: TypeAlias = tuple[int | tuple[int, ...], float]
"""Index of the predicted class, or of all if a text may have several; probability of it, or of the leading one."""


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text.

    Attributes:
        probabilities: one for each class.
        unseen: number of words past the length limit of the model.
        spans: (start, end) of every word.
        hidden: whether the model sees nothing of each word.
        thresholds: probability from which each class is predicted, if a text may have several; else None.
    """

    probabilities: list[float]
    unseen: int
    spans: tuple[tuple[int, int], ...]
    hidden: tuple[bool, ...] = ()
    thresholds: NDArray[np.float64] | None = None

    @property
    def best(self) -> int:
        """Index of the most probable class, or the leading one of several; the first one of a tie."""
        return int(leading(np.array([self.probabilities]), self.thresholds)[0])

    @property
    def predicted(self) -> int | tuple[int, ...]:
        """Index of the predicted class; the indices of all, if a text may have several."""
        if self.thresholds is None:
            return self.best
        return predicted_labels(self.probabilities, range(len(self.probabilities)), self.thresholds)


def class_name(labels: Sequence[str], predicted: int | tuple[int, ...]) -> str:
    """Return the name of a predicted class, or of all that are predicted together."""
    return labels[predicted] if isinstance(predicted, int) else label_text(tuple(labels[index] for index in predicted))


def several_json(labels: Sequence[str], prediction: Prediction) -> dict[str, Any]:
    """Return the predicted labels as JSON values if a text may have several, else nothing."""
    predicted = prediction.predicted
    return {} if isinstance(predicted, int) else {"predicted_labels": [labels[index] for index in predicted]}


def prediction_query(model: LoadedModel) -> ModelQuery:
    """Return the query for predictions. Its items are texts."""

    def run(texts: list[str]) -> list[Prediction]:
        docs = model.predictor.prepare(texts)
        rows = model.predictor.predict_docs(docs)
        return [_prediction(model, doc, row) for doc, row in zip(docs, rows, strict=True)]

    return ModelQuery(("predict", model.name, model.edit), run, model.budget)


def top_class_query(model: LoadedModel) -> ModelQuery:
    """Return the query for the index and probability of the predicted class. Its items are texts.

    If a text may have several, the indices of all, and the probability of the leading one. The answers are small, so
    that those of thousands of texts can be kept.
    """

    def run(texts: list[str]) -> list[TopClass]:
        rows = model.predictor.predict_docs(model.predictor.prepare(texts))
        thresholds = thresholds_of(model.predictor)
        best = leading(rows, thresholds).tolist()
        probabilities = [row[index] for row, index in zip(rows.tolist(), best, strict=True)]
        if thresholds is None:
            return list(zip(best, probabilities, strict=True))
        numbers = range(rows.shape[1])
        return [(predicted_labels(row, numbers, thresholds), p) for row, p in zip(rows, probabilities, strict=True)]

    return ModelQuery(("score", model.name, model.edit), run, model.budget)


def hidden_words_query(model: LoadedModel, hide: str) -> ModelQuery:
    """Return the query for predictions. Its items are (text, indices of hidden words, index of text in its request)."""

    def run(items: list[tuple[str, Sequence[int], int]]) -> list[Prediction | InvalidRequest]:
        docs = model.predictor.prepare([text for text, _, _ in items])
        errors = [
            _hidden_words_error(doc, hidden, number) for doc, (_, hidden, number) in zip(docs, items, strict=True)
        ]
        valid = [i for i, error in enumerate(errors) if error is None]
        keep = [~np.isin(np.arange(len(docs[i].spans)), list(items[i][1]))[None, :] for i in valid]
        rows = iter(model.predictor.predict_kept([docs[i] for i in valid], keep, hide))
        return [
            _prediction(model, doc, next(rows)[0]) if error is None else error
            for doc, error in zip(docs, errors, strict=True)
        ]

    return ModelQuery(("hidden", model.name, model.edit, hide), run, model.budget)


def _prediction(model: LoadedModel, doc: Doc, row: Any) -> Prediction:
    hidden = (False,) * len(doc.spans) if doc.hidden is None else tuple(doc.hidden.tolist())
    return Prediction(row.tolist(), doc.unseen, doc.spans, hidden, thresholds_of(model.predictor))


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
        """Raise an error if the model cannot be explained so, whatever the texts."""
        self._explanations(model.predictor, ())

    def explain(self, model: LoadedModel, texts: Sequence[str], check: Check) -> list[dict[str, Any]]:
        """Return explanations as JSON values, with the probabilities of all classes."""
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

        return ModelQuery(("explain", model.name, model.edit, key), run, model.budget)


def _explanation_json(model: LoadedModel, explanation: Explanation, probabilities: list[float]) -> dict[str, Any]:
    """Return an explanation as JSON values, with labels as strings and the colour strength of every word."""
    values = explanation.to_dict()
    words = [
        {**word, "strength": strength} for word, strength in zip(values["words"], explanation.strengths(), strict=True)
    ]
    prediction = Prediction(probabilities, 0, (), (), thresholds_of(model.predictor))
    return {
        **values,
        "label": str(explanation.target),
        "probabilities": probabilities,
        "predicted": model.labels[prediction.best],
        "answered": model.answers(probabilities),
        **several_json(model.labels, prediction),
        "words": words,
    }


def slice_positions(predictor: Any) -> int:
    """Return how many token positions a predictor computes between two checks."""
    if getattr(predictor, "quick", False):
        return QUICK_POSITIONS
    device = getattr(predictor, "device", None)
    return SLOW_POSITIONS if device is None or device.type == "cpu" else GPU_POSITIONS


class CancellablePredictor:
    """A predictor that calls `check` before each slice of work. Its answers equal those of the predictor, to 1e-6.

    Python cannot interrupt a thread from outside, and a process for each explanation would have to load the model.
    It also caches the words and probabilities of whole texts, which explainers and the server both ask for.

    Args:
        predictor: the model; attributes that are not defined here are looked up there.
        check: raises an exception if the work is cancelled.
        positions: token positions of a slice, at most; a single row may be longer.
    """

    def __init__(self, predictor: Any, check: Check, positions: int | None = None) -> None:
        self._predictor = predictor
        self._check = check
        self._positions = positions or slice_positions(predictor)
        self._docs: dict[str, Doc] = {}
        self._probabilities: dict[str, NDArray[np.float32]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def batched(self, rows: int) -> CancellablePredictor:
        """Return the same predictor, computing at most `rows` texts at a time."""
        return CancellablePredictor(self._predictor.batched(rows), self._check, self._positions)

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words."""
        new_texts = list(dict.fromkeys(text for text in texts if text not in self._docs))
        self._docs.update(zip(new_texts, self._predictor.prepare(new_texts), strict=True))
        return [self._docs[text] for text in texts]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """Return probabilities of shape (N, C)."""
        new_docs = {doc.text: doc for doc in docs if self._is_whole_text(doc) and doc.text not in self._probabilities}
        to_compute = [*new_docs.values(), *(doc for doc in docs if not self._is_whole_text(doc))]
        rows: list[NDArray[np.float32]] = []
        for part in _slices((_size(doc) for doc in to_compute), self._positions):
            self._check()
            rows.extend(self._predictor.predict_docs(to_compute[part]))
        self._probabilities.update(zip(new_docs, rows, strict=False))
        other_rows = iter(rows[len(new_docs) :])
        answers = [self._probabilities[doc.text] if self._is_whole_text(doc) else next(other_rows) for doc in docs]
        return np.array(answers, np.float32).reshape(len(docs), len(self._predictor.labels))

    def _is_whole_text(self, doc: Doc) -> bool:
        """Whether a document is one that `prepare` returned, so that its text identifies it."""
        return self._docs.get(doc.text) is doc

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """Return probabilities (S_i, C) of each text under its rows of `keep` (S_i, W_i)."""
        if not docs:
            return list(self._predictor.predict_kept(docs, keep, hide))
        probabilities = [np.zeros((len(rows), len(self._predictor.labels)), np.float32) for rows in keep]
        parts = [
            (number, start, min(start + step, len(rows)), _size(doc))
            for number, (doc, rows) in enumerate(zip(docs, keep, strict=True))
            for step in [max(self._positions // _size(doc), 1)]
            for start in range(0, len(rows), step)
        ]
        for part in _slices(((stop - start) * size for _, start, stop, size in parts), self._positions):
            self._check()
            batch = parts[part]
            batch_docs = [docs[number] for number, *_ in batch]
            batch_keep = [keep[number][start:stop] for number, start, stop, _ in batch]
            answers = self._predictor.predict_kept(batch_docs, batch_keep, hide)
            for (number, start, stop, _), rows in zip(batch, answers, strict=True):
                probabilities[number][start:stop] = rows
        return probabilities

    def at_seam(self, docs: Sequence[Doc]) -> Iterator[AtSeam]:
        """Yield the inputs of the classifier, in batches small enough to check between them."""
        for part in _slices((_size(doc) for doc in docs), self._positions):
            self._check()
            for seam in self._predictor.at_seam(docs[part]):
                most = min(seam.most, max(self._positions // seam.z.shape[1], len(seam.rows)))
                answer = partial(self._checked_answer, seam.answer)
                yield dataclasses.replace(seam, rows=seam.rows + part.start, answer=answer, most=most)

    def _checked_answer(self, answer: Answer, *inputs: Tensor) -> Tensor:
        self._check()
        return answer(*inputs)


def _size(doc: Doc) -> int:
    """Return the number of token positions of a text."""
    return max(len(doc.ids), len(doc.spans), 1)


def _slices(sizes: Iterable[int], max_size: int) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum to at most `max_size`, or of a single larger item."""
    start, total, number = 0, 0, -1
    for number, size in enumerate(sizes):
        if number > start and total + size > max_size:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if number >= 0:
        yield slice(start, number + 1)
