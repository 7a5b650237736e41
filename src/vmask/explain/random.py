"""Random scores: the yardstick that every other method must beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vmask._core.random_streams import numpy_stream
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, Predictor


@EXPLAINERS.register("random")
class Random(Explainer):
    """Every word gets a number between 0 and 1 that means nothing."""

    hides = False
    draws = True
    signed = False

    def explain_batch(
        self, predictor: Predictor, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts."""
        probabilities = predictor.predict_docs(docs)
        for row, (doc, target) in enumerate(zip(docs, classes_of(probabilities, targets), strict=True)):
            scores = numpy_stream(seed, "random", doc.text).random(len(doc.spans))
            yield self.finished(predictor, doc, scores, target, probabilities[row, target], seed=seed)
