"""How much the probability falls when a word is hidden (leave one out)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, Predictor

BLOCK = 1000
"""Perturbations of a text at a time."""


@EXPLAINERS.register("occlusion")
class Occlusion(Explainer):
    """The probability of the target with the whole text minus that without the word."""

    def rows(self, words: int) -> int:
        """The text without each of some of its words."""
        return min(words, BLOCK) + 1

    def explain_batch(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts."""
        whole = predictor.predict_docs(docs)
        chosen = classes_of(whole, targets)
        sizes = [len(doc.spans) for doc in docs]
        scores = [np.zeros(size, np.float32) for size in sizes]
        for start in range(0, max(sizes, default=0), BLOCK):
            keep = [np.arange(size) != np.arange(start, min(start + BLOCK, size))[:, None] for size in sizes]
            for i, rows in enumerate(predictor.predict_kept(docs, keep, hide)):
                scores[i][start : start + BLOCK] = whole[i, chosen[i]] - rows[:, chosen[i]]
        for doc, values, target, probabilities in zip(docs, scores, chosen, whole, strict=True):
            yield self.finished(predictor, doc, values, target, probabilities[target], hide=hide)
