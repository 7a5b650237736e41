"""The model's own word mask: how much of each word the classifier sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc, MaskScores


@EXPLAINERS.register("mask")
class MaskExplainer(Explainer):
    """E[R] of every word, the same for every class. It costs no more than two predictions."""

    hides = False
    signed = False
    needs = "mask_scores"
    of_pieces = "mean over its pieces"

    def explain_batch(
        self, predictor: MaskScores, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a batch of texts by the mask that the model learned.

        Raises:
            NoWordScores: if the model's method learns no ranking of words.
        """
        scores = predictor.mask_scores(docs)
        probabilities = predictor.predict_docs(docs)
        for row, (doc, target) in enumerate(zip(docs, classes_of(probabilities, targets), strict=True)):
            yield self.finished(predictor, doc, scores[row], target, probabilities[row, target])
