"""How probable the class is from a word alone, beyond what it is from no words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, Predictor


@EXPLAINERS.register("alone")
class Alone(Explainer):
    """The probability of the target with one word minus that with none."""

    def rows(self, words: int) -> int:
        """Every word alone, and the text without words."""
        return words + 1

    def explain_batch(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a few texts, all at once."""
        whole = predictor.predict_docs(docs)
        keep = [np.eye(len(doc.spans) + 1, len(doc.spans), dtype=bool) for doc in docs]  # the last row keeps nothing
        answers = predictor.predict_kept(docs, keep, hide)
        for doc, rows, target, probabilities in zip(docs, answers, classes_of(whole, targets), whole, strict=True):
            scores = rows[:-1, target] - rows[-1, target]
            yield self.finished(predictor, doc, scores, target, probabilities[target], hide=hide)
