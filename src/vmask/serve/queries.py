"""What a model is asked: predictions, with words hidden or not, and explanations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc
from vmask.serve.batcher import Kind
from vmask.serve.cancellable import Watched
from vmask.serve.http_errors import Refusal

if TYPE_CHECKING:
    from vmask.serve.loaded_model import Served


@dataclass(frozen=True)
class Prediction:
    """What a model says of a text.

    Attributes:
        probabilities: of the classes.
        unseen: words behind the length limit.
        spans: (start, end) of every word.
    """

    probabilities: list[float]
    unseen: int
    spans: tuple[tuple[int, int], ...]

    @property
    def best(self) -> int:
        """The number of the most probable class, ties to the first."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)


def predicting(served: Served) -> Kind:
    """The question for predictions. A unit is a text."""

    def run(texts: list[str]) -> list[Prediction]:
        docs = served.predictor.prepare(texts)
        return [_prediction(doc, row) for doc, row in zip(docs, served.predictor.predict_docs(docs), strict=True)]

    return Kind(("predict", served.name), run, served.budget)


def scoring(served: Served) -> Kind:
    """The question for the best class of many texts and its probability, which are kept. A unit is a text."""

    def run(texts: list[str]) -> list[tuple[int, float]]:
        rows = served.predictor.predict_docs(served.predictor.prepare(texts))
        return list(zip(rows.argmax(1).tolist(), rows.max(1).tolist(), strict=True))

    return Kind(("score", served.name), run, served.budget)


def predicting_hidden(served: Served, hide: str) -> Kind:
    """The question for predictions with words hidden. A unit is a text, the numbers of its hidden words, its number."""

    def run(units: list[tuple[str, Sequence[int], int]]) -> list[Prediction | Refusal]:
        docs = served.predictor.prepare([text for text, _, _ in units])
        wrong = [_wrong_word(doc, hidden, number) for doc, (_, hidden, number) in zip(docs, units, strict=True)]
        good = [i for i, refusal in enumerate(wrong) if refusal is None]
        keep = [~np.isin(np.arange(len(docs[i].spans)), list(units[i][1]))[None, :] for i in good]
        rows = iter(served.predictor.predict_kept([docs[i] for i in good], keep, hide))
        return [
            _prediction(doc, next(rows)[0]) if refusal is None else refusal
            for doc, refusal in zip(docs, wrong, strict=True)
        ]

    return Kind(("hidden", served.name, hide), run, served.budget)


def _prediction(doc: Doc, row: Any) -> Prediction:
    return Prediction(row.tolist(), doc.unseen, doc.spans)


def _wrong_word(doc: Doc, hidden: Sequence[int], number: int) -> Refusal | None:
    """What to say where a hidden word is none of the text's."""
    words = len(doc.spans)
    wrong = next((one for one in hidden if not 0 <= one < words), None)
    if wrong is None:
        return None
    there = f"words 0 to {words - 1}" if words else "no words"
    past = f" (and {doc.unseen:,} past the model's length limit)" if doc.unseen else ""
    return Refusal(f"hidden[{number}] names word {wrong}, but text {number} has {there}{past}.")


@dataclass(frozen=True)
class Explaining:
    """How texts are to be explained.

    Attributes:
        method: name of the explainer.
        target: label to explain; None for the predicted one.
        hide: how words are hidden; None for the default, and for methods that hide none.
        seed: of a random method.
        options: of the method, checked.
    """

    method: str
    target: str | None
    hide: str | None
    seed: int
    options: dict[str, Any]

    def check(self, served: Served) -> None:
        """Look at everything but the texts.

        Raises:
            VmaskError: for what cannot work.
        """
        self._explanations(served.predictor, ())

    def explain(self, served: Served, texts: Sequence[str], check: Callable[[], None]) -> list[dict[str, Any]]:
        """The explanations as JSON values, with the probabilities of all classes.

        Args:
            served: the model.
            texts: to explain.
            check: raises where the work is to end.
        """
        watched = Watched(served.predictor, check)
        found = []
        for explanation in self._explanations(watched, texts):
            found.append(explanation)
            check()
        rows = watched.predict_docs(watched.prepare(texts)).tolist()
        return [_shown(served, one, row) for one, row in zip(found, rows, strict=True)]

    def _explanations(self, predictor: Any, texts: Sequence[str]) -> Iterator[Explanation]:
        return explain_texts(
            predictor, texts, self.method, target=self.target, seed=self.seed, hide=self.hide, **self.options
        )

    def kind(self, served: Served) -> Kind:
        """The same as a question. A unit is a text."""
        key = json.dumps([self.method, self.target, self.hide, self.seed, self.options], sort_keys=True, default=str)

        def run(texts: list[str]) -> list[dict[str, Any]]:
            return self.explain(served, texts, lambda: None)

        return Kind(("explain", served.name, key), run, served.budget)


def _shown(served: Served, explanation: Explanation, probabilities: list[float]) -> dict[str, Any]:
    """An explanation as JSON values; labels are spelt out, words say how strongly to colour them."""
    best = max(range(len(probabilities)), key=probabilities.__getitem__)
    shown = explanation.to_dict()
    words = [
        {**word, "strength": strength} for word, strength in zip(shown["words"], explanation.strengths(), strict=True)
    ]
    return {
        **shown,
        "label": str(explanation.target),
        "probabilities": probabilities,
        "predicted": served.labels[best],
        "words": words,
    }
