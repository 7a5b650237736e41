"""The model's own word mask: how much of each word the classifier sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Doc, Explainer, Explanation, MaskScores


@EXPLAINERS.register("mask")
class MaskExplainer(Explainer):
    """E[R] of every word, the same for every class. It costs no more than two predictions."""

    def explain(
        self, predictor: MaskScores, docs: Sequence[Doc], targets: Sequence[int] | None = None
    ) -> Iterator[Explanation]:
        """Explain every text by the mask that the model learnt.

        Raises:
            NoWordScores: where the model's method learns no ranking of words.
        """
        scores = predictor.mask_scores(docs)
        probabilities = predictor.predict_docs(docs)
        for row, doc in enumerate(docs):
            target = int(probabilities[row].argmax()) if targets is None else targets[row]
            yield Explanation(
                text=doc.text,
                words=doc.words,
                spans=doc.spans,
                scores=tuple(float(score) for score in scores[row]),
                target=predictor.labels[target],
                probability=float(probabilities[row, target]),
                method="mask",
                options={"merging": doc.merging} if doc.merging else {},
                unseen=doc.unseen,
            )
