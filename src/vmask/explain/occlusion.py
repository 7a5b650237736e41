"""How much the probability falls when a word is hidden (leave one out)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Doc, Explainer, Explanation, Predictor, classes_of


@EXPLAINERS.register("occlusion")
class Occlusion(Explainer):
    """The probability of the target with the whole text minus that without the word."""

    def rows(self, words: int) -> int:
        """The whole text, and the text without each of its words."""
        return words + 1

    def explain_some(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a few texts, all at once."""
        keep = [np.vstack([np.ones(len(doc.spans), np.bool_), ~np.eye(len(doc.spans), dtype=np.bool_)]) for doc in docs]
        answers = predictor.predict_kept(docs, keep, hide)
        chosen = classes_of(np.stack([rows[0] for rows in answers]), targets)
        for doc, rows, target in zip(docs, answers, chosen, strict=True):
            scores = rows[0, target] - rows[1:, target]
            yield self.finished(predictor, doc, scores, target, rows[0, target], hide=hide)
